"""Why a stream without a leader may be about to get one: samples too close, a scale, a start."""

from collections.abc import Iterable
from datetime import timedelta

from jsdoctor.checks.cluster_health.asset_leaderless import Beginnings
from jsdoctor.checks.cluster_health.raft import EarlierReadings
from jsdoctor.model.jetstream import Cluster, StreamConfig, StreamState
from jsdoctor.model.raft import RaftGroups, RaftMember
from jsdoctor.model.server import Server, Servers, Varz
from jsdoctor.model.snapshot import SnapshotSeries, Stream, StreamReplica
from tests.checks.snapshots import sample
from tests.checks.values import NOON

SETTLE_NS = 30_000_000_000


def stream(replicas: int = 3, group: str = "G", after_s: float = 0) -> Stream:
    return Stream(
        account="APP",
        name="S",
        config=StreamConfig(name="S", num_replicas=replicas),
        state=StreamState(),
        cluster=Cluster(raft_group=group),
        has_leader=False,
        from_leader=False,
        answered_by="n1",
        at=NOON + timedelta(seconds=after_s),
        replicas=tuple(StreamReplica(name, StreamState(), NOON) for name in ("n1", "n2")),
    )


def server(name: str, up_s: float) -> Server:
    return Server(server_id=name, name=name, at=NOON, varz=Varz(start=NOON - timedelta(seconds=up_s)))


def why(*members: RaftMember, servers: Iterable[Server] = (), first: Stream | None = None, s: float = 2) -> str | None:
    last = stream(after_s=s)
    history = EarlierReadings(SnapshotSeries((sample(first or stream()), sample(last))))
    return Beginnings(Servers(tuple(servers), complete=True), RaftGroups((members,)), SETTLE_NS).why(last, history)


def test_samples_less_than_a_heartbeat_apart() -> None:
    assert why(s=0.999) == "in samples that are 999ms apart, less than a heartbeat"
    assert why(s=1) is None


def test_a_server_that_has_just_started() -> None:
    assert why(servers=[server("n1", 3600), server("n2", 29)]) == "and a server of it started 29s ago"
    assert why(servers=[server("n1", 3600), server("n2", 30)]) is None
    assert why(servers=[server("n1", 3600), server("n9", 1)]) is None
