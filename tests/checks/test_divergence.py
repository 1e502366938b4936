"""Copies against their leader: what lasts, what is under way, and which copies are compared at all."""

from datetime import UTC, datetime, timedelta

from jsdoctor.checks.sequence_mismatch.replica_divergence import Divergence, consumer_divergences
from jsdoctor.model.jetstream import Cluster, ConsumerConfig, Peer, SequencePair
from jsdoctor.model.snapshot import Consumer, ConsumerReplica
from jsdoctor.model.trend import ConsumerHistory

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def peer(name: str, lag: int = 0, *, current: bool = True, offline: bool = False) -> Peer:
    return Peer(name=name, current=current, offline=offline, lag=lag)


def consumers(leading: list[int], copies: dict[str, list[int]], *peers: Peer) -> ConsumerHistory:
    def reading(number: int) -> Consumer:
        return Consumer(
            account="APP",
            stream="S",
            name="c",
            config=ConsumerConfig(),
            delivered=SequencePair(consumer_seq=leading[number]),
            ack_floor=SequencePair(),
            cluster=Cluster(leader="n1", replicas=peers),
            at=NOON + timedelta(seconds=2 * number),
            answered_by="n1",
            replicas=tuple(
                ConsumerReplica(name, SequencePair(consumer_seq=counts[number]), SequencePair())
                for name, counts in copies.items()
                if counts[number] >= 0
            ),
        )

    return ConsumerHistory(tuple(reading(n) for n in range(len(leading))), ())


def divergences(history: ConsumerHistory) -> list[Divergence] | None:
    differences = consumer_divergences(history)
    return None if differences is None else list(differences)


def test_what_is_under_way_is_no_difference() -> None:
    assert divergences(consumers([20, 23], {"n2": [17, 20]}, peer("n2"))) == []
    assert divergences(consumers([20, 21], {"n2": [17, 17]}, peer("n2"))) == [
        Divergence("n2", "delivered.consumer_seq", 17, 21)
    ]
    assert divergences(consumers([20, 20], {"n2": [17, 17]}, peer("n2", lag=3))) == []
    assert divergences(consumers([20, 20], {"n2": [17, 17]}, peer("n2", lag=2))) == [
        Divergence("n2", "delivered.consumer_seq", 17, 20)
    ]
    assert divergences(consumers([20, 20, 21], {"n2": [17, 17, 19]}, peer("n2"))) == []


def test_copies_that_the_leader_does_not_follow_are_left_to_other_rules() -> None:
    low = {"n2": [17, 17], "n3": [17, 17], "n4": [17, 17]}
    history = consumers([20, 20], low, peer("n2", offline=True), peer("n3", current=False), peer("n4"))
    assert [divergence.server for divergence in divergences(history) or ()] == ["n4"]
    assert divergences(consumers([20, 20], {"n2": [17, 17]}, peer("n3"))) == []


def test_equal_copies_need_no_second_sample_and_missing_ones_are_not_judged() -> None:
    assert divergences(consumers([20, 20], {"n2": [7, 20]}, peer("n2"))) == []
    assert divergences(consumers([20, 20], {"n2": [-1, 17]}, peer("n2"))) is None
    assert divergences(consumers([20, 20], {})) is None
    assert divergences(consumers([20, 20], {"n2": [20, 20], "n3": [17, 17]}, peer("n2"), peer("n3"))) == [
        Divergence("n3", "delivered.consumer_seq", 17, 20)
    ]
