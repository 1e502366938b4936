"""JSD702 in logs: streams and consumers whose group lost its majority, and lists that leaders did not answer."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import detailed_finding
from jsdoctor.checks.logs.log_incidents import LogIncident, log_incidents
from jsdoctor.checks.logs.timeline import AROUND_US
from jsdoctor.checks.logs.words import no_server_lines
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed
from jsdoctor.model.log import LogEvidence

_LOST = ("stream-quorum-lost", "consumer-quorum-lost")


@check("cluster_health.quorum_lost_logged")
def quorum_lost_logged(logs: LogEvidence) -> Iterator[Finding]:
    """Its last leader says so once, ten to twenty seconds later (server: sendStreamLostQuorumAdvisory)."""
    if not logs.has_server_logs:
        yield no_server_lines()
        return
    found = log_incidents(logs, *_LOST, calm=False)
    for trouble in found:
        effect = "nothing was delivered" if trouble.subject.kind == "consumer" else "nothing was stored or delivered"
        severity, then = trouble.severity(), f"{effect} without a majority: bring the members' servers back"
        if trouble.unresolved and _led_elsewhere(logs, trouble):
            severity, then = Severity.WARNING, "another server led it meanwhile: this one was cut off from the majority"
        elif trouble.unresolved and len(logs.servers) == 1 and _meta_again(logs, trouble):
            severity, then = Severity.WARNING, "a new leader may have said so in a log that was not read"
        yield detailed_finding(trouble, "no quorum", then, severity)
    for burst in bursts(logs, "stream-list-incomplete", "consumer-list-incomplete"):
        then = "their streams or servers had no leader or were too busy; lists and reports missed them"
        yield detailed_finding(burst, "some leaders did not answer when assets were listed", then, Severity.INFO)
    if not found:
        yield passed(CLUSTER)


def _led_elsewhere(logs: LogEvidence, trouble: LogIncident) -> bool:
    since = min(spell.began.us for spell in trouble.unresolved) - 2 * AROUND_US
    lost = {spell.logged_by for spell in trouble.unresolved}
    return any(
        group.subject == trouble.subject
        and group.last is not None
        and group.last.us >= since
        and any(leader not in lost for leader, _ in group.leaders)
        for group in logs.leaderships
    )


def _meta_again(logs: LogEvidence, trouble: LogIncident) -> bool:
    """Whether a meta leader was found later on: then servers see each other again."""
    last = max(spell.last.us for spell in trouble.unresolved)
    return any(group.kind == "meta" and group.last and group.last.us > last for group in logs.leaderships)
