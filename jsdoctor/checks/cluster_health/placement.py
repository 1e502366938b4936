"""JSD716: streams and consumers for which no suitable servers were found, and why."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import detailed_finding
from jsdoctor.checks.logs.raft_words import cluster_of
from jsdoctor.checks.logs.words import listed
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed, unknown
from jsdoctor.model.log import LogEvidence

_PASSED_OVER = ("placement-no-storage", "placement-ha-limit", "ha-assets-full")
_FAILED = {
    "placement-retried": "no place was found and another was tried",
    "stream-assignment-rejected": "the server that it was placed on refused it",
    "consumer-assignment-rejected": "the server that it was placed on refused it",
    "consumer-assignment-dropped": "the server that it was placed on refused it",
    "peer-not-replaced": "no server could take the place of a removed peer: it runs with fewer replicas",
    "peer-removal-refused": "a peer was not removed because no server could take its place",
}
_THEN = "add storage or servers, raise max_ha_assets, or request less (max_bytes, replicas, tags)"


@check("cluster_health.placement_logged")
def placement_logged(logs: LogEvidence) -> Iterator[Finding]:
    """The meta leader logs whom it passed over; the client gets error 10005 (server: selectPeerGroup)."""
    if not (logs.has_server_logs or logs.has_client_logs):
        yield unknown(CLUSTER, "no line of a server or client was read", "name the servers' logs")
        return
    refused = bursts(logs, "placement-refused-to-client", subjects=cluster_of, calm=False)
    for burst in refused:
        yield detailed_finding(burst, f"clients were refused ({burst.values('reason')})", _THEN)
    failed = False
    for signature, what in _FAILED.items():
        for burst in bursts(logs, signature, calm=False):
            failed = True
            reason = burst.values("reason")
            yield detailed_finding(burst, f"{what} ({reason})" if reason else what, _THEN)
    over = bursts(logs, *_PASSED_OVER, subjects=cluster_of, calm=False)
    for burst in over:
        yield detailed_finding(burst, _passed_over(burst), _THEN, None if _several(burst) or refused else Severity.INFO)
    if not (refused or failed or over):
        yield passed(CLUSTER)


def _several(burst: Burst) -> bool:
    """One server without room is passed over and others are taken; several leave no choice in a small cluster."""
    return len({item.value("server") for item in burst.found}) > 1


def _passed_over(burst: Burst) -> str:
    why = {
        "placement-no-storage": "not enough storage left unreserved",
        "placement-ha-limit": "too many replicated assets",
        "ha-assets-full": "too many replicated assets",
    }
    reasons = listed(why[occurrence.signature] for occurrence in burst.found)
    servers = listed(occurrence.value("server") or occurrence.logged_by for occurrence in burst.found)
    return f"passed over when streams or consumers were placed: {servers} ({reasons})"
