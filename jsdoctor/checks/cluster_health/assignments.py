"""Assets without a Raft group that their server reports to lead: whether it runs them, or only stored them once."""

from __future__ import annotations

from jsdoctor.checks.cluster_health.leadership import Asset, EarlierReadings
from jsdoctor.checks.servers.health import uptime_ns
from jsdoctor.model.finding import Finding, suspected, unknown
from jsdoctor.model.raft import META_GROUP, RaftGroups
from jsdoctor.model.server import Server, Servers
from jsdoctor.model.snapshot import Consumer, Stream
from jsdoctor.model.wording import span

_META_FIRST = "see the result for the meta group (JSD701), and run again when it has a leader"
_AGAIN = "run again in ten seconds, with at least two samples"


class Assignments:
    """Assets that a server lists and may not run: the meta group has not assigned them, or their group does not run.

    Scaling is proposed to the meta group, so none can go on where a server knew no meta leader since it started. Where
    it did know one, scaling may take seconds longer than that leader lives: measured on 2.15.1, for consumers.
    """

    def __init__(self, servers: Servers | None, groups: RaftGroups | None, settle_ns: int) -> None:
        self._settle_ns = settle_ns
        self._samples = [{server.name: server for server in sample} for sample in servers.samples] if servers else []
        self._had_meta_leader = {
            member.server: member.state.ever_had_leader
            for member in (groups.last if groups else ())
            if member.group == META_GROUP
        }

    def doubt(self, asset: Asset, stream: Stream, history: EarlierReadings) -> Finding | None:
        """Why it is not evaluated whether an asset is led; None where that shows.

        It is not led if its server has long been up, never knew a meta leader, and shows no group where one is needed.
        """
        if not is_shown_without_group(asset, stream):
            return None
        name, is_replicated = asset.answered_by, _replicas(asset, stream) > 1
        if not is_replicated:
            is_doubtful = not asset.from_leader or self._lacks_meta_leader(name)
            return self._maybe_not_served(asset) if is_doubtful else None
        if asset.from_leader or self._had_meta_leader.get(name) is not False:
            reason = f"{name} reports it as its own and shows no Raft group for it: it is being scaled, the server has"
            return suspected(asset.subject, f"{reason} just started, or the group does not run", _AGAIN)
        if not history.before(asset):
            return suspected(asset.subject, f"{name} shows no Raft group for it in the only sample", _AGAIN)
        uptime = uptime_ns(server) if (server := self._last(name)) else None
        if uptime is None or uptime < self._settle_ns:
            since = "at a time that was not read" if uptime is None else f"{span(uptime)} ago"
            return unknown(asset.subject, f"{name} started {since} and knows no meta leader yet", _AGAIN)
        return None

    def _last(self, name: str) -> Server | None:
        return self._samples[-1].get(name) if self._samples else None

    def _lacks_meta_leader(self, name: str) -> bool:
        """Whether the server names no meta leader in any sample, and is not known to have had one since it started."""
        readings = [sample[name].meta for sample in self._samples if name in sample]
        is_missing = bool(readings) and all(meta is not None and not meta.leader for meta in readings)
        return is_missing and not self._had_meta_leader.get(name)

    def _maybe_not_served(self, asset: Asset) -> Finding:
        had = self._had_meta_leader.get(asset.answered_by)
        since = "had none since it started" if had is False else "may have had none since it started"
        reason = f"{asset.answered_by} knows no meta leader and {since}: from 2.12 on it serves nothing that it lists"
        return unknown(asset.subject, reason, _META_FIRST)


def _replicas(asset: Asset, stream: Stream) -> int:
    return asset.config.replicas_on(stream.config) if isinstance(asset, Consumer) else asset.config.num_replicas


def is_shown_without_group(asset: Asset, stream: Stream) -> bool:
    """Whether the server that responded names itself, or shows no cluster for a consumer of a stream in one."""
    if asset.cluster is None:
        return asset is not stream and stream.cluster is not None and bool(stream.cluster.name)
    leader = asset.cluster.leader
    return bool(leader) and leader == asset.answered_by and asset.cluster.shows_no_group
