"""JSD701 in logs: servers that saw no meta leader, and for how long."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import detailed_finding, findings_by_subject
from jsdoctor.checks.logs.log_incidents import YOUNG_US, LogIncident, log_incidents
from jsdoctor.checks.logs.raft_words import cluster_of
from jsdoctor.checks.logs.words import no_server_lines
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed
from jsdoctor.model.log import LogEvidence

_THEN = "meanwhile no stream or consumer could be created, changed, deleted, listed or moved"
_RESCUED = "told to do with a lower quorum (unsafe): what the absent servers knew may be lost; bring them back"


@check("cluster_health.meta_leader_lost_logged")
def meta_leader_lost_logged(logs: LogEvidence) -> Iterator[Finding]:
    """An INF line tells of it, at every server that misses the leader (server: jetstream_cluster.go)."""
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    found = log_incidents(logs, "meta-no-leader", "meta-no-contact", subjects=cluster_of)
    for trouble in found:
        if not trouble.notable:
            yield passed(CLUSTER)
            continue
        cut_off = trouble.unresolved and _others_go_on(logs, trouble)
        severity = Severity.ERROR if cut_off else trouble.severity()
        where = f"{trouble.servers} lost sight of the meta leader" if cut_off else "no meta leader"
        yield detailed_finding(trouble, where, _THEN, severity)
    yield from findings_by_subject(
        log_incidents(logs, "meta-rescue-applied", subjects=cluster_of),
        "the meta group was rescued",
        _RESCUED,
        unresolved=Severity.ERROR,
    )
    for burst in bursts(logs, "meta-transfer-timeout", subjects=cluster_of):
        yield detailed_finding(
            burst, "a meta leader could not hand over", "an election of some seconds followed", Severity.INFO
        )
    if not found:
        yield passed(CLUSTER)


def _others_go_on(logs: LogEvidence, trouble: LogIncident) -> bool:
    """Whether servers that do not miss a leader logged on while these did."""
    missing = {spell.logged_by for spell in trouble.unresolved}
    since = min(spell.began.us for spell in trouble.unresolved) + YOUNG_US
    return any(server.last and server.last.us > since for server in logs.servers if server.name not in missing)
