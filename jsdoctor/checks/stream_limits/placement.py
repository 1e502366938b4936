"""How many servers there are to hold the replicas of a stream."""

from __future__ import annotations

from collections import Counter

from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import ClusterSnapshot, Stream


def is_clustered(stream: Stream) -> bool:
    """Whether the stream lives in a cluster. A single server names itself as leader, but no cluster."""
    return stream.cluster is not None and bool(stream.cluster.name)


class Room:
    """The servers of a deployment as places for replicas."""

    def __init__(self, snapshot: ClusterSnapshot, servers: Servers | None, connected: ConnectedServer | None) -> None:
        with_jetstream = [server for server in servers.servers if server.meta] if servers else []
        by_cluster = Counter(server.cluster for server in with_jetstream)
        # One meta group spans a super-cluster, but a stream stays within one of its clusters.
        self._by_cluster = by_cluster if len(by_cluster) > 1 else None
        self._meta = max((server.meta.cluster_size for server in with_jetstream if server.meta), default=0)
        self._connected = connected
        self._proven = max((_held(stream) or 0 for stream in snapshot.streams), default=0)

    @property
    def size_is_exact(self) -> bool:
        """Whether no server can be missing from the count: the meta group counts dead ones too."""
        return self._meta > 0 and self._by_cluster is None

    def servers_for(self, stream: Stream) -> int | None:
        """Servers that could hold a replica; the least number where a plain account looks; None when nothing tells."""
        cluster = stream.cluster.name if stream.cluster else ""
        if self._by_cluster is not None:
            return self._by_cluster[cluster] or None
        if self._meta:
            return self._meta
        known = self._connected
        advertised = len(known.connect_urls) if known and known.cluster == cluster else 0
        least = max(self._proven, advertised)
        return least if least > 1 else None


def _held(stream: Stream) -> int | None:
    """Members of the stream's Raft group, whatever their state; None without a leader to ask."""
    if not stream.from_leader or stream.cluster is None or not stream.cluster.name:
        return None
    return 1 + len(stream.cluster.replicas)
