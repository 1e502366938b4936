"""JSD708: copies of streams that could not be brought up to date, and snapshots that fail or take long."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import detailed_finding, findings_by_subject
from jsdoctor.checks.logs.log_incidents import log_incidents
from jsdoctor.checks.logs.words import no_server_lines
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params

_CATCHUP = ("stalled", "retried", "failed", "bad-message", "aborted")
_RAFT = (
    *("raft-snapshot-not-sent", "raft-catchup-without-start", "raft-catchup-entry-missing"),
    *("raft-catchup-refused", "raft-entry-refused"),
)
_SERVER_STOPS = ("store is closed", "node is closed", "raft: node is closed", "no snapshot available")
_EFFECT = "that copy protects nothing until it is current; look at its server's disk and at the routes"
_GROWS = "its Raft log is not shortened: it grows on disk and makes the next start slow"


@check("cluster_health.catchup_logged")
def catchup_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """Judge failed catch-ups and snapshots. Snapshots that fail as the server stops do not count (server: raft.go)."""
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    findings = [*_not_caught_up(logs), *_failed_snapshots(logs, params), *_raft_members(logs, params)]
    yield from findings or [passed(CLUSTER)]


def _not_caught_up(logs: LogEvidence) -> Iterator[Finding]:
    incidents = log_incidents(logs, *(f"catchup-{name}" for name in _CATCHUP))
    yield from findings_by_subject(incidents, "a copy of the stream could not catch up", _EFFECT)
    for burst in bursts(logs, "catchup-not-subscribed"):
        yield detailed_finding(burst, "a catch-up could not be served", "the leader did not send what others lack")


def _failed_snapshots(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    for burst in bursts(logs, "stream-snapshot-failed", "consumer-snapshot-failed", "meta-snapshot-failed"):
        if not all(occurrence.value("reason").startswith(_SERVER_STOPS) for occurrence in burst.found):
            severity = None if burst.count >= params.integer("repeated") else Severity.INFO
            yield detailed_finding(burst, f"snapshots failed{burst.in_brackets('reason')}", _GROWS, severity)


def _raft_members(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    for burst in bursts(logs, *_RAFT):
        severity = None if burst.most >= params.integer("repeated") else Severity.INFO
        yield detailed_finding(burst, "members of Raft groups could not be brought up to date", _EFFECT, severity)
