"""JSD713: a stream, or one of its replicas, that a write error has frozen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, Subject, passed, unknown
from jsdoctor.model.release import release
from jsdoctor.model.server import HealthError, Server, Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream

_WRITE_ERROR = "stream write error: "
_BY_ID = "last msgid mismatch"
_EDIT_HANGS = (2, 15)
_CAUSES = (
    (_BY_ID, "one publish with a wrong Nats-Expected-Last-Msg-Id does this on server 2.14 and newer"),
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
        message=f"halted on {names} by a write error ({cause}): {effect}; {known}{_recovery(cause, where, stream)}",
        measured=len(where),
        threshold=0,
        unit="count",
        evidence=tuple(server.observed("healthz.errors.error", error.error) for server, error in where),
    )


def _recovery(cause: str, where: Sequence[tuple[Server, HealthError]], stream: Stream | None) -> str:
    """What was measured: on 2.14 the edit rebuilds the group with all data, on 2.15 it is never answered."""
    if _BY_ID not in cause:
        return ""
    newest = max(release(server.version) for server, _ in where)
    replicas = stream.config.num_replicas if stream else 3
    if newest >= _EDIT_HANGS:
        return (
            ". First stop that publisher. Do not set the stream to one replica, as helps on 2.14: that edit hangs on "
            f"{where[0][0].version}. What works with all data kept: stop all its servers, remove the directory of its "
            "Raft group on each, start them; see the page before"
        )
    return f". First stop that publisher, then set the stream to one replica and back to {replicas}: its data is kept"
