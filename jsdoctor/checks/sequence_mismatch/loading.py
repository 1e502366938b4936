"""Servers that are still loading: what they hold differs from the leader's without being wrong."""

from __future__ import annotations

from jsdoctor.model.server import Server, Servers
from jsdoctor.model.snapshot import Consumer, Stream


class Loading:
    """Which servers were started just now, or say themselves that an asset is not current.

    A copy that has to catch up waits for some seconds before it begins, while its leader calls it current already
    (server: jetstream_cluster.go processSnapshot; measured on 2.12 and 2.15: five seconds).
    """

    def __init__(self, servers: Servers, settle_ns: int) -> None:
        self._servers = {server.name: server for server in servers.servers}
        self._settle_ns = settle_ns

    def is_busy(self, name: str, asset: Stream | Consumer) -> bool:
        """Whether what that server holds of the asset may still change by itself."""
        server = self._servers.get(name)
        if server is None:
            return False
        return self._is_new(server) or _complains(server, asset)

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
