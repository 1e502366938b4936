"""JSD713: a stream, or one of its replicas, that a write error has frozen.

From logs: write errors, those that stop a copy for good and those that refuse single messages.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from jsdoctor.checks.logs.log_findings import detailed_finding
from jsdoctor.checks.logs.log_incidents import LogIncident, log_incidents
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, Subject, failed, passed, unknown
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.release import release
from jsdoctor.model.server import HealthError, Server, Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream

_WRITE_ERROR = "stream write error: "
_BY_ID = "last msgid mismatch"
_EDIT_HANGS = (2, 15)
"""From this release on the edit to one replica gets no response while a stream is halted."""
_CAUSES = (
    (_BY_ID, "one publish with a wrong Nats-Expected-Last-Msg-Id does this on server 2.14 and newer"),
    ("no space left", "its volume has no space or no inodes left: free some, then restart that server"),
    (
        "expected sequence does not match store",
        "a write failed, as on a full disk; when it has space, restart that server",
    ),
    ("ermission denied", "its store directory cannot be written: allow that, then restart that server"),
)


@check("cluster_health.stream_halted")
def stream_halted(servers: Servers, snapshots: SnapshotSeries | None) -> Iterator[Finding]:
    """A replica that could not write stops; only the health check reports it (server: stream.go setWriteErr)."""
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
    dead = stream is not None and not stream.has_leader
    names = ", ".join(server.name for server, _ in where)
    effect = "the stream has no leader: nothing can be published" if dead else "that copy takes no more messages"
    if dead and _BY_ID in cause:
        effect += ", and a restart does not help"
    return failed(
        subject,
        f"halted on {names} by a write error ({cause}): {effect}; {_known_cause(cause)}"
        + _recovery(cause, where, stream),
        *(server.observed("healthz.errors.error", error.error) for server, error in where),
        severity=None if dead or (stream and len(where) >= stream.config.num_replicas) else Severity.ERROR,
        measured=(len(where), 0, "count"),
    )


def _recovery(cause: str, where: Sequence[tuple[Server, HealthError]], stream: Stream | None) -> str:
    """How to recover: an edit to one replica rebuilds the group with all data on 2.14, and hangs on 2.15 (measured)."""
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


_STOPPED = (
    *("stream-write-error", "consumer-write-error", "meta-write-error", "store-write-error"),
    *("stream-node-skew", "consumer-node-skew", "stream-apply-failed", "consumer-apply-failed", "meta-apply-failed"),
)
_FAILING = (
    *("stream-store-failed", "stream-not-flushed", "consumer-state-not-written"),
    *("raft-log-not-written", "raft-vote-not-stored", "raft-state-not-written", "raft-log-not-created"),
)
_SEQUENCES_DIFFER = re.compile("sequence (?:by subject )?mismatch")
_INDEX_DIFFERS = "raft: could not store entry to WAL"
"""The server's error if an entry got another index than expected, and nothing else is wrong: JSD708 judges it."""


@check("cluster_health.write_errors_logged", lines_of="servers")
def write_errors_logged(logs: LogEvidence) -> Iterator[Finding]:
    """A copy that met a write error takes nothing until its server starts again (server: stream.go setWriteErr)."""
    stopped, failing = (
        log_incidents(logs, *_STOPPED, calm=False),
        log_incidents(logs, *_FAILING, repeats=True, calm=False),
    )
    failing = [incident for incident in failing if incident.values("reason") != _INDEX_DIFFERS]
    subjects = {incident.subject for incident in stopped}
    named = any(incident.subject.kind in ("stream", "consumer") for incident in stopped)
    for incident in stopped:
        unexplained_store = incident.subject.kind == "server" and named
        # Copies that differ are JSD207. A publish that expected another sequence, which old servers log here: JSD201.
        if not unexplained_store and not _SEQUENCES_DIFFER.search(incident.values("reason")):
            others = len({interval.logged_by for interval in incident.unresolved}) < len(logs.servers)
            severity = incident.severity(Severity.ERROR if others else None)
            what = f"halted on {incident.servers} by a write error"
            yield detailed_finding(incident, what, _cause_text(incident), severity)
    for incident in failing:
        if incident.subject not in subjects:
            yield detailed_finding(incident, "writes failed", _cause_text(incident), incident.severity(Severity.ERROR))


def _cause_text(incident: LogIncident) -> str:
    reasons = incident.values("reason")
    return f"{reasons}: {_known_cause(reasons)}" if reasons else _known_cause("")


def _known_cause(reasons: str) -> str:
    return next(
        (text for mark, text in _CAUSES if mark in reasons), "see its log and its disk, then restart that server"
    )
