"""How many servers there will be to hold the replicas of declared streams."""

from __future__ import annotations

from typing import NamedTuple

from jsdoctor.model.manifest import DeclaredServers, Manifests
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import SnapshotSeries


class ServerCount(NamedTuple):
    """The exact number of servers (None: not known), the least that there are, and where that is known from.

    Words without numbers: there is a server of which it is not known whether the streams are for it.
    """

    exact: int | None
    least: int | None
    words: str


def servers_for(
    manifests: Manifests,
    snapshots: SnapshotSeries | None,
    servers: Servers | None,
    connected: ConnectedServer | None,
) -> ServerCount:
    """Prefer what the deployment reports to what the manifests declare; without either nothing is known."""
    live = _deployed(snapshots, servers, connected)
    if live.least is not None:
        return live
    known = [(declared, size) for declared in manifests.servers if (size := declared_size(declared)) is not None]
    sizes = {size for declared, size in known if not _of_any_host(declared)}
    if len(sizes) != 1:
        return ServerCount(None, None, "" if sizes or not known else f"{known[0][0].place.file} makes one server")
    size = sizes.pop()
    return ServerCount(size, size, f"the manifests make {_servers(size)}")


def _of_any_host(servers: DeclaredServers) -> bool:
    """Whether this is a file that no workload runs with: it may be a developer's, and the stream another server's."""
    return servers.what == "server configuration" and not servers.get("started")


def declared_size(servers: DeclaredServers) -> int | None:
    """Servers of the cluster that it will be part of; None when the file does not tell."""
    if servers.get("jetstream") is not True:
        return None
    size = servers.get("servers")
    if servers.is_chart or (servers.get("clustered") and size):
        return size if isinstance(size, int) else None
    return None if servers.get("clustered") or "clustered" in servers.unclear else 1


def _deployed(
    snapshots: SnapshotSeries | None, servers: Servers | None, connected: ConnectedServer | None
) -> ServerCount:
    with_meta = [server for server in servers.servers if server.meta] if servers else []
    clusters = {server.cluster for server in with_meta}
    if len(clusters) == 1:
        size = max(server.meta.cluster_size for server in with_meta if server.meta)
        return ServerCount(size, size, f"there are {_servers(size)}")
    if servers and servers.complete and not with_meta and len(servers.servers) == 1:
        return ServerCount(1, 1, "there is one server, which is no cluster")
    if connected and not connected.cluster and connected.jetstream:
        return ServerCount(1, 1, "there is one server, which is no cluster")
    held = [1 + len(s.cluster.replicas) for s in (snapshots.last.streams if snapshots else ()) if s.cluster]
    least = max(*held, 0, len(connected.connect_urls) if connected else 0)
    return (
        ServerCount(None, least, f"there are at least {_servers(least)}") if least > 1 else ServerCount(None, None, "")
    )


def _servers(count: int) -> str:
    return f"{count} server{'' if count == 1 else 's'}"
