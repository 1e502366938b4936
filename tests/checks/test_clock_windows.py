"""The shortest time that servers of a group count by their own clocks."""

from datetime import UTC, datetime

import pytest

from jsdoctor.checks.clock_skew.server_server import shortest_window
from jsdoctor.model.jetstream import Cluster, ConsumerConfig, Peer, SequencePair, StreamConfig, StreamState
from jsdoctor.model.snapshot import ClusterSnapshot, Consumer, Stream

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
SHARED = Cluster(leader="n1", replicas=(Peer(name="n2"), Peer(name="n3")))


def snapshot(
    duplicate_window: int = 0, max_age: int = 0, ack_wait: int = 0, policy: str = "explicit", cluster: Cluster = SHARED
) -> ClusterSnapshot:
    consumer = Consumer(
        account="APP",
        stream="S",
        name="c",
        config=ConsumerConfig(ack_policy=policy, ack_wait_ns=ack_wait),
        delivered=SequencePair(),
        ack_floor=SequencePair(),
        cluster=cluster,
        at=NOON,
    )
    stream = Stream(
        account="APP",
        name="S",
        config=StreamConfig(name="S", duplicate_window_ns=duplicate_window, max_age_ns=max_age),
        state=StreamState(),
        cluster=cluster,
        at=NOON,
        consumers=(consumer,),
    )
    return ClusterSnapshot(taken_at=NOON, streams=(stream,))


@pytest.mark.parametrize(("server", "shared"), [("n1", True), ("n2", True), ("n3", True), ("n4", False)])
def test_only_what_a_server_shares_with_others(server: str, *, shared: bool) -> None:
    assert (shortest_window(snapshot(max_age=5, ack_wait=3), server) is not None) is shared
    alone = snapshot(max_age=5, ack_wait=3, cluster=Cluster(leader="n1"))
    assert shortest_window(alone, server) is None
