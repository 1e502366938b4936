"""JSD706, from manifests: a number of servers, or a disruption budget, that leaves no quorum."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.declared.doubts import BY_HAND, jetstream_unclear, unclear
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, passed, unknown
from jsdoctor.model.manifest import DeclaredServers, Manifests


@check("cluster_health.meta_group_even_declared")
def meta_group_even_declared(manifests: Manifests) -> Iterator[Finding]:
    """A quorum is half of all members and one more (server: raft.go). The chart's budget is `maxUnavailable: 1`, right
    for every size; it has no value `podDisruptionBudget.minAvailable`, whatever runbooks say.
    """
    for servers in manifests.servers:
        size = servers.get("servers")
        if unsure := jetstream_unclear(servers):
            yield unsure
        if servers.get("jetstream") is not True:
            continue
        if servers.is_chart and (unsure := unclear(servers, "servers")):
            yield unsure
            continue
        if not servers.get("clustered") or (servers.what == "container" and size is None):
            continue
        if not isinstance(size, int):
            yield unknown(servers.subject, _UNCOUNTED, _COUNT_IT)
            continue
        spare, budget = size - (size // 2 + 1), servers.get("max_unavailable")
        if size % 2 == 0:
            yield _finding(servers, "servers", _even(size), None)
        elif budget == 0 and size > 1:
            says = "the pod disruption budget is off: draining nodes may take more than the quorum can spare"
            yield _finding(servers, "max_unavailable", says, None)
        elif budget is not None and budget > spare:
            says = f"the pod disruption budget lets {budget} of {size} servers go at once, and {spare} may be missing"
            yield _finding(servers, "max_unavailable", f"{says} before JetStream stops", Severity.ERROR)
        else:
            yield passed(servers.subject)


_UNCOUNTED = "the configuration does not tell how many servers its cluster will have"
_COUNT_IT = "give the manifest of the workload that mounts it, too, or check the deployment with a system login"


def _even(size: int) -> str:
    if size == 2:
        return "a cluster of two servers needs both: when either is down, JetStream stops"
    return f"{size} servers survive the loss of {size // 2 - 1}, as {size - 1} would, and cannot decide in halves"


def _finding(servers: DeclaredServers, setting: str, says: str, severity: Severity | None) -> Finding:
    return Finding(
        subject=servers.subject,
        severity=severity,
        message=says,
        evidence=(servers.shows(setting, f"{setting}: {servers.get(setting)}"),),
        remedy=BY_HAND,
    )
