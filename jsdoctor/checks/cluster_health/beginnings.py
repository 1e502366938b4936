"""Why a stream or consumer may have no leader yet: its Raft group or the servers of its members have just begun."""

from __future__ import annotations

from collections import defaultdict

from jsdoctor.checks.cluster_health.leadership import Asset, EarlierReadings
from jsdoctor.checks.servers.health import uptime_ns
from jsdoctor.checks.streams.scaling import is_scaled
from jsdoctor.model.raft import RaftGroups, RaftMember
from jsdoctor.model.server import Servers
from jsdoctor.model.wording import span

_HEARTBEAT_NS = 1_000_000_000
"""How often a leader sends a heartbeat (server: raft.go hbInterval). Samples closer together say as little as one."""


class Beginnings:
    """Which groups and servers began less than `settle_ns` ago."""

    def __init__(self, servers: Servers | None, groups: RaftGroups | None, settle_ns: int) -> None:
        self._settle_ns = settle_ns
        self._uptimes = {server.name: uptime_ns(server) for server in (servers.servers if servers else ())}
        self._members: dict[str, list[RaftMember]] = defaultdict(list)
        for member in groups.last if groups else ():
            self._members[member.group].append(member)

    def why(self, asset: Asset, history: EarlierReadings) -> str | None:
        """Why it may have no leader for a moment; None where nothing has just begun."""
        watched = history.watched_ns(asset)
        if watched < _HEARTBEAT_NS:
            return f"in samples that are {span(watched)} apart, less than a heartbeat"
        readings = (*history.before(asset), asset)
        if is_scaled(readings) or len(set(map(_group, readings))) > 1:
            return "and was scaled just now"
        members = self._members.get(_group(asset), [])
        if members and all(map(self._is_new, members)):
            return "and its Raft group has just begun"
        answering = {asset.answered_by, *(replica.server for replica in asset.replicas)}
        uptimes = [uptime for name in answering if (uptime := self._uptimes.get(name)) is not None]
        if uptimes and min(uptimes) < self._settle_ns:
            return f"and a server of it started {span(min(uptimes))} ago"
        return None

    def _is_new(self, member: RaftMember) -> bool:
        """Whether its log has every entry since its group began, and began just now or is still empty."""
        return member.has_empty_log or (member.has_whole_log and member.has_young_log(self._settle_ns))


def _group(asset: Asset) -> str:
    return asset.cluster.raft_group if asset.cluster else ""
