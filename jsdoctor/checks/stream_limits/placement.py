"""How many servers there are to hold the replicas of a stream."""

from __future__ import annotations

from collections import Counter

from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import ClusterSnapshot, Stream


def is_clustered(stream: Stream) -> bool:
    """Whether the stream is in a cluster. A single server names itself as leader, but no cluster."""
    return stream.cluster is not None and bool(stream.cluster.name)


class Room:
    """The servers of a deployment as places for replicas: a stream stays within its domain and within its cluster."""

    def __init__(self, snapshot: ClusterSnapshot, servers: Servers | None, connected: ConnectedServer | None) -> None:
        known = servers.servers if servers else ()
        self._domains = {server.domain for server in known if server.jetstream and not server.jetstream.disabled}
        members = [server for server in known if server.meta]
        self._by_cluster = Counter((server.domain, server.cluster) for server in members)
        self._clusters = Counter(domain for domain, _ in self._by_cluster)
        self._meta: dict[str, int] = {}
        for server in members:
            size = server.meta.cluster_size if server.meta else 0
            self._meta[server.domain] = max(size, self._meta.get(server.domain, 0))
        self._connected = connected
        self._proven = max((_held(stream) or 0 for stream in snapshot.streams), default=0)

    def is_exact(self, stream: Stream) -> bool:
        """Whether no server can be missing from the count: the meta group counts dead ones too."""
        domain = self._domain_of(stream)
        return self._meta.get(domain, 0) > 0 and self._clusters[domain] == 1

    def servers_for(self, stream: Stream) -> int | None:
        """Servers that could hold a replica; for a plain account a lower bound; None if nothing shows them."""
        cluster, domain = stream.cluster.name if stream.cluster else "", self._domain_of(stream)
        if self._clusters[domain] > 1:
            return self._by_cluster[domain, cluster] or None
        if self._meta.get(domain):
            return self._meta[domain]
        if domain in self._domains:
            return 1  # a single server, such as a leaf node with a domain of its own
        known = self._connected
        advertised = len(known.connect_urls) if known and known.cluster == cluster else 0
        least = max(self._proven, advertised)
        return least if least > 1 else None

    def _domain_of(self, stream: Stream) -> str:
        """The stream's domain; if a plain account showed the stream, the only domain that servers reported."""
        return stream.domain or (next(iter(self._domains)) if len(self._domains) == 1 else "")


def _held(stream: Stream) -> int | None:
    """Members of the stream's Raft group, whatever their state; None without a leader's report."""
    if not stream.from_leader or stream.cluster is None or not stream.cluster.name:
        return None
    return 1 + len(stream.cluster.replicas)
