"""JSD713: a stream, or one of its replicas, that a write error has frozen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, Subject, passed, unknown
from jsdoctor.model.server import HealthError, Server, Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream

_WRITE_ERROR = "stream write error: "
_CAUSES = (
    ("last msgid mismatch", "one publish with a wrong Nats-Expected-Last-Msg-Id does this on server 2.14 and newer"),
    ("no space left", "the disk is full"),
    ("expected sequence does not match store", "an earlier write failed there, most often because the disk was full"),
)


@check("cluster_health.stream_halted")
def stream_halted(servers: Servers, snapshots: SnapshotSeries | None) -> Iterator[Finding]:
    """A replica that could not write stops; only the server's health check tells (server: stream.go setWriteErr)."""
    halted: dict[Subject, list[tuple[Server, HealthError]]] = defaultdict(list)
    for server in servers.servers:
        if server.health is None:
            yield unknown(server.subject, "its health was not read", "see the gaps of this run")
            continue
        for error in server.health.errors:
            if error.type == "STREAM" and _WRITE_ERROR in error.error:
                subject = Subject(kind="stream", name=error.stream, account=error.account)
                halted[subject].append((server, error))
    streams = {stream.subject: stream for stream in (snapshots.last.streams if snapshots else ())}
    for subject, where in halted.items():
        yield _finding(subject, where, streams.get(subject))
    yield from (passed(subject) for subject in streams if subject not in halted)


def _finding(subject: Subject, where: Sequence[tuple[Server, HealthError]], stream: Stream | None) -> Finding:
    cause = where[0][1].error.partition(_WRITE_ERROR)[2]
    known = next((text for mark, text in _CAUSES if mark in cause), "see the log of that server")
    dead = stream is not None and not stream.has_leader
    names = ", ".join(sorted(server.name for server, _ in where))
    effect = (
        "the stream has no leader: nothing can be published, and a restart does not help"
        if dead
        else "that copy takes no more messages until the server is restarted"
    )
    return Finding(
        subject=subject,
        severity=None if dead or (stream and len(where) >= stream.config.num_replicas) else Severity.ERROR,
        message=f"halted on {names} by a write error ({cause}): {effect}; {known}",
        measured=len(where),
        threshold=0,
        unit="count",
        evidence=tuple(server.observed("healthz.errors.error", error.error) for server, error in where),
    )
