"""JSD605, from manifests: a number of replicas that will not protect, or that the servers cannot hold."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.deployed import Deployed, release_for
from jsdoctor.checks.declared.doubts import BY_HAND, indeterminate
from jsdoctor.checks.declared.room import servers_for
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, passed, unknown
from jsdoctor.model.manifest import DeclaredStream, Manifests
from jsdoctor.model.server import ConnectedServer, Servers
from jsdoctor.model.snapshot import SnapshotSeries

_SMALLEST_QUORUM = 3
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
        if unsure := indeterminate(stream, "num_replicas"):
            yield unsure
        elif room.exact is not None and wanted > room.exact:
            current = deployed.stream(stream.name)
            release = release_for(current, servers, connected) if current and room.exact == 1 else ()
            yield _too_many(stream, room.words, keeps_one=() < release < _REFUSES_MORE)
        elif wanted % 2 == 0:
            yield _even(stream)
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
            says = (
                f"R1, and {room.words}: while its one server is down the stream is gone, and with its disk the messages"
            )
            yield _finding(stream, says, None)


def _too_many(stream: DeclaredStream, servers: str, *, keeps_one: bool) -> Finding:
    number = f"R{stream.stored.num_replicas}, and {servers}"
    if keeps_one:
        says = f"{number}: servers before 2.14 take the number, keep one copy, and lose the stream at their next start"
        return _finding(stream, says, Severity.ERROR)
    return _finding(stream, f"{number}: the server refuses the stream", Severity.ERROR)


def _even(stream: DeclaredStream) -> Finding:
    wanted = stream.stored.num_replicas
    lost = f"{wanted // 2 - 1 or 'no'} server{'s' if wanted > 4 else ''}"
    says = (
        f"R{wanted} survives the loss of {lost}, no more than R{wanted - 1} does, and has one more server that may fail"
    )
    return _finding(stream, says, None)


def _finding(stream: DeclaredStream, says: str, severity: Severity | None) -> Finding:
    return Finding(
        subject=stream.subject,
        severity=severity,
        message=says,
        measured=stream.stored.num_replicas,
        threshold=None if severity else _SMALLEST_QUORUM,
        unit="count",
        evidence=(stream.shows("num_replicas", stream.stored.num_replicas),),
        remedy=BY_HAND,
    )
