"""JSD706: a meta group whose size gives no fault tolerance, or none that is left.

From manifests: a number of servers, or a disruption budget, that leaves no quorum.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.cluster_health.raft import label, meta_groups, quorum
from jsdoctor.checks.declared.doubts import jetstream_unclear, unclear
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed, unknown
from jsdoctor.model.manifest import DeclaredServers, Manifests
from jsdoctor.model.params import Params
from jsdoctor.model.server import Servers


@check("cluster_health.meta_group_even")
def meta_group_even(servers: Servers, params: Params) -> Iterator[Finding]:
    """A quorum is half of all members ever added and not removed, and one more (server: raft.go)."""
    for group in meta_groups(servers):
        reported = group.silent(params.integer("silence"))
        silent = reported or ()
        spare = group.size - len(silent) - quorum(group.size)
        reason = _size_problem(group.size)
        if not reason and silent and spare <= 0:
            lost = "if one more server is lost, no stream or consumer can be created, changed or moved"
            reason = f"the meta group of {group.size} has no member to spare: {lost}"
        if silent and reason:
            reason += f"; no contact with: {', '.join(sorted(label(peer) for peer in silent))}"
        if reason and reported is None and len(group.last) < group.size:
            reason += f"; {len(group.last)} of them responded"
        if not reason or not group.size:
            known = reported is not None and group.size
            yield passed(group.subject) if known else unknown(group.subject, _NO_LEADER, _READ_LEADER)
            continue
        yield failed(
            group.subject,
            reason,
            *(s.observed("meta_cluster.cluster_size", s.meta.cluster_size) for s in group.last if s.meta),
            measured=(max(spare, 0), 1, "count"),
        )


_NO_LEADER = "the meta leader did not report which members it has contact with"
_READ_LEADER = "look with a login of the system account, or name the meta leader's monitoring port too"


def _size_problem(size: int) -> str:
    if size == 1:
        return "the meta group has one member: when that server is down, JetStream is down"
    if size == 2:
        return "the meta group has two members and needs both: when either server is down, nothing can be changed"
    if size % 2 == 0:
        return (
            f"the meta group has {size} members, an even number: it survives the loss of {size - quorum(size)},"
            f" as {size - 1} members would, and cannot decide when it splits in halves"
        )
    return ""


@check("cluster_health.meta_group_even_declared", also_mounted=True)
def meta_group_even_declared(manifests: Manifests) -> Iterator[Finding]:
    """A quorum is half of all members and one more (server: raft.go). The chart's budget is `maxUnavailable: 1`, right
    for every size; it has no value `podDisruptionBudget.minAvailable`, whatever runbooks say.
    """
    for servers in manifests.servers:
        if unsure := _unclear(servers):
            yield unsure
        elif servers.get("jetstream") is True:
            yield from _judge_declared(servers)


def _judge_declared(servers: DeclaredServers) -> Iterator[Finding]:
    size = servers.get("servers")
    if not servers.get("clustered") or (servers.what == "container" and size is None):
        return
    if not isinstance(size, int) or size < 1:
        yield unknown(servers.subject, _UNCOUNTED, _COUNT_IT)
        return
    spare, budget = size - (size // 2 + 1), servers.get("max_unavailable")
    if size % 2 == 0:
        yield _finding(servers, "servers", _even(size), None)
    elif budget == 0 and size > 1:
        text = "the pod disruption budget is off: draining nodes may take more than the quorum can spare"
        yield _finding(servers, "max_unavailable", text, None)
    elif budget is not None and budget > spare:
        text = f"the pod disruption budget lets {budget} of {size} servers go at once, and {spare} may be missing"
        yield _finding(servers, "max_unavailable", f"{text} before JetStream stops", Severity.ERROR)
    else:
        yield passed(servers.subject)


def _unclear(servers: DeclaredServers) -> Finding | None:
    """Why it is not known whether these servers have JetStream, how many they are, or whether they are a cluster."""
    if unsure := jetstream_unclear(servers):
        return unsure
    if servers.get("jetstream") is not True or servers.what == "container":
        return None
    if servers.is_chart:
        return unclear(servers, "servers")
    return None if "clustered" in servers.settings else unclear(servers, "clustered")


_UNCOUNTED = "the configuration does not tell how many servers its cluster will have"
_COUNT_IT = "give the manifest of the workload that mounts it, too, or check the deployment with a system login"


def _even(size: int) -> str:
    if size == 2:
        return "a cluster of two servers needs both: when either is down, JetStream stops"
    return f"{size} servers survive the loss of {size // 2 - 1}, as {size - 1} would, and cannot decide in halves"


def _finding(servers: DeclaredServers, setting: str, text: str, severity: Severity | None) -> Finding:
    shown = servers.shows(setting, f"{setting}: {servers.get(setting)}")
    return failed(servers.subject, text, shown, severity=severity)
