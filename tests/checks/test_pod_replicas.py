"""JSD835: replicas that share a node, as far as the nodes of their pods are known."""

from __future__ import annotations

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


def test_two_of_three_replicas_on_one_of_two_nodes() -> None:
    (finding,) = judged([on("n1", "n2", "n3")], n1="a", n2="b", n3="a", n4="b")
    assert finding.message == ("2 of its 3 replicas are on node a (n1, n3): without that node it has no quorum")
    assert finding.measured == 2
    assert [observation.value for observation in finding.evidence] == ["a", "n1, n2, n3"]


def test_with_all_pods_on_one_node_there_is_no_choice() -> None:
    assert judged([on("n1", "n2", "n3")], n1="a", n2="a", n3="a", n4="a") == []


def test_a_stream_on_all_servers_of_its_set_has_no_choice_and_others_are_judged() -> None:
    owners = {"n1": "west", "n2": "west", "n3": "west"}
    streams = [on("n1", "n2", "n3"), on("x1", "x2", "x3", name="ELSEWHERE"), on("e1", "e2", "e3", name="EAST")]
    nodes = {"n1": "a", "n2": "a", "n3": "b", "e1": "a", "e2": "a", "e3": "b", "e4": "b"}
    (finding,) = judged(streams, owners, **nodes)
    assert finding.subject.name == "EAST"


def test_servers_that_are_not_named_after_their_pods() -> None:
    streams = [on("x1", "x2", "x3"), on("y1", "y2", "y3", name="OTHER")]
    (finding,) = judged(streams, n1="a", n2="b", n3="c")
    assert finding.outcome is Outcome.NOT_EVALUATED
    assert finding.subject == Subject(kind="cluster", name="namespace prod")
    assert finding.message == "no server that holds a replica has the name of a pod"
    assert finding.how_to_get == "give each server the name of its pod, as the Helm chart does: server_name: $POD_NAME"


def test_replicas_whose_nodes_are_not_known() -> None:
    (finding,) = judged([on("n1", "n2", "x3")], n1="", n2="a", n3="b")
    assert finding.message == "the nodes of n1, x3 are not known: no pod of that name has a node"
    assert finding.outcome is Outcome.NOT_EVALUATED
    (none,) = judged([on("n1", "x2", "x3")], n1="", n2="a", n3="b")
    assert none.message == "the nodes of n1, x2, x3 are not known: no pod of that name has a node"
    (enough,) = judged([on("n1", "n2", "n3", "n4", "x5")], n1="a", n2="b", n3="c", n4="d", n6="e")
    assert enough.outcome is Outcome.PASS
