"""What piles up in a Raft group on one member, reading after reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from jsdoctor.model.raft import RaftMember, RaftState

_SHRINKING = 0.9

LEADER = "LEADER"


def unapplied(state: RaftState) -> int:
    """Entries that a majority has and this member has not yet applied to its stream or consumer."""
    return max(0, state.committed - state.applied)


def uncommitted(state: RaftState) -> int:
    """Entries that a leader wrote and a majority has not yet confirmed; a follower's figure means nothing."""
    return max(0, state.pindex - state.committed) if state.state == LEADER else 0


def queued(state: RaftState) -> int:
    """Entries in the longest of the group's queues inside the server."""
    return max(state.ipq_proposal_len, state.ipq_entry_len, state.ipq_resp_len, state.ipq_apply_len)


def is_quiet(state: RaftState, limits: Sequence[int]) -> bool:
    """Whether no kind reaches its limit (apply, queue, commit): so it is with nearly all of thousands of groups."""
    apply, queue, commit = limits
    return unapplied(state) < apply and queued(state) < queue and uncommitted(state) < commit


class Backlog(msgspec.Struct, frozen=True):
    """One kind of backlog that no reading was free of. `per_s`: what the member applied in a second meanwhile.

    None where that is not known: our clock was set back between the samples.
    """

    member: RaftMember
    what: str
    path: str
    why: str
    limit: int
    count: int
    smallest: int
    per_s: float | None

    @property
    def delay_ns(self) -> int:
        """How long the member needs for it at its present pace; very long when it applies nothing."""
        return int(self.count / self.per_s * 1e9) if self.per_s else 1 << 62


_OWN_FAULT = "the disk or the processor of that server does not keep up, or the group is stuck"
_KINDS: tuple[tuple[str, str, str, Callable[[RaftState], int]], ...] = (
    ("committed entries are not applied", "committed - applied", _OWN_FAULT, unapplied),
    ("entries wait in one of its queues", "ipq_len", _OWN_FAULT, queued),
    (
        "entries are not confirmed by a majority",
        "pindex - committed",
        "its followers are slow or away, and publishers wait",
        uncommitted,
    ),
)


def backlogs(readings: Sequence[RaftMember], limits: Sequence[int]) -> Iterator[Backlog]:
    """The kinds that reach their limit in every reading and do not shrink: apply, queue, commit, as in `limits`."""
    last = readings[-1]
    for (what, path, why, measure), limit in zip(_KINDS, limits, strict=True):
        if measure(last.state) < limit:
            continue
        counts = [measure(reading.state) for reading in readings]
        if min(counts) >= limit and counts[-1] >= _SHRINKING * counts[0]:
            yield Backlog(last, what, path, why, limit, counts[-1], min(counts), _pace(readings))


def _pace(readings: Sequence[RaftMember]) -> float | None:
    """By our clock: that of a server may be set between the samples."""
    first, last = readings[0], readings[-1]
    applied = last.state.applied - first.state.applied
    if applied <= 0:
        return 0.0
    times = (first.asked_at, last.asked_at) if first.asked_at and last.asked_at else (first.at, last.at)
    elapsed_s = (times[1] - times[0]).total_seconds()
    return applied / elapsed_s if elapsed_s > 0 else None
