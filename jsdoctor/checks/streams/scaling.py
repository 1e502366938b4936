"""When a stream was last scaled: what it holds is then still on its way between the old and the new members."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from jsdoctor.model.raft import RaftGroups, RaftMember
from jsdoctor.model.snapshot import Consumer, Stream
from jsdoctor.model.trend import StreamHistory

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
