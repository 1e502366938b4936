"""Servers that are still loading, and copies that are new: they differ from the leader's without being wrong."""

from __future__ import annotations

from jsdoctor.checks.servers.health import uptime_ns
from jsdoctor.model.raft import RaftGroups
from jsdoctor.model.server import Server, Servers
from jsdoctor.model.snapshot import Consumer, Stream


class Loading:
    """Which servers were started just now, or say themselves that an asset is not current.

    A copy that has to catch up waits for some seconds before it begins, while its leader calls it current already
    (server: jetstream_cluster.go processSnapshot; measured on 2.12 and 2.15: five seconds).
    """

    def __init__(self, servers: Servers, groups: RaftGroups | None, settle_ns: int) -> None:
        self._servers = {server.name: server for server in servers.servers}
        self._settle_ns = settle_ns
        members = groups.last if groups else ()
        self._young_logs = {(m.server, m.group) for m in members if m.has_young_log(settle_ns)}
        self._whole_logs = {(m.server, m.group) for m in members if m.has_whole_log}
        self._empty_logs = {(m.server, m.group) for m in members if m.has_empty_log}

    def is_busy(self, name: str, asset: Stream | Consumer, has_more: bool, counts_complaints: bool = True) -> bool:
        """Whether what that server holds of the asset, more than the leader or not, may still change by itself.

        `counts_complaints`: what its health check reports counts. It complains for ever of a copy that is not current.
        """
        server = self._servers.get(name)
        if server is None:
            return False
        return (
            self._is_new(server)
            or self._is_new_copy(name, asset)
            or (has_more and self._has_joined(name, asset))
            or (counts_complaints and _complains(server, asset))
        )

    def _is_new_copy(self, name: str, asset: Stream | Consumer) -> bool:
        """Whether the copy is of a group that was made just now, or of a member that has just come to an older one.

        An asset that is scaled from one replica gets a new group. Its members copy what the leader holds, or still
        hold what they had before (measured on 2.10.26 and 2.12.8). The log of a busy stream is shortened again and
        again: its oldest entry is young as well, but not the first one. An empty log is as old as its leader's.
        """
        if asset.cluster is None:
            return False
        copy, leader = (name, asset.cluster.raft_group), (asset.answered_by, asset.cluster.raft_group)
        is_group_new = leader in self._young_logs or leader in self._empty_logs
        if copy in self._empty_logs:
            return is_group_new
        return copy in self._young_logs and (copy in self._whole_logs or not is_group_new)

    def _has_joined(self, name: str, asset: Stream | Consumer) -> bool:
        """Whether it is a new copy of a stream that acknowledgements remove messages from.

        Consumers follow their stream to new servers, and until then nothing removes what was acknowledged there
        (measured on 2.10 after a scale to five replicas).
        """
        if not isinstance(asset, Stream) or asset.config.retention == "limits" or asset.cluster is None:
            return False
        return (name, asset.cluster.raft_group) in self._young_logs

    def _is_new(self, server: Server) -> bool:
        uptime = uptime_ns(server)
        return uptime is not None and uptime < self._settle_ns


def _complains(server: Server, asset: Stream | Consumer) -> bool:
    """Servers before 2.11 name the asset only in the text of their first error."""
    health = server.health
    if health is None:
        return False
    name = asset.stream if isinstance(asset, Consumer) else asset.name
    text = f"'{asset.account} > {name}"
    return text in health.error or any(e.account == asset.account and e.stream == name for e in health.errors)
