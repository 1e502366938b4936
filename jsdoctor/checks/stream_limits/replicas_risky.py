"""JSD605: a number of replicas that does not protect: one, an even number, or more than there are servers.

From manifests: a number of replicas that will not protect, or that the servers cannot hold.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.deployed import Deployed, release_for
from jsdoctor.checks.declared.doubts import BY_HAND, indeterminate
from jsdoctor.checks.declared.room import servers_for
from jsdoctor.checks.registry import check
from jsdoctor.checks.stream_limits.placement import Room, is_clustered
from jsdoctor.model.finding import Finding, Severity, passed, unknown
from jsdoctor.model.manifest import DeclaredStream, Manifests
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream

_SMALLEST_QUORUM = 3


@check("stream_limits.replicas_risky")
def replicas_risky(
    snapshots: SnapshotSeries, servers: Servers | None, connected: ConnectedServer | None
) -> Iterator[Finding]:
    """A stream works while more than half of its replicas do (server: raft.go quorumNeeded).

    Memory streams with one replica are caches, and mirrors have their origin: there, one replica is a choice.
    """
    room = Room(snapshots.last, servers, connected)
    for stream in snapshots.last.streams:
        if not is_clustered(stream):
            if stream.config.num_replicas > 1:
                yield _lost_at_start(stream)
            continue
        wanted, size = max(1, stream.config.num_replicas), room.servers_for(stream)  # 0 is one (server: stream.go)
        if size is not None and room.is_exact(stream) and wanted > size:
            yield _too_few(stream, size)
        elif wanted % 2 == 0:
            yield _even(stream, size)
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
            yield _single(stream, size)


@check("stream_limits.consumer_replicas_risky")
def consumer_replicas_risky(snapshots: SnapshotSeries) -> Iterator[Finding]:
    """A durable with one replica stops with its server, though its stream goes on. In memory that is a choice."""
    for stream, consumer in snapshots.last.led_consumers():
        config = consumer.config
        if not config.durable_name or stream.config.num_replicas < _SMALLEST_QUORUM:
            continue
        if config.num_replicas != 1 or config.mem_storage:
            yield passed(consumer.subject)
            continue
        yield Finding(
            subject=consumer.subject,
            severity=Severity.INFO,
            message=f"R1 on a stream with R{stream.config.num_replicas}: while the one server that holds it is down"
            " nothing is delivered, and if that server's disk is lost, so is the place of this consumer in the stream",
            measured=1,
            threshold=stream.config.num_replicas,
            unit="count",
            evidence=(consumer.observed("config.num_replicas", config.num_replicas),),
            remedy={"action": "consumer.inspect"},
        )


def _lost_at_start(stream: Stream) -> Finding:
    """Servers before 2.14 take such an update (stream.go), and no server recovers the stream (10074)."""
    return _finding(
        stream,
        f"R{stream.config.num_replicas} on a single server, which is no cluster: at its next start the server does not "
        "recover the stream, and its health check fails from then on; set one replica before it is restarted",
        stream.config.num_replicas,
        {"replicas": 1},
        Severity.ERROR,
    )


def _too_few(stream: Stream, there: int) -> Finding:
    return _finding(
        stream,
        f"R{stream.config.num_replicas} is configured and only {there} servers are there to hold it: "
        "the next server that fails may take the stream with it",
        there,
        {"action": "stream.look_at_replicas"},
        Severity.ERROR,
    )


def _even(stream: Stream, size: int | None) -> Finding:
    wanted = stream.config.num_replicas
    survives = wanted // 2 - 1
    more = wanted + 1 if size is None or wanted < size else wanted - 1
    return _finding(
        stream,
        f"R{wanted} survives the loss of {survives or 'no'} server{'s' if survives > 1 else ''}, no more than "
        f"R{wanted - 1} does, and has one more server that may fail",
        wanted,
        {"replicas": more} if more >= _SMALLEST_QUORUM else {"action": "stream.look_at_replicas"},
    )


def _single(stream: Stream, size: int) -> Finding:
    holder = f"server {stream.answered_by}" if stream.answered_by else "its one server"
    return _finding(
        stream,
        f"R1 in a cluster of {size} or more servers: while {holder} is down the stream is gone, "
        "and if its disk is lost so are the messages",
        1,
        {"replicas": _SMALLEST_QUORUM},
    )


def _finding(
    stream: Stream, message: str, measured: int, remedy: dict[str, int | str], severity: Severity | None = None
) -> Finding:
    return Finding(
        subject=stream.subject,
        severity=severity,
        message=message,
        measured=measured,
        threshold=remedy.get("replicas", stream.config.num_replicas) if severity else _SMALLEST_QUORUM,
        unit="count",
        evidence=(stream.observed("config.num_replicas", stream.config.num_replicas),),
        remedy={"no_ack": stream.config.no_ack, **remedy},
    )


_REFUSES_MORE = (2, 14)
"""First release of which a single server refuses more than one replica in a change, as all do for a new stream."""


@check("stream_limits.replicas_risky_declared")
def replicas_risky_declared(
    manifests: Manifests,
    snapshots: SnapshotSeries | None,
    servers: Servers | None,
    connected: ConnectedServer | None,
) -> Iterator[Finding]:
    """A stream works while more than half of its replicas do (server: raft.go quorumNeeded).

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
            yield _too_many(stream, room.words, keeps_one=() < release < _REFUSES_MORE)
        elif wanted > 1 and room.least is None and room.words:
            yield unknown(
                stream.subject,
                f"R{wanted}, and {room.words}, of which it is not known whether the stream is for it",
                "name the deployment beside the manifests (-s URL or --bundle FILE), or add the workload of the server",
            )
        elif wanted % 2 == 0:
            yield _even_declared(stream)
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


def _too_many(stream: DeclaredStream, servers: str, *, keeps_one: bool) -> Finding:
    number = f"R{stream.stored.num_replicas}, and {servers}"
    if keeps_one:
        text = f"{number}: servers before 2.14 take the number, keep one copy, and lose the stream at their next start"
        return _finding_declared(stream, text, Severity.ERROR)
    return _finding_declared(stream, f"{number}: the server refuses the stream", Severity.ERROR)


def _even_declared(stream: DeclaredStream) -> Finding:
    wanted = stream.stored.num_replicas
    lost = f"{wanted // 2 - 1 or 'no'} server{'s' if wanted > 4 else ''}"
    text = (
        f"R{wanted} survives the loss of {lost}, no more than R{wanted - 1} does, and has one more server that may fail"
    )
    return _finding_declared(stream, text, None)


def _finding_declared(stream: DeclaredStream, text: str, severity: Severity | None) -> Finding:
    return Finding(
        subject=stream.subject,
        severity=severity,
        message=text,
        measured=stream.stored.num_replicas,
        threshold=None if severity else _SMALLEST_QUORUM,
        unit="count",
        evidence=(stream.shows("num_replicas", stream.stored.num_replicas),),
        remedy=BY_HAND,
    )
