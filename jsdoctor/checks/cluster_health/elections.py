"""Number of elections of the Raft groups of a cluster: growth of terms between samples, and what restarts explain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from functools import cached_property

import msgspec

from jsdoctor.model.params import Params
from jsdoctor.model.raft import RaftGroups, RaftMember
from jsdoctor.model.server import Servers

_PER_RESTART = 2
"""Terms that one restarting server may cost a group: its leaders move, and a first vote may be split."""

_SETTLED = ("LEADER", "FOLLOWER")
"""States whose term counts. A candidate without contact to others raises its own term without any election."""

GroupKey = tuple[str, str]
"""Account or server, and group: the names of groups are random and unique, but for the meta group."""


class Elections(msgspec.Struct, frozen=True, gc=False):
    """One Raft group in two samples."""

    first: RaftMember
    last: RaftMember

    @property
    def count(self) -> int:
        """Terms begun meanwhile: at least one for each election, more where a vote failed."""
        return max(0, self.last.state.term - self.first.state.term)

    @property
    def elapsed_ns(self) -> int:
        """Time between the samples, in nanoseconds."""
        return max(1, int((self.last.at - self.first.at).total_seconds() * 1e9))


def elections(groups: RaftGroups) -> Iterator[Elections]:
    """Every group of the newest sample: the member whose term grew most since it was first seen.

    Each member is compared with itself: every JetStream domain has a meta group of the same name.
    """
    firsts: dict[GroupKey, RaftMember] = {}
    for sample in reversed(groups.samples[:-1]):
        firsts |= {(member.server, member.group): member for member in sample if member.state.state in _SETTLED}
    elections_by_group: dict[GroupKey, Elections] = {}
    for last in groups.last:
        if last.state.state in _SETTLED:
            first = firsts.get((last.server, last.group), last)
            key = (last.account, last.group)
            known = elections_by_group.get(key)
            if known is None or _more(first, last, known):
                elections_by_group[key] = Elections(first, last)
    return iter(elections_by_group.values())


def _more(first: RaftMember, last: RaftMember, known: Elections) -> bool:
    term, most = last.state.term, known.last.state.term
    grown, before = term - first.state.term, most - known.first.state.term
    return grown > before or (grown == before and term > most)


class Restarts:
    """Which servers started when, and which groups they are members of."""

    def __init__(self, groups: RaftGroups, servers: Servers | None) -> None:
        known_servers = servers.servers if servers else ()
        self._started = {
            server.name: server.varz.start for server in known_servers if server.varz and server.varz.start
        }
        self._groups = groups

    @cached_property
    def _members(self) -> dict[GroupKey, set[str]]:
        members: dict[GroupKey, set[str]] = defaultdict(set)
        for member in self._groups.last:
            members[member.account, member.group].add(member.server)
        return members

    def _since(self, moment: datetime, group: RaftMember) -> int:
        members = self._members[group.account, group.group]
        return sum(self._started[name] > moment for name in members if name in self._started)

    def allowed(self, elections: Elections, params: Params) -> int | None:
        """From how many elections on they are too many; None when there were not that many in any `window`."""
        most = params.integer("elections")
        count = elections.count * min(1.0, params.integer("window") / elections.elapsed_ns)
        if count < most:
            return None
        most += _PER_RESTART * self._since(elections.first.at, elections.last)
        return most if count >= most else None


def per_day(term: int, since: datetime, now: datetime) -> float:
    """Elections a day over the life of a group; those of its first hour count as one hour's."""
    return term * 86_400 / max((now - since).total_seconds(), 3_600.0)
