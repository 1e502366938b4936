"""Streams without a bound: what would bound them, and when they fill the server that leads them."""

from __future__ import annotations

from jsdoctor.model.jetstream import StreamConfig
from jsdoctor.model.server import UNLIMITED, Servers
from jsdoctor.model.snapshot import Stream

_NS = 1_000_000_000


def has_bound(config: StreamConfig) -> bool:
    """Whether any limit keeps the stream from growing for ever."""
    return max(config.max_age_ns, config.max_bytes, config.max_msgs, config.max_msgs_per_subject) > 0


def only_subjects_bound(config: StreamConfig) -> bool:
    """Whether nothing but the number of its subjects bounds the stream, and no message has a time to live."""
    others = max(config.max_age_ns, config.max_bytes, config.max_msgs)
    return others <= 0 < config.max_msgs_per_subject and not config.allow_msg_ttl


def fills_server_in_ns(stream: Stream, servers: Servers | None, min_history_ns: int) -> int | None:
    """When the leading server's store is full if the stream grows as it did since its first message.

    None when the server was not seen, has no limit, or the stream is too young for an average.
    """
    free = free_bytes(stream, servers)
    first, bytes_held = stream.state.first_ts, stream.state.bytes
    if free is None or not stream.from_leader or first is None or bytes_held <= 0:
        return None
    history_ns = int((stream.at - first).total_seconds() * _NS)
    if history_ns < min_history_ns:
        return None
    return int(free / bytes_held * history_ns)


def free_bytes(stream: Stream, servers: Servers | None) -> int | None:
    """What is left of the store of the server that leads the stream, in bytes; None where it shows no limit."""
    for server in servers.servers if servers else ():
        if server.name == stream.answered_by and server.jetstream and server.jetstream.config:
            stats, limits = server.jetstream, server.jetstream.config
            in_memory = stream.config.storage == "memory"
            limit, used = (limits.max_memory, stats.memory) if in_memory else (limits.max_storage, stats.storage)
            return max(limit - used, 0) if 0 < limit < UNLIMITED else None
    return None
