"""JSD704 in logs: replicas that health checks found behind, and whether they ever caught up."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.log_findings import findings_by_subject
from jsdoctor.checks.logs.log_incidents import log_incidents
from jsdoctor.checks.logs.words import no_server_lines
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed
from jsdoctor.model.log import LogEvidence

_BEHIND = ("stream-replica-not-current", "consumer-replica-not-current", "meta-not-current")
_THEN = "until it is current it cannot take over; look at the disk and the log of that server"


@check("cluster_health.replica_not_current_logged")
def replica_not_current_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Only servers whose health is asked for log it, once for each probe (server: monitor.go HandleHealthz)."""
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    found = log_incidents(logs, *_BEHIND, repeats=True)
    yield from findings_by_subject(found, "a replica was not current", _THEN, repeated=Severity.WARNING)
    if not found:
        yield passed(CLUSTER)
