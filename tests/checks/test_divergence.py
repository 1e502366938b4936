"""Copies against their leader: what lasts, what is under way, and which copies are compared at all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from jsdoctor.checks.sequence_mismatch.divergence import Divergence, _lasts, of_consumer, of_stream
from jsdoctor.model.jetstream import Cluster, ConsumerConfig, Peer, SequencePair, StreamConfig, StreamState
from jsdoctor.model.snapshot import Consumer, ConsumerReplica, Stream, StreamReplica
from jsdoctor.model.trend import ConsumerHistory, StreamHistory

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


def streams(leading: list[StreamState], copies: dict[str, list[StreamState]], *peers: Peer) -> StreamHistory:
    def reading(number: int) -> Stream:
        return Stream(
            account="APP",
            name="S",
            config=StreamConfig(name="S"),
            state=leading[number],
            cluster=Cluster(leader="n1", replicas=peers),
            at=NOON + timedelta(seconds=2 * number),
            answered_by="n1",
            replicas=tuple(StreamReplica(name, states[number], NOON) for name, states in copies.items()),
        )

    return StreamHistory(tuple(reading(n) for n in range(len(leading))))


@pytest.mark.parametrize(
    ("differences", "under_way", "lasts"),
    [
        ([5, 5], 0, True),
        ([-5, -5], 0, True),
        ([5, 5], 5, False),
        ([5, 6], 4, True),
        ([9, 5, 9], 5, False),
        ([1, 1], 0, True),
        ([-1, -1], 0, True),
        ([0, 0], 0, False),
        ([5, -5], 0, False),
        ([0, 5], 0, False),
        ([5, 0, 5], -1, False),
        ([-5, 0, -5], -1, False),
        ([10, 9], 0, False),
        ([10, 10], 0, True),
        ([100, 91], 0, True),
        ([100, 90], 0, False),
        ([-100, -90], 0, False),
    ],
)
def test_what_lasts(differences: list[int], under_way: int, *, lasts: bool) -> None:
    assert _lasts(differences, under_way) is lasts


def divergences(history: ConsumerHistory) -> list[Divergence] | None:
    differences = of_consumer(history)
    return None if differences is None else list(differences)


def test_deliveries_that_differ_in_both_readings() -> None:
    history = consumers([20, 20], {"n3": [15, 15], "n2": [17, 17]}, peer("n2"), peer("n3"))
    assert divergences(history) == [
        Divergence("n2", "delivered.consumer_seq", 17, 20),
        Divergence("n3", "delivered.consumer_seq", 15, 20),
    ]


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


def state(messages: int, first: int, last: int) -> StreamState:
    return StreamState(messages=messages, first_seq=first, last_seq=last)


def test_fields_of_streams() -> None:
    lead, copy = state(10, 1, 10), state(8, 1, 8)
    differences = of_stream(streams([lead, lead], {"n2": [copy, copy]}, peer("n2")))
    assert differences is not None
    assert [(difference.server, difference.field, difference.size) for difference in differences] == [
        ("n2", "messages", 2),
        ("n2", "last_seq", 2),
    ]


def test_an_empty_stream_begins_behind_its_end() -> None:
    lead, copy = state(0, 0, 10), state(0, 11, 10)
    differences = of_stream(streams([lead, lead], {"n2": [copy, copy], "n3": [copy, copy]}, peer("n2"), peer("n3")))
    assert differences is not None
    assert list(differences) == []


def test_two_equal_copies_are_enough_and_one_is_not() -> None:
    lead = state(10, 1, 10)
    other = state(8, 1, 8)
    two = streams([lead, lead], {"n2": [other, lead], "n3": [lead, lead]}, peer("n2"), peer("n3"))
    assert list(of_stream(two) or ["none"]) == []
    assert of_stream(streams([lead, lead], {"n2": [lead, lead]}, peer("n2"))) is None
