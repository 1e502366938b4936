"""Servers that are still loading: what they hold differs from the leader's without being wrong."""

from __future__ import annotations

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
        self._young_logs = {
            (member.server, member.group)
            for member in (groups.last if groups else ())
            if member.state.wal.first_ts is not None
            and int((member.at - member.state.wal.first_ts).total_seconds() * 1e9) < settle_ns
        }

    def is_busy(self, name: str, asset: Stream | Consumer, has_more: bool) -> bool:
        """Whether what that server holds of the asset, more than the leader or not, may still change by itself."""
        server = self._servers.get(name)
        if server is None:
            return False
        return self._is_new(server) or (has_more and self._has_joined(name, asset)) or _complains(server, asset)

    def _has_joined(self, name: str, asset: Stream | Consumer) -> bool:
        """Whether it is a new copy of a stream that acknowledgements remove messages from.

        Consumers follow their stream to new servers, and until then nothing removes what was acknowledged there
        (measured on 2.10 after a scale to five replicas).
        """
        if not isinstance(asset, Stream) or asset.config.retention == "limits" or asset.cluster is None:
            return False
        return (name, asset.cluster.raft_group) in self._young_logs

    def _is_new(self, server: Server) -> bool:
        start = server.varz.start if server.varz else None
        return start is not None and int((server.at - start).total_seconds() * 1e9) < self._settle_ns


def _complains(server: Server, asset: Stream | Consumer) -> bool:
    """Servers before 2.11 name the asset only in the text of their first error."""
    health = server.health
    if health is None:
        return False
    name = asset.stream if isinstance(asset, Consumer) else asset.name
    text = f"'{asset.account} > {name}"
    return text in health.error or any(e.account == asset.account and e.stream == name for e in health.errors)
