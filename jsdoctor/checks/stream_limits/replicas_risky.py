"""JSD605: a number of replicas that does not protect: one, an even number, or more than there are servers.

From manifests: a number of replicas that will not protect, or that the servers cannot hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from jsdoctor.checks.declared.deployed import Deployed, release_for
from jsdoctor.checks.declared.doubts import indeterminate
from jsdoctor.checks.declared.stream_resources import servers_for
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed, unknown
from jsdoctor.model.manifest import DeclaredStream, Manifests
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries, Stream

_SMALLEST_QUORUM = 3


@check("stream_limits.replicas_risky")
def replicas_risky(
    snapshots: SnapshotSeries, servers: Servers | None, connected: ConnectedServer | None
) -> Iterator[Finding]:
    """Judge numbers of replicas: a stream works while more than half of its replicas do (raft.go quorumNeeded).

    One replica is a choice for memory streams, which are caches, and for mirrors, which have an origin.
    """
    room = Room(snapshots.last, servers, connected)
    for stream in snapshots.last.streams:
        if not stream.is_clustered:
            if stream.config.num_replicas > 1:
                yield _lost_at_restart(stream)
            continue
        wanted, size = max(1, stream.config.num_replicas), room.servers_for(stream)  # 0 is one (server: stream.go)
        if size is not None and room.is_exact(stream) and wanted > size:
            yield _finding(
                stream,
                f"R{stream.config.num_replicas} is configured and only {size} servers are there to hold it: "
                "the next server that fails may take the stream with it",
                size,
                {"action": "stream.look_at_replicas"},
                Severity.ERROR,
            )
        elif wanted % 2 == 0:
            more = wanted + 1 if size is None or wanted < size else wanted - 1
            look: Mapping[str, int | str] = {"action": "stream.look_at_replicas"}
            yield _finding(stream, _even(wanted), wanted, {"replicas": more} if more >= _SMALLEST_QUORUM else look)
        elif wanted > 1 or stream.config.storage == "memory" or stream.config.mirror:
            yield passed(stream.subject)
        elif size is None:
            yield unknown(
                stream.subject,
                "it has one replica, and how many servers the cluster has was not seen",
                "use a login of the system account",
            )
        elif size < _SMALLEST_QUORUM:
            yield passed(stream.subject)
        else:
            yield _single_replica(stream, f"{size} servers" if room.is_exact(stream) else f"{size} or more servers")


@check("stream_limits.consumer_replicas_risky")
def consumer_replicas_risky(snapshots: SnapshotSeries) -> Iterator[Finding]:
    """Judge durable consumers with one replica on a replicated stream; in memory that is a choice."""
    for stream, consumer in snapshots.last.led_consumers():
        config = consumer.config
        if not config.durable_name or stream.config.num_replicas < _SMALLEST_QUORUM:
            continue
        if config.num_replicas != 1 or config.mem_storage:
            yield passed(consumer.subject)
            continue
        yield failed(
            consumer.subject,
            f"R1 on a stream with R{stream.config.num_replicas}: while the one server that holds it is down"
            " nothing is delivered, and if that server's disk is lost, so is the place of this consumer in the stream",
            consumer.observed("config.num_replicas", config.num_replicas),
            severity=Severity.INFO,
            measured=(1, stream.config.num_replicas, "count"),
            remedy={"action": "consumer.inspect"},
        )


def _lost_at_restart(stream: Stream) -> Finding:
    """Several replicas on a single server: servers before 2.14 accept that update, and none recovers the stream."""
    return _finding(
        stream,
        f"R{stream.config.num_replicas} on a single server, which is no cluster: at its next start the server does not "
        "recover the stream, and its health check fails from then on; set one replica before it is restarted",
        stream.config.num_replicas,
        {"replicas": 1},
        Severity.ERROR,
    )


def _single_replica(stream: Stream, size: str) -> Finding:
    holder = f"server {stream.answered_by}" if stream.answered_by else "its one server"
    text = f"R1 in a cluster of {size}: down with {holder}, lost with its disk"
    return _finding(stream, text, 1, {"replicas": _SMALLEST_QUORUM})


def _even(wanted: int) -> str:
    lost = f"{wanted // 2 - 1 or 'no'} server{'s' if wanted > 4 else ''}"
    return (
        f"R{wanted} survives the loss of {lost}, no more than R{wanted - 1} does, and has one more server that may fail"
    )


def _finding(
    stream: Stream, message: str, measured: int, remedy: Mapping[str, int | str], severity: Severity | None = None
) -> Finding:
    threshold = remedy.get("replicas", stream.config.num_replicas)
    return failed(
        stream.subject,
        message,
        stream.observed("config.num_replicas", stream.config.num_replicas),
        severity=severity,
        measured=(measured, threshold if severity else _SMALLEST_QUORUM, "count"),
        remedy={"no_ack": stream.config.no_ack, **remedy},
    )


_REFUSES_MORE = (2, 14)
"""First release in which a single server refuses an update to several replicas; all refuse such a new stream."""


@check("stream_limits.replicas_risky_declared")
def replicas_risky_declared(
    manifests: Manifests, snapshots: SnapshotSeries | None, servers: Servers | None, connected: ConnectedServer | None
) -> Iterator[Finding]:
    """Judge declared numbers of replicas, by the servers of the deployment or of the manifests.

    More replicas than servers are refused: 10074 by a single server, 10005 by a cluster.
    """
    room, deployed = servers_for(manifests, snapshots, servers, connected), Deployed(snapshots)
    for stream in manifests.kept_streams():
        wanted, config = stream.stored.num_replicas, stream.stored
        if unsure := indeterminate(stream, "num_replicas", "storage"):
            yield unsure
        elif room.exact is not None and wanted > room.exact:
            current = deployed.stream(stream.name)
            release = release_for(current, servers, connected) if current and room.exact == 1 else ()
            effect = "the server refuses the stream"
            if () < release < _REFUSES_MORE:
                effect = "servers before 2.14 take the number, keep one copy, and lose the stream at their next start"
            yield _finding_declared(stream, f"R{wanted}, and {room.words}: {effect}", Severity.ERROR)
        elif wanted > 1 and room.least is None and room.words:
            yield unknown(
                stream.subject,
                f"R{wanted}, and {room.words}, of which it is not known whether the stream is for it",
                "name the deployment beside the manifests (-s URL or --bundle FILE), or add the workload of the server",
            )
        elif wanted % 2 == 0:
            yield _finding_declared(stream, _even(wanted), None)
        elif wanted > 1 or config.storage == "memory" or config.mirror:
            yield passed(stream.subject)
        elif room.least is None:
            yield unknown(
                stream.subject,
                "it will have one replica, and how many servers there are to hold more is not known",
                "name the deployment beside the manifests (-s URL or --bundle FILE), or add the values of the chart",
            )
        elif room.least < _SMALLEST_QUORUM:
            yield passed(stream.subject)
        else:
            text = (
                f"R1, and {room.words}: while its one server is down the stream is gone, and with its disk the messages"
            )
            yield _finding_declared(stream, text, None)


def _finding_declared(stream: DeclaredStream, text: str, severity: Severity | None) -> Finding:
    return failed(
        stream.subject,
        text,
        stream.shows("num_replicas", stream.stored.num_replicas),
        severity=severity,
        measured=(stream.stored.num_replicas, None if severity else _SMALLEST_QUORUM, "count"),
    )


class Room:
    """How many servers can hold replicas of a stream, which stays within its domain and its cluster."""

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
        """Whether the count is exact: from the meta group of the only cluster, which also counts dead servers."""
        domain = self._domain_of(stream)
        return self._meta.get(domain, 0) > 0 and self._clusters[domain] == 1

    def servers_for(self, stream: Stream) -> int | None:
        """Servers that could hold a replica; for a plain account a lower bound; None if nothing shows them."""
        cluster, domain = stream.cluster_name, self._domain_of(stream)
        if self._clusters[domain] > 1:
            return self._by_cluster[domain, cluster] or None
        if self._meta.get(domain):
            return self._meta[domain]
        if domain in self._domains:
            return 1  # a single server, such as a leaf node with a domain of its own
        known = self._connected
        advertised = known.servers_at_least if known and known.cluster == cluster else 0
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
