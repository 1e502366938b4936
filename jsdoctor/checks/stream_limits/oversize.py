"""Streams that are smaller than one message may be."""

from __future__ import annotations

from jsdoctor.model.jetstream import StreamConfig
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import Stream
from jsdoctor.model.trend import StreamHistory

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
    """Whether a message may come in that is larger than the stream; None when the largest message is not known."""
    bounds = [payload or _DEFAULT_MAX_PENDING, config.max_msg_size]
    if min(size for size in bounds if size > 0) + overhead <= config.max_bytes:
        return False
    return None if payload is None else True


def emptied(stream: Stream) -> bool:
    """Written, empty, and neither age nor readers can have taken the messages away. A purge leaves the same picture."""
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
    """Whether messages arrived between the readings and the stream was empty in each, with nobody to remove them."""
    if history is None or history.last.config.retention != "limits" or history.last.config.allow_msg_ttl:
        return False
    lives_ns = history.last.config.max_age_ns
    expires = 0 < lives_ns <= history.elapsed_s * _NS
    came_in = history.last.state.last_seq > history.first.state.last_seq
    return came_in and not expires and all(reading.state.messages == 0 for reading in history.readings)
