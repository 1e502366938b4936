"""What several failure modes know of streams: limits, leaders, scaling, stored subjects, and readers with a claim."""

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
    """Time since its leader was elected; None where the server reports none.

    2.12 and later do, but for a leader that came from a single replica.
    """
    since = asset.cluster.leader_since if asset.cluster else None
    return None if since is None else int((asset.at - since).total_seconds() * 1e9)


_MADE_WITH_STREAM_NS = 10_000_000_000
"""A group that began so soon after its stream was created is its first one."""


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
    own = _of_leader(stream, groups.last if groups else ())
    if own is None or not own.state.wal.messages or not own.has_whole_log or stream.created is None:
        return None
    begun, age_ns = own.state.wal.first_ts, own.log_age_ns
    if begun is None or age_ns is None or (begun - stream.created).total_seconds() * 1e9 < _MADE_WITH_STREAM_NS:
        return None
    return max(0, age_ns)


def _of_leader(stream: Stream, members: Iterable[RaftMember]) -> RaftMember | None:
    if stream.cluster is None or not stream.cluster.raft_group:
        return None
    key = (stream.answered_by, stream.cluster.raft_group)
    return next((member for member in members if (member.server, member.group) == key), None)


_ONE_TOKEN = re.compile(r"\$\d+|\{\{\s*(?:wildcard|partition|random|left|right)\s*\(.*\)\s*\}\}", re.IGNORECASE)
_FUNCTION = re.compile(r"\{\{.*\}\}")


def stored_subjects(subjects: tuple[str, ...], transform: SubjectTransform | None) -> tuple[str, ...]:
    """The patterns of a stream's own messages, those of its mirror and sources left out.

    What the transform's source does not match keeps its subject (server: stream.go processInboundJetStreamMsg).
    """
    if transform is None or not transform.dest:
        return subjects
    return tuple(dict.fromkeys(_stored(subjects, transform.src or ">", _pattern(transform.dest))))


def _stored(subjects: tuple[str, ...], source: str, pattern: str) -> Iterator[str]:
    for subject in subjects:
        if subjects_overlap(source, subject):
            yield pattern
        if not subject_contains(source, subject):
            yield subject


def _pattern(destination: str) -> str:
    """All that the destination can become: functions that split a token may make any number of tokens of it."""
    tokens: list[str] = []
    for token in destination.split("."):
        if _ONE_TOKEN.fullmatch(token):
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


def reads_safely(stream: Stream) -> bool:
    """Whether the mirrors and sources of this stream acknowledge what they take (server: stream.go, 2.14 and later)."""
    return any(consumer.config.ack_policy == _SAFE_READER for consumer in stream.consumers)


def uncovered_subjects(stream: Stream) -> tuple[str, ...]:
    """Subjects of the stream that no filter of its consumers meets at all. Certain: no state can change it."""
    config, filters = stream.config, [consumer.config.filters for consumer in stream.consumers]
    if not stream.consumers_seen or not all(filters) or config.subject_transform:
        return ()
    wanted = tuple(pattern for patterns in filters for pattern in patterns)
    return tuple(subject for subject in config.subjects if not overlaps_any(subject, wanted))


def unclaimed(stream: Stream) -> int | None:
    """Stored messages that no consumer still has to deliver or to get acknowledged.

    Such messages should have been removed: every stored one is pending or unacknowledged somewhere. With several
    consumers per message this is the least number. None: not every consumer was seen from its leader, or one starts so
    late that the stream keeps messages for it which it does not count.
    """
    if not stream.consumers_seen or len(stream.consumers) < stream.state.consumer_count:
        return None
    if any(not c.from_leader or c.config.deliver_policy.startswith("last") for c in stream.consumers):
        return None
    return max(stream.state.messages - sum(c.num_pending + c.num_ack_pending for c in stream.consumers), 0)


def stranded(history: StreamHistory) -> int | None:
    """Messages unclaimed in every reading, if they are more than moved meanwhile; 0 when there are none.

    A stream and its consumers are read at slightly different instants; what moves between readings bounds that error.
    """
    counts = [unclaimed(reading) for reading in history.readings]
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        return None
    moved = abs(history.last.state.last_seq - history.first.state.last_seq)
    moved += abs(_delivered(history.last) - _delivered(history.first))
    least = min(known)
    return least if least > moved else 0


def _delivered(stream: Stream) -> int:
    return sum(consumer.delivered.consumer_seq for consumer in stream.consumers)


Histories = Mapping[tuple[str, str], StreamHistory]

_NS = 1_000_000_000


class StreamLimitUse(msgspec.Struct, frozen=True):
    """One limit of a stream and what is used of it. `no_room`: nothing more fits."""

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
    """The stream against `max_msgs` and `max_bytes`, where it has them.

    Bytes have no room when a message of average size does not fit (server: filestore.go storeRawMsg, ErrMaxBytes).
    Of an object store chunks alone count: the metadata of an object is one small message, and a subject of its own.
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
    """The stream against `max_consumers`, else against its server's default; None where it has neither."""
    used, limit = stream.state.consumer_count, stream.config.max_consumers
    path = "config.max_consumers" if limit > 0 else "limits.default_max_consumers"
    limit = limit if limit > 0 else default_limit
    return StreamLimitUse("consumers", used, limit, "state.consumer_count", path, used >= limit) if limit > 0 else None


def refuses_when_full(stream: Stream) -> bool:
    """Whether a full stream turns new messages away to the harm of its publishers.

    A sealed one turns all away, full or not: that is no limit. Clients of a governor rely on being turned away.
    """
    return stream.config.discard == "new" and not stream.config.sealed and not stream.is_governor


def histories(trend: Trend | None) -> Histories:
    """Every stream's readings by account and name."""
    return {(h.last.account, h.last.name): h for h in trend.streams()} if trend else {}


def grown(history: StreamHistory, path: str) -> float:
    """Growth per second of a value of the stream's state between the first and the last reading."""
    before, after = (getattr(r.state, path.rpartition(".")[2]) for r in (history.first, history.last))
    return float(after - before) / history.elapsed_s


def time_to_full_ns(fill: StreamLimitUse, history: StreamHistory | None) -> int | None:
    """How long until the limit is reached at the present rate; None if it does not grow, or was not measured."""
    if history is None:
        return None
    speed = grown(history, fill.used_path)
    if speed <= 0:
        return None
    return int((fill.limit - fill.used) / speed * _NS)


def larger_limits(stream: Stream, *fills: StreamLimitUse) -> dict[str, object]:
    """Values for the remedy that doubles the limits which are (nearly) reached."""
    return {"no_ack": stream.config.no_ack} | {fill.key: 2 * fill.limit for fill in fills}
