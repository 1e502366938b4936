"""JSD612: a message larger than the whole stream is acknowledged and gone.

From manifests: a stream that will be smaller than one message may be.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.doubts import indeterminate
from jsdoctor.checks.registry import check
from jsdoctor.checks.streams.limits import histories
from jsdoctor.model.finding import Confidence, Finding, Severity, failed, passed, shown, unknown
from jsdoctor.model.jetstream import StreamConfig
from jsdoctor.model.manifest import Manifests
from jsdoctor.model.params import Params
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.trend import StreamHistory, Trend
from jsdoctor.model.wording import counted


@check("stream_limits.acked_then_dropped")
def acked_then_dropped(
    snapshots: SnapshotSeries,
    trend: Trend | None,
    servers: Servers | None,
    connected: ConnectedServer | None,
    params: Params,
) -> Iterator[Finding]:
    """Find streams smaller than one message: `discard: old` stores it, then deletes it (filestore.go storeMsg).

    `max_msg_size` refuses such messages instead, with error 10054.
    """
    payload, overhead = largest_payload(servers, connected), params.integer("overhead")
    seen_before = histories(trend)
    for stream in snapshots.last.led_streams():
        config = stream.config
        if config.max_bytes <= 0 or config.discard != "old" or config.sealed or config.mirror:
            continue
        risky = lets_in_too_large(config, payload, overhead)
        if risky is None:
            yield unknown(stream.subject, "no server reported its max_payload", "use a login of the system account")
        elif not risky:
            yield passed(stream.subject)
        elif drops_now(seen_before.get((stream.account, stream.name))):
            yield _finding(stream, payload, None, "messages come in and the stream stays empty")
        elif emptied(stream):
            published = counted(stream.state.last_seq, "message")
            proof = f"{published} published, the stream is empty, and the last of them cannot have expired"
            yield _finding(stream, payload, Severity.WARNING, proof)
        else:
            yield _finding(stream, payload, Severity.INFO, "")


def _finding(stream: Stream, payload: int | None, severity: Severity | None, proof: str) -> Finding:
    limit = stream.config.max_bytes
    # Without a proof it may never have happened.
    return failed(
        stream.subject,
        f"messages larger than max_bytes ({limit:,} bytes) are acknowledged and deleted at once"
        + (f": {proof}" if proof else ""),
        *shown(stream, "config.max_bytes", "config.max_msg_size", "state.messages", "state.last_seq"),
        severity=severity,
        confidence=Confidence.HIGH if proof else Confidence.LOW,
        measured=(limit, payload, "bytes"),
        remedy={"no_ack": stream.config.no_ack, "max_msg_size": _fitting_size(limit)},
    )


def _fitting_size(max_bytes: int) -> int:
    """A max_msg_size that leaves room for headers and the record of a message."""
    return max(max_bytes - 1024, max_bytes // 2)


_DEFAULT_PAYLOAD = 1 << 20
"""`max_payload` of servers that set none (server: const.go MAX_PAYLOAD_SIZE)."""


@check("stream_limits.acked_then_dropped_declared")
def acked_then_dropped_declared(
    manifests: Manifests, servers: Servers | None, connected: ConnectedServer | None, params: Params
) -> Iterator[Finding]:
    """Find declared streams smaller than one message, as `acked_then_dropped` does."""
    stated = max((server.get("max_payload", 0) for server in manifests.servers), default=0)
    payload = largest_payload(servers, connected) or stated or _DEFAULT_PAYLOAD
    for stream in manifests.kept_streams():
        config = stream.stored
        if unsure := indeterminate(stream, "max_bytes", "max_msg_size", "discard"):
            yield unsure
        elif config.max_bytes <= 0 or config.discard != "old" or config.sealed or config.mirror:
            continue
        elif lets_in_too_large(config, payload, params.integer("overhead")):
            limit = stream.stored.max_bytes
            yield failed(
                stream.subject,
                f"messages larger than max_bytes ({limit:,} bytes) will be acknowledged and deleted at once:"
                f" set max_msg_size to {_fitting_size(limit):,} or less, and they are refused instead",
                stream.shows("max_bytes", limit),
                severity=Severity.INFO,
                measured=(limit, payload, "bytes"),
            )
        else:
            yield passed(stream.subject)


_DEFAULT_MAX_PENDING = 64 << 20
"""`max_payload` may not exceed `max_pending`, which has this default (server: server.go validateOptions)."""

_NS = 1_000_000_000


def largest_payload(servers: Servers | None, connected: ConnectedServer | None) -> int | None:
    """The largest payload that any server accepts, in bytes; None if none reported it."""
    reported = [server.varz.max_payload for server in servers.servers if server.varz] if servers else []
    if connected:
        reported.append(connected.max_payload)
    return max((size for size in reported if size > 0), default=None)


def lets_in_too_large(config: StreamConfig, payload: int | None, overhead: int) -> bool | None:
    """Whether a message larger than the stream is accepted; None if the largest payload is not known."""
    bounds = [payload or _DEFAULT_MAX_PENDING, config.max_msg_size]
    if min(size for size in bounds if size > 0) + overhead <= config.max_bytes:
        return False
    return None if payload is None else True


def emptied(stream: Stream) -> bool:
    """Whether a stream had messages and is empty, though neither age nor acks removed them. A purge looks the same."""
    config, state = stream.config, stream.state
    kept = config.retention == "limits" and not config.allow_msg_ttl
    return kept and state.messages == 0 and state.last_seq > 0 and not _may_have_expired(stream)


def _may_have_expired(stream: Stream) -> bool:
    """Whether the last message is old enough for `max_age`. An empty stream keeps the date of its last message."""
    lives_ns = stream.config.max_age_ns
    if lives_ns <= 0:
        return False
    written = stream.state.last_ts or stream.created
    return written is None or (stream.at - written).total_seconds() * _NS >= lives_ns


def drops_now(history: StreamHistory | None) -> bool:
    """Whether messages arrived between the readings and the stream was empty in each, though nothing removes them."""
    if history is None or history.last.config.retention != "limits" or history.last.config.allow_msg_ttl:
        return False
    lives_ns = history.last.config.max_age_ns
    expires = 0 < lives_ns <= history.elapsed_s * _NS
    came_in = history.last.state.last_seq > history.first.state.last_seq
    return came_in and not expires and all(reading.state.messages == 0 for reading in history.readings)
