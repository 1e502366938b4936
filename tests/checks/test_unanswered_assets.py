"""Streams and consumers that exist and that no server responds for."""

from datetime import UTC, datetime

from jsdoctor.checks.cluster_health.asset_leaderless import asset_leaderless
from jsdoctor.model.finding import CLUSTER, Finding, Observation, Subject
from jsdoctor.model.snapshot import MAX_UNRESPONSIVE, ClusterSnapshot, SnapshotSeries, UnresponsiveAsset
from tests.checks.values import params_of

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def asset(name: str, *, offline: bool = False) -> UnresponsiveAsset:
    return UnresponsiveAsset(Subject(kind="stream", name=name, account="APP"), "no reply", offline=offline)


def judged(*samples: tuple[UnresponsiveAsset, ...]) -> list[Finding]:
    snapshots = SnapshotSeries(tuple(ClusterSnapshot(taken_at=NOON, streams=(), silent=silent) for silent in samples))
    return list(asset_leaderless(snapshots, None, None, params_of("JSD702")))


def test_it_responds_again() -> None:
    assert judged((asset("A"),), ()) == []


def test_more_than_are_listed_are_counted() -> None:
    many = tuple(asset(f"S{number:03}") for number in range(MAX_UNRESPONSIVE))
    assert len(judged(many)) == MAX_UNRESPONSIVE
    *_, rest = judged((*many, asset("X"), asset("Y")))
    assert rest == Finding(
        subject=CLUSTER,
        message="2 more streams and consumers exist and no server responds for them",
        measured=2,
        unit="count",
        evidence=(Observation("$JS.API", "missing", 2),),
    )
    *_, rest = judged((*many, asset("X")))
    assert rest.measured == 1
