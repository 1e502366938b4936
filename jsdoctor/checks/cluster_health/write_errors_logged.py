"""JSD713 in logs: write errors, those that stop a copy for good and those that refuse single messages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jsdoctor.checks.logs.log_findings import detailed_finding
from jsdoctor.checks.logs.log_incidents import LogIncident, log_incidents
from jsdoctor.checks.logs.words import no_server_lines
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed
from jsdoctor.model.log import LogEvidence

_STOPPED = (
    *("stream-write-error", "consumer-write-error", "meta-write-error", "store-write-error"),
    *("stream-node-skew", "consumer-node-skew", "stream-apply-failed", "consumer-apply-failed", "meta-apply-failed"),
)
_FAILING = (
    *("stream-store-failed", "stream-not-flushed", "consumer-state-not-written"),
    *("raft-log-not-written", "raft-vote-not-stored", "raft-state-not-written", "raft-log-not-created"),
)
_CAUSES = (
    ("last msgid mismatch", "one publish with a wrong Nats-Expected-Last-Msg-Id does this on server 2.14 and newer"),
    ("no space left", "the disk is full: free space, then restart that server"),
    ("expected sequence does not match store", "most often the disk was full; restart that server once it has space"),
    ("ermission denied", "its store directory cannot be written"),
)
_SEQUENCES_DIFFER = re.compile("sequence (?:by subject )?mismatch")
_OTHERWISE = "look at the disk of that server, then restart it"


@check("cluster_health.write_errors_logged")
def write_errors_logged(logs: LogEvidence) -> Iterator[Finding]:
    """A copy that met a write error takes nothing until its server starts again (server: stream.go setWriteErr)."""
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    stopped, failing = (
        log_incidents(logs, *_STOPPED, calm=False),
        log_incidents(logs, *_FAILING, repeats=True, calm=False),
    )
    subjects = {trouble.subject for trouble in stopped}
    named = any(trouble.subject.kind in ("stream", "consumer") for trouble in stopped)
    for trouble in stopped:
        unexplained_store = trouble.subject.kind == "server" and named
        # Copies that differ are JSD207. A publish that expected another sequence, which old servers log here: JSD201.
        if not unexplained_store and not _SEQUENCES_DIFFER.search(trouble.values("reason")):
            others = len({spell.logged_by for spell in trouble.unresolved}) < len(logs.servers)
            severity = trouble.severity(Severity.ERROR if others else None)
            yield detailed_finding(trouble, f"halted on {trouble.servers} by a write error", _cause(trouble), severity)
    for trouble in failing:
        if trouble.subject not in subjects:
            yield detailed_finding(trouble, "writes failed", _cause(trouble), trouble.severity(Severity.ERROR))
    if not (stopped or failing):
        yield passed(CLUSTER)


def _cause(trouble: LogIncident) -> str:
    reasons = trouble.values("reason")
    known = next((text for mark, text in _CAUSES if mark in reasons), _OTHERWISE)
    return f"{reasons}: {known}" if reasons else known
