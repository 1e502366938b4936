"""Shared by checks on streams: limits, leaders, scaling, stored subjects, and messages that no consumer needs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

import msgspec

from jsdoctor.model.finding import Observation
from jsdoctor.model.jetstream import SubjectTransform
from jsdoctor.model.partial import shown_or
from jsdoctor.model.raft import RaftGroups, RaftMember
from jsdoctor.model.snapshot import ClusterSnapshot, Consumer, Stream, StreamKey
from jsdoctor.model.subjects import overlaps_any, subject_contains, subjects_overlap
from jsdoctor.model.trend import StreamHistory, Trend


def led_ns(asset: Stream | Consumer) -> int | None:
    """Time since the election of the leader; None if the server does not report it.

    2.12 and later do, except for a leader that was a single replica before.
    """
    since = asset.cluster.leader_since if asset.cluster else None
    return None if since is None else int((asset.at - since).total_seconds() * 1e9)


_FIRST_GROUP_NS = 10_000_000_000
"""A Raft group that began within this time after its stream was created is the stream's first group."""


def is_scaled(readings: Iterable[Stream | Consumer]) -> bool:
    """Whether readings of a stream or consumer show different numbers of replicas.

    The number is not read from a single reading: a pasted part of a reply may not show it.
    """
    return any(earlier.config.num_replicas != later.config.num_replicas for earlier, later in pairwise(readings))


def scaled_ns_ago(stream: Stream, history: StreamHistory | None, groups: RaftGroups | None) -> int | None:
    """Time since the stream was scaled, in ns: 0 if during the samples, None if that does not show.

    A stream that is scaled from one replica gets a new Raft group, which is younger than the stream. That shows until
    the log of the group is shortened for the first time.
    """
    if history is not None and is_scaled(history.readings):
        return 0
    own = _leader_member(stream, groups.last if groups else ())
    if own is None or not own.state.wal.messages or not own.has_whole_log or stream.created is None:
        return None
    begun, age_ns = own.state.wal.first_ts, own.log_age_ns
    if begun is None or age_ns is None or (begun - stream.created).total_seconds() * 1e9 < _FIRST_GROUP_NS:
        return None
    return max(0, age_ns)


def _leader_member(stream: Stream, members: Iterable[RaftMember]) -> RaftMember | None:
    if stream.cluster is None or not stream.cluster.raft_group:
        return None
    key = (stream.answered_by, stream.cluster.raft_group)
    return next((member for member in members if (member.server, member.group) == key), None)


_ONE_TOKEN_FUNCTION = re.compile(
    r"\$\d+|\{\{\s*(?:wildcard|partition|random|left|right)\s*\(.*\)\s*\}\}", re.IGNORECASE
)
_FUNCTION = re.compile(r"\{\{.*\}\}")


def stored_subjects(subjects: tuple[str, ...], transform: SubjectTransform | None) -> tuple[str, ...]:
    """The patterns of a stream's own messages, those of its mirror and sources left out.

    What the transform's source does not match keeps its subject (server: stream.go processInboundJetStreamMsg).
    """
    if transform is None or not transform.dest:
        return subjects
    return tuple(dict.fromkeys(_stored_patterns(subjects, transform.src or ">", _pattern(transform.dest))))


def _stored_patterns(subjects: tuple[str, ...], source: str, pattern: str) -> Iterator[str]:
    for subject in subjects:
        if subjects_overlap(source, subject):
            yield pattern
        if not subject_contains(source, subject):
            yield subject


def _pattern(destination: str) -> str:
    """A pattern of all subjects that a destination can produce; splits can produce any number of tokens."""
    tokens: list[str] = []
    for token in destination.split("."):
        if _ONE_TOKEN_FUNCTION.fullmatch(token):
            tokens.append("*")
        elif _FUNCTION.search(token):
            return ".".join([*tokens, ">"])
        else:
            tokens.append(token)
    return ".".join(tokens)


Readers = Mapping[StreamKey, list[str]]

_SAFE_READER = "flow_control"
"""Since 2.14 mirrors and sources of such streams read through a durable consumer that acknowledges what it stored."""


def readers(snapshot: ClusterSnapshot) -> Readers:
    """Names of the streams that mirror or source another one, by that one's key."""
    readers_by_stream: dict[StreamKey, list[str]] = defaultdict(list)
    for stream in snapshot.streams:
        for key in {stream.key_of_origin(source) for source in stream.config.origins}:
            if key is not None:
                readers_by_stream[key].append(stream.name)
    return readers_by_stream


def is_read_with_acks(stream: Stream) -> bool:
    """Whether the mirrors and sources of this stream acknowledge what they take (server: stream.go, 2.14 and later)."""
    return any(consumer.config.ack_policy == _SAFE_READER for consumer in stream.consumers)


def uncovered_subjects(stream: Stream) -> tuple[str, ...]:
    """Subjects of the stream that overlap with no filter of its consumers."""
    config, filters = stream.config, [consumer.config.filters for consumer in stream.consumers]
    if not stream.consumers_seen or not all(filters) or config.subject_transform:
        return ()
    wanted = tuple(pattern for patterns in filters for pattern in patterns)
    return tuple(subject for subject in config.subjects if not overlaps_any(subject, wanted))


