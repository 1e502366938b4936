"""JSD707 in logs: members of Raft groups that could not apply what they had, and leaders that gave up for it."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import detailed_finding, findings_by_subject
from jsdoctor.checks.logs.log_incidents import log_incidents
from jsdoctor.checks.logs.raft_words import member_of
from jsdoctor.checks.logs.words import no_server_lines
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params

_THEN = "its disk or processor does not keep up with what the group takes in (iostat -x, JSD811)"
_PAUSED = "meanwhile it confirmed nothing and did not count for the quorum"


@check("cluster_health.backlog_logged")
def backlog_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """Groups are named by id only; the server is what can be looked at (server: raft.go isCurrent, ProposeMulti)."""
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    paused = log_incidents(logs, "raft-quorum-paused", subjects=member_of)
    behind = log_incidents(logs, "raft-falling-behind", subjects=member_of)
    yield from findings_by_subject(paused, "members of Raft groups paused their part in the quorum", _PAUSED)
    yield from findings_by_subject(behind, "members of Raft groups fell behind", _THEN)
    overrun = bursts(logs, "raft-leader-overrun", subjects=member_of)
    for burst in overrun:
        yield detailed_finding(burst, "leaders stepped down because they could not apply fast enough", _THEN)
    pending = bursts(logs, "raft-entries-pending", subjects=member_of)
    for burst in pending:
        most = burst.largest("pending") or 0
        severity = Severity.WARNING if most >= params.integer("max_backlog") * 10 else Severity.INFO
        yield detailed_finding(burst, f"up to {most:,} append entries were pending", _THEN, severity)
    if not (paused or behind or overrun or pending):
        yield passed(CLUSTER)
