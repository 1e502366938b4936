"""JSD807: requests that wait, and calls that fail, of servers and of accounts."""

from typing import Any

import pytest

from jsdoctor.checks.server_health.api_overloaded import api_overloaded
from jsdoctor.model.finding import Finding, Outcome, Severity, Subject, passed
from jsdoctor.model.jetstream import StreamConfig, StreamState
from jsdoctor.model.server import ApiStats, JetStreamStats, MetaGroup, Server, Servers
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries, Stream
from jsdoctor.model.trend import ServerHistory, ServerTrend
from tests.checks.values import NOON, after, params_of, server

N1 = Subject(kind="server", name="n1")


def calling(
    name: str = "n1", seconds: int = 0, *, version: str = "2.15.1", clustered: bool = True, **api: int
) -> Server:
    meta = MetaGroup() if clustered else None
    stats = JetStreamStats(api=ApiStats(**api), meta_cluster=meta)
    return server(name, after(seconds=seconds), jetstream=stats, version=version)


def stream(retention: str, replicas: int) -> SnapshotSeries:
    config = StreamConfig(retention=retention, num_replicas=replicas)
    made = Stream(account="APP", name="S", config=config, state=StreamState(), at=NOON)
    return SnapshotSeries((ClusterSnapshot(taken_at=NOON, streams=(made,)),))


def judged(*samples: tuple[Server, ...], streams: SnapshotSeries | None = None, **params: Any) -> list[Finding]:
    """By all readings of the servers that are in the last sample."""
    names = [single.name for single in samples[-1]]
    readings = [tuple(single for sample in samples for single in sample if single.name == name) for name in names]
    trend = ServerTrend(tuple(map(ServerHistory, readings)))
    return list(
        api_overloaded(Servers(samples[-1], earlier=samples[:-1]), trend, streams, params_of("JSD807", **params))
    )


def test_requests_must_wait_in_every_sample() -> None:
    many, few = (calling(inflight=2_000),), (calling(inflight=3),)
    assert [finding.outcome for finding in judged(many, many, many)] == [Outcome.FAIL]
    for samples in ((few, many, many), (few, few, many), (many, few, many)):
        assert judged(*samples) == [passed(N1)]


def test_a_sample_that_lacks_jetstream_shows_nothing_that_waits() -> None:
    unread = (server(),)
    assert judged(unread, (calling(inflight=1),), max_inflight=1, max_pending=1) == [passed(N1)]
    assert judged(unread, (calling(total=900, errors=900),)) == [passed(N1)]


@pytest.mark.parametrize(
    ("version", "streams", "outcome"),
    [
        ("2.10.26", stream("workqueue", 3), Outcome.FAIL),
        ("2.11.0", stream("workqueue", 3), Outcome.NOT_EVALUATED),
        ("2.14.3", stream("interest", 2), Outcome.NOT_EVALUATED),
        ("2.15.0", stream("workqueue", 3), Outcome.FAIL),
        ("2.12.8", stream("workqueue", 1), Outcome.FAIL),
        ("2.12.8", stream("limits", 3), Outcome.FAIL),
        ("2.12.8", None, Outcome.NOT_EVALUATED),
    ],
)
def test_some_versions_count_removals_of_acknowledged_messages(
    version: str, streams: SnapshotSeries | None, outcome: Outcome
) -> None:
    first, last = calling(version=version), calling(seconds=9, version=version, total=900, errors=900)
    assert [finding.outcome for finding in judged((first,), (last,), streams=streams)] == [outcome]


def test_the_share_and_the_rate_of_errors_make_a_warning() -> None:
    (warning,) = judged((calling(),), (calling(seconds=10, total=2_000, errors=200),))
    assert warning.severity is None
    assert warning.evidence == (
        calling(seconds=10).observed("api.errors", 200),
        calling(seconds=10).observed("api.total", 2_000),
    )
    (fewer,) = judged((calling(),), (calling(seconds=10, total=1_990, errors=199),))
    assert fewer.severity is Severity.INFO


def test_no_call_at_all_is_no_error() -> None:
    assert judged((calling(total=7),), (calling(seconds=9, total=7),), min_requests=0) == [passed(N1)]
