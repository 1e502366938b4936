"""The shortest time that servers of a group count by their own clocks."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from jsdoctor.checks.clock_skew.windows import CountedWindow, shortest_window
from jsdoctor.checks.clock_skew.words import _step, listed
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


def described(window: CountedWindow | None) -> tuple[str, int, str] | None:
    return (window.setting, window.length_ns, window.subject.label) if window else None


@pytest.mark.parametrize(
    ("settings", "window"),
    [
        ({}, None),
        ({"duplicate_window": 1}, ("duplicate_window", 1, "APP > S")),
        ({"duplicate_window": 9, "max_age": 5}, ("max_age", 5, "APP > S")),
        ({"duplicate_window": 9, "max_age": 5, "ack_wait": 1}, ("ack_wait", 1, "APP > S > c")),
        ({"ack_wait": 3, "policy": "all"}, ("ack_wait", 3, "APP > S > c")),
        ({"ack_wait": 3, "policy": "none"}, None),
        ({"max_age": 5, "ack_wait": 3, "policy": "none"}, ("max_age", 5, "APP > S")),
    ],
)
def test_the_shortest_counts(settings: dict[str, object], window: tuple[str, int, str] | None) -> None:
    assert described(shortest_window(snapshot(**settings), "n1")) == window  # type: ignore[arg-type]


@pytest.mark.parametrize(("server", "shared"), [("n1", True), ("n2", True), ("n3", True), ("n4", False)])
def test_only_what_a_server_shares_with_others(server: str, *, shared: bool) -> None:
    assert (shortest_window(snapshot(max_age=5, ack_wait=3), server) is not None) is shared
    alone = snapshot(max_age=5, ack_wait=3, cluster=Cluster(leader="n1"))
    assert shortest_window(alone, server) is None


@pytest.mark.parametrize(
    ("length_ns", "step_ns"),
    [
        (1, 1),
        (999, 1),
        (1_000, 1_000),
        (999_999, 1_000),
        (1_000_000, 10_000),
        (999_999_999, 10_000),
        (1_000_000_000, 1_000_000),
        (59_999_999_999, 1_000_000),
        (60_000_000_000, 1_000_000_000),
    ],
)
def test_lengths_are_rounded_by_their_size(length_ns: int, step_ns: int) -> None:
    assert _step(length_ns) == step_ns


def test_three_names_are_shown_and_the_others_counted() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed(["a", "b", "c"]) == "a, b, c"
    assert listed(["a", "b", "c", "d"]) == "a, b, c and 1 more"
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
