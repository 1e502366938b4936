"""JSD701 in logs: servers that saw no meta leader, and for how long."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.raft_words import cluster_of
from jsdoctor.checks.logs.spells import YOUNG_US, Trouble, troubles
from jsdoctor.checks.logs.told import told_each, told_in_full
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
    found = troubles(logs, "meta-no-leader", "meta-no-contact", subjects=cluster_of)
    for trouble in found:
        if not trouble.notable:
            yield passed(CLUSTER)
            continue
        cut_off = trouble.unresolved and _others_go_on(logs, trouble)
        severity = Severity.ERROR if cut_off else trouble.severity()
        where = f"{trouble.servers} lost sight of the meta leader" if cut_off else "no meta leader"
        yield told_in_full(trouble, where, _THEN, severity)
    yield from told_each(
        troubles(logs, "meta-rescue-applied", subjects=cluster_of),
        "the meta group was rescued",
        _RESCUED,
        unresolved=Severity.ERROR,
    )
    for burst in bursts(logs, "meta-transfer-timeout", subjects=cluster_of):
        yield told_in_full(
            burst, "a meta leader could not hand over", "an election of some seconds followed", Severity.INFO
        )
    if not found:
        yield passed(CLUSTER)


def _others_go_on(logs: LogEvidence, trouble: Trouble) -> bool:
    """Whether servers that do not miss a leader logged on while these did."""
    missing = {spell.logged_by for spell in trouble.unresolved}
    since = min(spell.began.us for spell in trouble.unresolved) + YOUNG_US
    return any(server.last and server.last.us > since for server in logs.servers if server.name not in missing)
