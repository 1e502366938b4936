"""Readers of a work-queue or interest stream: consumers, and the mirrors and sources that copy it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from jsdoctor.model.snapshot import ClusterSnapshot, Stream, StreamKey
from jsdoctor.model.subjects import overlaps_any
from jsdoctor.model.trend import StreamHistory

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