def unclaimed(stream: Stream) -> int | None:
    """Lower bound of the stored messages that are neither pending nor unacknowledged for any consumer.

    A work queue or interest stream should have removed them. None: not every consumer was seen from its leader, or one
    starts at the last message, so that the stream keeps messages for it which it does not count.
    """
    if not stream.consumers_seen or len(stream.consumers) < stream.state.consumer_count:
        return None
    if any(not c.from_leader or c.config.deliver_policy.startswith("last") for c in stream.consumers):
        return None
    return max(stream.state.messages - sum(c.num_pending + c.num_ack_pending for c in stream.consumers), 0)


def stranded(history: StreamHistory) -> int | None:
    """Messages that are unclaimed in every reading; 0 if not more than were stored, delivered, acknowledged or removed
    between the readings.

    Those bound the error from reading a stream and its consumers at slightly different times.
    """
    counts = [unclaimed(reading) for reading in history.readings]
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        return None
    moved = abs(history.last.state.last_seq - history.first.state.last_seq)
    moved += abs(_delivered(history.last) - _delivered(history.first))
    moved += abs(_unacknowledged(history.last) - _unacknowledged(history.first))
    moved += abs(history.last.state.messages - history.first.state.messages)
    least = min(known)
    return least if least > moved else 0


def _delivered(stream: Stream) -> int:
    return sum(consumer.delivered.consumer_seq for consumer in stream.consumers)


def _unacknowledged(stream: Stream) -> int:
    return sum(consumer.num_ack_pending for consumer in stream.consumers)


Histories = Mapping[tuple[str, str], StreamHistory]

_NS = 1_000_000_000


class StreamLimitUse(msgspec.Struct, frozen=True):
    """One limit of a stream and how much of it is used. `no_room`: no further message fits."""

    noun: str
    used: int
    limit: int
    used_path: str
    limit_path: str
    no_room: bool

    @property
    def share(self) -> float:
        """The used part of the limit."""
        return self.used / self.limit

    @property
    def key(self) -> str:
        """The configuration's name of the limit."""
        return self.limit_path.rpartition(".")[2]

    def observed(self, stream: Stream) -> tuple[Observation, ...]:
        """Both numbers as evidence."""
        return (stream.observed(self.used_path, self.used), stream.observed(self.limit_path, self.limit))


def storage_fills(stream: Stream) -> tuple[StreamLimitUse, ...]:
    """How much of `max_msgs` and `max_bytes` is used, if they are set.

    Bytes have no room if a message of average size does not fit (server: filestore.go storeRawMsg, ErrMaxBytes). For
    the average of an object store only chunks count: half of its subjects have the metadata of an object.
    """
    state, config, uses = stream.state, stream.config, []
    if config.max_msgs > 0:
        full = state.messages >= config.max_msgs
        uses.append(
            StreamLimitUse("messages", state.messages, config.max_msgs, "state.messages", "config.max_msgs", full)
        )
    if config.max_bytes > 0:
        objects = shown_or(lambda: state.num_subjects, 0) // 2 if stream.name.startswith("OBJ_") else 0
        full = state.messages > 0 and config.max_bytes - state.bytes < state.bytes // max(state.messages - objects, 1)
        uses.append(StreamLimitUse("bytes", state.bytes, config.max_bytes, "state.bytes", "config.max_bytes", full))
    return tuple(uses)


def consumer_fill(stream: Stream, default_limit: int = 0) -> StreamLimitUse | None:
    """How much of `max_consumers`, or else of the server's default, is used; None if there is neither."""
    used, limit = stream.state.consumer_count, stream.config.max_consumers
    path = "config.max_consumers" if limit > 0 else "limits.default_max_consumers"
    limit = limit if limit > 0 else default_limit
    return StreamLimitUse("consumers", used, limit, "state.consumer_count", path, used >= limit) if limit > 0 else None


def refuses_when_full(stream: Stream) -> bool:
    """Whether a full stream refuses messages that publishers expect it to store.

    Not a sealed one, which refuses all, nor a governor, whose clients rely on refusals.
    """
    return stream.config.discard == "new" and not stream.config.sealed and not stream.is_governor


def histories(trend: Trend | None) -> Histories:
    """Every stream's readings by account and name."""
    return {(h.last.account, h.last.name): h for h in trend.streams()} if trend else {}


def growth_per_s(history: StreamHistory, path: str) -> float:
    """Growth per second of a value of the stream's state between the first and the last reading."""
    before, after = (getattr(r.state, path.rpartition(".")[2]) for r in (history.first, history.last))
    return float(after - before) / history.elapsed_s


def time_to_full_ns(fill: StreamLimitUse, history: StreamHistory | None) -> int | None:
    """How long until the limit is reached at the present rate; None if it does not grow, or was not measured."""
    if history is None:
        return None
    speed = growth_per_s(history, fill.used_path)
    if speed <= 0:
        return None
    return int((fill.limit - fill.used) / speed * _NS)


def larger_limits(stream: Stream, *fills: StreamLimitUse) -> dict[str, object]:
    """Values for the remedy that doubles the limits which are (nearly) reached."""
    return {"no_ack": stream.config.no_ack} | {fill.key: 2 * fill.limit for fill in fills}
