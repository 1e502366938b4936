"""JSD601, from manifests: a stream that nothing will limit."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.doubts import BY_HAND, indeterminate
from jsdoctor.checks.registry import check
from jsdoctor.checks.stream_limits.growth import has_bound
from jsdoctor.model.finding import Finding, Severity, passed
from jsdoctor.model.manifest import Manifests


@check("stream_limits.unbounded_declared")
def unbounded_declared(manifests: Manifests) -> Iterator[Finding]:
    """With limits retention only a limit removes a message, and every limit defaults to none (server: checkStreamCfg).

    Any limit bounds a stream: `max_bytes` is not the only one, whatever runbooks say.
    """
    for stream in manifests.kept_streams():
        config = stream.stored
        if config.retention != "limits" or config.sealed:
            continue
        if unsure := indeterminate(stream, "max_age", "max_bytes", "max_msgs", "max_msgs_per_subject"):
            yield unsure
        elif has_bound(config):
            yield passed(stream.subject)
        else:
            bucket = config.name.startswith("OBJ_")
            yield Finding(
                subject=stream.subject,
                severity=Severity.INFO if bucket else None,
                message="nothing will limit this stream: set one of max_age, max_bytes, max_msgs or"
                " max_msgs_per_subject, or it keeps "
                + ("every object until somebody deletes it" if bucket else "every message for ever"),
                evidence=(stream.shows("max_bytes", "no limit"),),
                remedy=BY_HAND,
            )
