"""JSD601: a stream that nothing limits grows until its account, its server or the disk is full.

From manifests: a stream that nothing will limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jsdoctor.checks.declared.doubts import indeterminate
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import BY_HAND, Confidence, Finding, Severity, failed, passed, shown, unknown
from jsdoctor.model.jetstream import StreamConfig
from jsdoctor.model.manifest import Manifests
from jsdoctor.model.params import Params
from jsdoctor.model.server import UNLIMITED, Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream, same_incarnation
from jsdoctor.model.wording import counted, span

_MIN_NEW_SHARE = 0.8
"""Smallest share of new subjects among new messages with which subjects seldom come again."""


@check("stream_limits.unbounded")
def unbounded(snapshots: SnapshotSeries, servers: Servers | None, params: Params) -> Iterator[Finding]:
    """Find limits streams without a limit, the default of each limit (server: checkStreamCfg).

    A limit per subject bounds a stream, such as a key-value bucket, only if subjects come again.
    """
    horizon_ns, min_history_ns = params.integer("horizon"), params.integer("min_history")
    earlier = snapshots.snapshots[0].led_by_key
    for stream in snapshots.last.streams:
        if stream.config.retention != "limits" or stream.config.sealed:
            continue
        if has_bound(stream.config):
            free = free_bytes(stream, servers)
            yield _bounded(stream, earlier.get(stream.key), params.integer("new_subjects"), free, horizon_ns)
            continue
        # Messages with a time to live leave it: what it holds and its age are not its growth.
        own_ttl = stream.config.allow_msg_ttl
        left_ns = None if own_ttl else fills_server_in_ns(stream, servers, min_history_ns)
        soon = left_ns is not None and left_ns < horizon_ns
        mild = Severity.INFO if stream.is_object_store or own_ttl else None
        yield failed(
            stream.subject,
            "nothing limits this stream: no max_age, max_bytes or max_msgs"
            + (f", at its average rate it fills its server in {span(left_ns)}" if left_ns and soon else "")
            + _kept_for(stream.is_object_store, own_ttl),
            stream.observed("config.max_age", stream.config.max_age_ns),
            *shown(stream, "config.max_bytes", "config.max_msgs"),
            severity=Severity.ERROR if soon else mild,
            measured=(left_ns if soon else None, horizon_ns, "duration"),
            remedy={"no_ack": stream.config.no_ack, "max_bytes": max(1 << 30, 2 * stream.state.bytes)},
        )


class Growth(NamedTuple):
    """The growth of a stream between two readings: messages, subjects, bytes, and the time between them."""

    messages: int
    subjects: int
    stored_bytes: int
    seconds: float


def _growth(stream: Stream, earlier: Stream | None) -> Growth | None:
    """The growth from the first sample to the last; None if one of them does not have the leader's state."""
    if earlier is None or earlier.at >= stream.at or not stream.from_leader or not same_incarnation(earlier, stream):
        return None
    return Growth(
        stream.state.last_seq - earlier.state.last_seq,
        stream.state.num_subjects - earlier.state.num_subjects,
        stream.state.bytes - earlier.state.bytes,
        (stream.at - earlier.at).total_seconds(),
    )


def _bounded(stream: Stream, earlier: Stream | None, least: int, free: int | None, horizon_ns: int) -> Finding:
    """Judge a stream with a limit: one per subject does not count if nearly every message has a new subject."""
    if not only_subjects_bound(stream.config):
        return passed(stream.subject)
    grown = _growth(stream, earlier)
    if grown is None:
        reason = "only its number of subjects limits it: whether new ones come shows between two samples of its leader"
        return unknown(stream.subject, reason, "run again with --samples 2 or more")
    if grown.subjects >= least and grown.subjects >= grown.messages * _MIN_NEW_SHARE:
        fills = free is not None and grown.stored_bytes > 0
        left_ns = int(free / grown.stored_bytes * grown.seconds * 1e9) if free is not None and fills else None
        return _growing_finding(stream, grown, least, left_ns if left_ns is not None and left_ns < horizon_ns else None)
    return passed(stream.subject)


def _growing_finding(stream: Stream, grown: Growth, least: int, left_ns: int | None) -> Finding:
    """The finding on new subjects: an info, or a warning with `left_ns`, the time until the store is full."""
    kept = counted(stream.config.max_msgs_per_subject, "message")
    return failed(
        stream.subject,
        f"it keeps {kept} of each subject and has no other limit, and {counted(grown.subjects, 'subject')} came"
        f" with {counted(grown.messages, 'message')} within {grown.seconds:.0f} s: if they do not come again, it grows"
        + (" for as long as there are new ones" if left_ns is None else f", and its server is full in {span(left_ns)}"),
        *shown(stream, "state.num_subjects", "state.last_seq", "config.max_msgs_per_subject"),
        severity=Severity.WARNING if left_ns is not None else Severity.INFO,
        confidence=Confidence.MEDIUM,
        measured=(grown.subjects, least, "count"),
        remedy=BY_HAND,
    )


_DECIDING = (
    *("retention", "max_age", "max_bytes", "max_msgs", "max_msgs_per_subject"),
    *("allow_msg_ttl", "subject_delete_marker_ttl"),  # markers with a time to live allow it for messages
)


@check("stream_limits.unbounded_declared")
def unbounded_declared(manifests: Manifests) -> Iterator[Finding]:
    """Find declared limits streams without a limit; any limit suffices, not only `max_bytes`."""
    for stream in manifests.kept_streams():
        config = stream.stored
        if unsure := indeterminate(stream, *_DECIDING):
            yield unsure
        elif config.retention != "limits" or config.sealed:
            continue
        elif has_bound(config):
            yield passed(stream.subject)
        else:
            bucket, own_ttl = config.name.startswith("OBJ_"), config.allow_msg_ttl
            yield failed(
                stream.subject,
                "nothing will limit this stream: set one of max_age, max_bytes, max_msgs or"
                " max_msgs_per_subject" + _kept_for(bucket, own_ttl),
                stream.shows("max_bytes", "no limit"),
                severity=Severity.INFO if bucket or own_ttl else None,
            )


def _kept_for(bucket: bool, own_ttl: bool) -> str:
    if own_ttl:
        return "; only messages with a time to live of their own (Nats-TTL) leave it"
    return "; it keeps every object until it is deleted" if bucket else "; it keeps every message forever"


_NS = 1_000_000_000


def has_bound(config: StreamConfig) -> bool:
    """Whether any limit keeps the stream from growing for ever."""
    return max(config.max_age_ns, config.max_bytes, config.max_msgs, config.max_msgs_per_subject) > 0


def only_subjects_bound(config: StreamConfig) -> bool:
    """Whether nothing but the number of its subjects bounds the stream, and no message has a time to live."""
    others = max(config.max_age_ns, config.max_bytes, config.max_msgs)
    return others <= 0 < config.max_msgs_per_subject and not config.allow_msg_ttl


def fills_server_in_ns(stream: Stream, servers: Servers | None, min_history_ns: int) -> int | None:
    """Time until the leading server's store is full, at the stream's average growth since its first message.

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
