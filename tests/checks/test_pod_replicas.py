"""JSD835: replicas that share a node, as far as the nodes of their pods are known."""

from jsdoctor.checks.server_health.pod_replicas import replicas_on_one_node
from jsdoctor.model.finding import Finding, Outcome, Subject
from jsdoctor.model.jetstream import Cluster, Peer, StreamConfig, StreamState
from jsdoctor.model.kubernetes import KubernetesFacts, ServerContainer, ServerPod
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries, Stream
from tests.checks.values import NOON


def on(*members: str, name: str = "ORDERS") -> Stream:
    """A stream on these servers, led by the first."""
    cluster = Cluster(leader=members[0], replicas=tuple(Peer(name=member) for member in members[1:]))
    return Stream(account="APP", name=name, config=StreamConfig(), state=StreamState(), cluster=cluster, at=NOON)


def judged(streams: list[Stream], owners: dict[str, str] | None = None, **nodes: str) -> list[Finding]:
    pods = tuple(
        ServerPod(name=name, node=node, owner=(owners or {}).get(name, "nats"), container=ServerContainer(name="nats"))
        for name, node in nodes.items()
    )
    facts = KubernetesFacts(namespace="prod", at=NOON, pods=pods)
    return list(replicas_on_one_node(facts, SnapshotSeries((ClusterSnapshot(taken_at=NOON, streams=tuple(streams)),))))


def test_servers_that_are_not_named_after_their_pods() -> None:
    streams = [on("x1", "x2", "x3"), on("y1", "y2", "y3", name="OTHER")]
    (finding,) = judged(streams, n1="a", n2="b", n3="c")
    assert finding.outcome is Outcome.NOT_EVALUATED
    assert finding.subject == Subject(kind="cluster", name="namespace prod")
    assert finding.message == "no server that holds a replica has the name of a pod"
    assert finding.how_to_get == "give each server the name of its pod, as the Helm chart does: server_name: $POD_NAME"
