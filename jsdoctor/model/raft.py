"""Raft groups as each of their members sees them: the groups of streams, consumers and the meta group.

Source: the RAFTZ endpoint (server: monitor.go Raftz). Indexes count log entries of the group, not messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec

from jsdoctor.model.evidence import NOT_REPORTED, Evidence, EvidenceSource
from jsdoctor.model.finding import Observation
from jsdoctor.model.reported import Reported, sent

META_GROUP = "_meta_"


class RaftLog(msgspec.Struct, frozen=True, gc=False):
    """The group's write-ahead log on one member. `first_ts` is when its oldest entry was written there."""

    messages: int = sent(0)
    bytes: int = sent(0)
    first_ts: datetime | None = sent(None)


class RaftState(Reported, frozen=True):
    """RAFTZ of one group. `leader` is a peer id; empty: that member knows none.

    `ever_had_leader`: that member has known one since it started; None where it does not report it.
    The `ipq_*_len` are entries waiting inside the server. `paused`: it applies nothing while it catches up with a
    snapshot. `overrun` (2.14 and later): it takes no part in the quorum until it has applied what it has.
    """

    id: str = sent("")
    state: str = sent("")
    size: int = sent(0)
    committed: int = sent(0)
    applied: int = sent(0)
    leader: str = ""
    leader_since: datetime | None = None
    ever_had_leader: bool | None = sent(None)
    term: int = sent(0)
    pindex: int = sent(0)
    paused: bool = False
    ipq_proposal_len: int = sent(0)
    ipq_entry_len: int = sent(0)
    ipq_resp_len: int = sent(0)
    ipq_apply_len: int = sent(0)
    wal: RaftLog = sent(RaftLog())
    overrun: bool = False
    catching_up: bool = False


_MAX_INDEX_LEAD = 1
"""By how much the last index of a log exceeds the number of its entries if none was removed (seen on 2.12)."""


class RaftMember(msgspec.Struct, frozen=True):
    """One group on one server. `at` is that server's clock, `asked_at` when it was requested, by ours."""

    server: str
    account: str
    group: str
    at: datetime
    state: RaftState
    asked_at: datetime | None = None

    @property
    def log_age_ns(self) -> int | None:
        """Time since the oldest entry of its log, in ns; None where the server does not report one."""
        first = self.state.wal.first_ts
        return None if first is None else (self.at - first) // timedelta(microseconds=1) * 1000

    def has_young_log(self, within_ns: int) -> bool:
        """Whether its log has entries, the oldest of which is younger than that."""
        age_ns = self.log_age_ns
        return self.state.wal.messages > 0 and age_ns is not None and age_ns < within_ns

    @property
    def has_whole_log(self) -> bool:
        """Whether its log has every entry since the group began."""
        return self.state.pindex - self.state.wal.messages <= _MAX_INDEX_LEAD

    @property
    def has_empty_log(self) -> bool:
        """Whether no entry was ever written to its log."""
        return not self.state.wal.messages and self.has_whole_log

    def observed(self, path: str, value: object) -> Observation:
        """A value of this member as evidence."""
        return Observation(source=self.server, path=f"{self.group}.{path}", value=value, at=self.at)


class RaftGroups(Evidence, frozen=True):
    """The members of all groups that could be seen, in every sample, oldest first."""

    source = EvidenceSource.SYSTEM
    parts = ("raft",)
    repeated = True
    unavailable = NOT_REPORTED
    said_by = ("raft",)
    of_deployment = True

    samples: tuple[tuple[RaftMember, ...], ...]

    @property
    def last(self) -> tuple[RaftMember, ...]:
        """The members in the newest sample."""
        return self.samples[-1]

    def histories(self) -> Iterator[tuple[RaftMember, ...]]:
        """Each member of the newest sample with its earlier readings before it, oldest first."""
        earlier = [{(m.server, m.account, m.group): m for m in sample} for sample in self.samples[:-1]]
        for member in self.last:
            key = (member.server, member.account, member.group)
            yield (*(sample[key] for sample in earlier if key in sample), member)

    def servers_seen(self) -> Iterator[str]:
        """The names of the servers of which this has a report."""
        return (member.server for member in self.last)
