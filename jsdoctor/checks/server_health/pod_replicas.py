"""JSD835: streams with most of their replicas on one node, where other servers could hold them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Subject, failed, passed, unknown
from jsdoctor.model.kubernetes import KubernetesFacts
from jsdoctor.model.snapshot import SnapshotSeries, Stream

_NODES_JUDGED = 2
"""Fewest nodes of pods that are judged; JSD832 reports pods on a single node."""
_HOW_TO_NAME = "give each server the name of its pod, as the Helm chart does: server_name: $POD_NAME"


@check("server_health.replicas_on_one_node")
def replicas_on_one_node(kubernetes: KubernetesFacts, snapshots: SnapshotSeries) -> Iterator[Finding]:
    """Judge streams that other servers could hold. JSD832 judges those on all servers of their StatefulSet."""
    nodes = {pod.name: pod.node for pod in kubernetes.pods if not pod.deleting}
    if len(set(nodes.values())) < _NODES_JUDGED:
        return
    groups = [{pod.name for pod in pods} for pods in kubernetes.groups().values()]
    placed = [(stream, members) for stream in snapshots.last.led_streams() if len(members := _members(stream)) > 1]
    if placed and not any(nodes.keys() & members for _, members in placed):
        subject = Subject(kind="cluster", name=f"namespace {kubernetes.namespace}")
        yield unknown(subject, "no server that holds a replica has the name of a pod", _HOW_TO_NAME)
        return
    for stream, members in placed:
        if not nodes.keys() & members or any(members >= group for group in groups):
            continue
        yield _judged(kubernetes, stream, members, nodes)


def _judged(facts: KubernetesFacts, stream: Stream, members: set[str], nodes: dict[str, str]) -> Finding:
    by_node: dict[str, list[str]] = defaultdict(list)
    for name in sorted(members):
        by_node[nodes.get(name, "")].append(name)
    missing = by_node.pop("", [])
    spare = len(members) - (len(members) // 2 + 1)
    node, together = max(by_node.items(), key=lambda placed: len(placed[1]), default=(None, []))
    count = len(together)
    if count > spare and count > 1:
        names = ", ".join(together)
        return failed(
            stream.subject,
            f"{count} of its {len(members)} replicas are on node {node} ({names}): without that node it has no quorum",
            facts.observed("pods.node", node),
            stream.observed("cluster.replicas", ", ".join(sorted(members))),
            measured=(count, max(1, spare), "count"),
            remedy={"namespace": facts.namespace},
        )
    if count + len(missing) > max(1, spare):
        reason = f"the nodes of {', '.join(missing)} are not known: no pod of that name has a node"
        return unknown(stream.subject, reason, _HOW_TO_NAME)
    return passed(stream.subject)


def _members(stream: Stream) -> set[str]:
    return set(stream.cluster.members) if stream.cluster and stream.cluster.leader else set()
