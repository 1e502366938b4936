"""JSD601: a stream that nothing limits grows until its account, its server or the disk is full.

From manifests: a stream that nothing will limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.doubts import BY_HAND, indeterminate
from jsdoctor.checks.registry import check
from jsdoctor.checks.stream_limits.growth import fills_server_in_ns, has_bound
from jsdoctor.model.finding import Finding, Severity, passed
from jsdoctor.model.manifest import Manifests
from jsdoctor.model.params import Params
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.wording import span


@check("stream_limits.unbounded")
def unbounded(snapshots: SnapshotSeries, servers: Servers | None, params: Params) -> Iterator[Finding]:
    """With limits retention only a limit removes a message, and every limit defaults to none (server: checkStreamCfg).

    One message per subject bounds a stream by its subjects, which is how key-value buckets live.
    """
    horizon_ns, min_history_ns = params.integer("horizon"), params.integer("min_history")
    for stream in snapshots.last.streams:
        if stream.config.retention != "limits" or stream.config.sealed:
            continue
        if has_bound(stream.config):
            yield passed(stream.subject)
            continue
        left_ns = fills_server_in_ns(stream, servers, min_history_ns)
        soon = left_ns is not None and left_ns < horizon_ns
        mild = Severity.INFO if stream.is_object_store else None
        yield Finding(
            subject=stream.subject,
            severity=Severity.ERROR if soon else mild,
            message=(
                "nothing limits this stream: no max_age, max_bytes or max_msgs"
                + (f", at its average rate it fills its server in {span(left_ns)}" if left_ns and soon else "")
                + ("; it keeps every object until somebody deletes it" if mild else "; it keeps every message forever")
            ),
            measured=left_ns if soon else None,
            threshold=horizon_ns if soon else None,
            unit="duration" if soon else None,
            evidence=tuple(
                stream.observed(f"config.{key}", value)
                for key, value in (
                    ("max_age", stream.config.max_age_ns),
                    ("max_bytes", stream.config.max_bytes),
                    ("max_msgs", stream.config.max_msgs),
                )
            ),
            remedy={"no_ack": stream.config.no_ack, "max_bytes": max(1 << 30, 2 * stream.state.bytes)},
        )


@check("stream_limits.unbounded_declared")
def unbounded_declared(manifests: Manifests) -> Iterator[Finding]:
    """With limits retention only a limit removes a message, and every limit defaults to none (server: checkStreamCfg).

    Any limit bounds a stream: `max_bytes` is not the only one, whatever runbooks say.
    """
    for stream in manifests.kept_streams():
        config = stream.stored
        if unsure := indeterminate(stream, "retention", "max_age", "max_bytes", "max_msgs", "max_msgs_per_subject"):
            yield unsure
        elif config.retention != "limits" or config.sealed:
            continue
        elif has_bound(config):
            yield passed(stream.subject)
        else:
            bucket = config.name.startswith("OBJ_")
            yield Finding(
                subject=stream.subject,
                severity=Severity.INFO if bucket else None,
                message="nothing will limit this stream: set one of max_age, max_bytes, max_msgs or"
                " max_msgs_per_subject, or it keeps "
                + ("every object until somebody deletes it" if bucket else "every message forever"),
                evidence=(stream.shows("max_bytes", "no limit"),),
                remedy=BY_HAND,
            )
