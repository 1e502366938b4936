"""Several servers that each say that they lead a stream: which of them are two leaders, and which may be none yet."""

from datetime import datetime, timedelta

import pytest

from jsdoctor.checks.cluster_health.asset_leaderless import two_leaders
from jsdoctor.model.finding import Outcome
from jsdoctor.model.jetstream import Cluster, Peer, StreamConfig, StreamState
from jsdoctor.model.snapshot import Stream, StreamReplica
from tests.checks.snapshots import texts, two
from tests.checks.values import NOON, params_of

PEERS = (Peer(name="n2", current=True), Peer(name="n3", current=True))


def led_twice(at: datetime, *peers: Peer, since: datetime | None = None) -> Stream:
    return Stream(
        account="APP",
        name="S",
        config=StreamConfig(name="S", num_replicas=3),
        state=StreamState(),
        cluster=Cluster(leader="n1", leader_since=since, replicas=peers),
        at=at,
        answered_by="n1",
        replicas=tuple(StreamReplica(name, StreamState(), at, is_leader=True) for name in ("n1", "n2")),
    )


def outcome(apart_s: float, *peers: Peer, led_s: float | None = None) -> tuple[Outcome, list[str]]:
    now = NOON + timedelta(seconds=apart_s)
    since = None if led_s is None else now - timedelta(seconds=led_s)
    trend = two([led_twice(NOON, *peers, since=since)], [led_twice(now, *peers, since=since)])
    (finding,) = findings = list(two_leaders(trend, params_of("JSD702")))
    return finding.outcome, texts(findings)


@pytest.mark.parametrize(("apart_s", "lasting"), [(9.9, False), (10, True)])
def test_claims_without_peers_are_judged_if_they_last(apart_s: float, *, lasting: bool) -> None:
    result, (text,) = outcome(apart_s)
    assert result is (Outcome.FAIL if lasting else Outcome.NOT_EVALUATED)
    assert text.startswith("n1 and n2 each ")


@pytest.mark.parametrize(("apart_s", "led_s", "lasting"), [(2, 9.9, False), (2, 10, True), (10, 9.9, True)])
def test_a_leader_of_some_seconds_may_follow_another_one(apart_s: float, led_s: float, *, lasting: bool) -> None:
    result, _ = outcome(apart_s, *PEERS, led_s=led_s)
    assert result is (Outcome.FAIL if lasting else Outcome.NOT_EVALUATED)
