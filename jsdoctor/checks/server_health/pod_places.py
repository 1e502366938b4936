"""JSD832 and JSD833: how many servers of a cluster one node, or one eviction, takes away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from operator import itemgetter

from jsdoctor.checks.cluster_health.raft import quorum
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, Subject, failed, passed, unknown
from jsdoctor.model.kubernetes import DisruptionBudget, KubernetesFacts, ServerPod
from jsdoctor.model.snapshot import SnapshotSeries

_SMALLEST = 3


@check("server_health.pods_on_one_node")
def pods_on_one_node(kubernetes: KubernetesFacts) -> Iterator[Finding]:
    """A node whose loss takes the majority of a cluster. Where Kubernetes has no other node, it is information."""
    for owner, pods in kubernetes.groups().items():
        placed = Counter(pod.node for pod in pods if pod.node)
        if len(pods) < _SMALLEST or not placed:
            continue
        node, count = max(placed.items(), key=itemgetter(1))
        subject, tolerated = _subject(owner), len(pods) - quorum(len(pods))
        if count <= tolerated:
            yield passed(subject)
            continue
        names = ", ".join(pod.name for pod in pods if pod.node == node)
        message = (
            f"{count} of its {len(pods)} servers are on node {node} ({names}): without it the others have no majority"
        )
        others = None if kubernetes.nodes is None else kubernetes.nodes - 1
        if others == 0:
            message += "; the cluster of Kubernetes has no other node"
        elif others is None and len(placed) == 1:
            message += "; whether there is another node is not known, as the login may not list nodes"
        yield failed(
            subject,
            message,
            kubernetes.observed("pods.node", node),
            severity=None if others or len(placed) > 1 else Severity.INFO,
            measured=(count, tolerated, "count"),
            remedy={**kubernetes.remedy},
        )


@check("server_health.disruption_budget")
def disruption_budget(kubernetes: KubernetesFacts, snapshots: SnapshotSeries | None) -> Iterator[Finding]:
    """A drain evicts as many pods at once as the budgets allow; each stream bears the loss of a minority of its own."""
    # The fewest replicas of a stream that has several; None where no such stream was seen.
    streams = snapshots.last.led_streams() if snapshots else ()
    smallest = min((s.config.num_replicas for s in streams if s.config.num_replicas >= _SMALLEST), default=None)
    for owner, pods in kubernetes.groups().items():
        if len(pods) < _SMALLEST:
            continue
        if kubernetes.budgets is None:
            yield unknown(
                _subject(owner), "the login may not list disruption budgets", "allow `list` on poddisruptionbudgets"
            )
            continue
        yield _budget_of(kubernetes, owner, pods, smallest, seen=snapshots is not None)


def _budget_of(
    facts: KubernetesFacts, owner: str, pods: tuple[ServerPod, ...], smallest: int | None, *, seen: bool
) -> Finding:
    names = {pod.name for pod in pods}
    own = [budget for budget in facts.budgets or () if names & set(budget.pods)]
    borne = len(pods) - (len(pods) // 2 + 1)
    if not own:
        return failed(
            _subject(owner),
            f"no PodDisruptionBudget covers its {len(pods)} servers: draining nodes may evict all at once",
            facts.observed("budgets", 0),
            severity=Severity.INFO,
            measured=(len(pods), borne, "count"),
            remedy={**facts.remedy},
        )
    limits = [(budget, allowed) for budget in own if (allowed := budget.allowed_at_once()) is not None]
    if not limits:
        return unknown(_subject(owner), f"the limits of {own[0].name} are no numbers", "kubectl get pdb -o yaml")
    budget, allowed = min(limits, key=lambda limit: limit[1])
    bound, at_once = borne, f"{allowed} of its {len(pods)} servers be evicted at once"
    if allowed == 0:
        text = f"none of its {len(pods)} servers be evicted: drains of nodes wait until the pods are deleted"
        bound = 1
    elif smallest is not None and (smallest - 1) // 2 < allowed <= borne:
        bound = (smallest - 1) // 2
        text = f"{at_once}: streams with {smallest} replicas bear the loss of {bound}"
    elif 1 < allowed <= borne and not seen:
        reason = f"PodDisruptionBudget {budget.name} lets {allowed} be evicted at once, and no stream was seen"
        return unknown(_subject(owner), reason, "allow `get` on pods/proxy, or give a NATS login")
    elif allowed <= borne:
        return passed(_subject(owner))
    else:
        text = f"{at_once}: {borne} is the most that leaves a majority"
    return failed(
        _subject(owner),
        f"PodDisruptionBudget {budget.name} ({_limit(budget)}) lets {text}",
        facts.observed("budgets", _limit(budget)),
        severity=None if allowed else Severity.INFO,
        measured=(allowed, bound, "count"),
        remedy={**facts.remedy} if allowed > borne else {"namespace": facts.namespace},
    )


def _limit(budget: DisruptionBudget) -> str:
    if budget.max_unavailable:
        return f"maxUnavailable {budget.max_unavailable}"
    return f"minAvailable {budget.min_available}"


def _subject(owner: str) -> Subject:
    return Subject(kind="cluster", name=owner)
