"""What a failed health check of a server means: which reasons last, and how they are told. And whom it names."""

from datetime import datetime
from typing import Any

import pytest

from jsdoctor.checks.servers.closings import may_name_users
from jsdoctor.checks.servers.health import lasting_reasons, settled_reasons
from jsdoctor.model.jetstream import Cluster, ConsumerConfig, SequencePair, StreamConfig, StreamState
from jsdoctor.model.raft import RaftGroups, RaftLog, RaftMember, RaftState
from jsdoctor.model.server import Health, HealthError, Server, Servers
from jsdoctor.model.snapshot import ClusterSnapshot, Consumer, SnapshotSeries, Stream
from tests.checks.values import NOON, after, server

SETTLE = 30_000_000_000
LONG_AGO = after(days=-9)


def lagging(stream: str = "ORDERS", consumer: str = "", **more: Any) -> HealthError:
    kind = "CONSUMER" if consumer else "STREAM"
    return HealthError(type=kind, error="not current", account="APP", stream=stream, consumer=consumer, **more)


def sick(*errors: HealthError, name: str = "n1") -> Server:
    return server(name, health=Health(status="unavailable", errors=errors))


def test_an_asset_that_is_not_ready_in_one_sample_only_does_not_last() -> None:
    here, other = lagging("ORDERS"), lagging("OTHER")
    without = (sick(here, name="n2"),)
    unread = (server("n1"),)
    assert lasting_reasons(sick(here, other), [(sick(other),), (sick(here),)]) == ()
    assert lasting_reasons(sick(here, other), [without, unread, (sick(here),)]) == (here,)
    assert lasting_reasons(sick(here, other), [(sick(HealthError("STREAM", "is lost", "APP", "ORDERS")),)]) == (here,)
    consumer = lagging("ORDERS", "billing")
    assert lasting_reasons(sick(consumer), [(sick(lagging("ORDERS", "other")),)]) == ()
    nameless = HealthError(type="STREAM", error="several errors")
    assert lasting_reasons(sick(nameless), [(sick(HealthError(type="STREAM", error="another one")),)]) == ()
    assert lasting_reasons(sick(nameless), [(sick(nameless),)]) == (nameless,)


def stream(
    created: datetime | None = LONG_AGO,
    elected: datetime | None = None,
    group: str = "S-R3F-1",
    consumers: tuple[Consumer, ...] = (),
) -> Stream:
    return Stream(
        account="APP",
        name="ORDERS",
        config=StreamConfig(),
        state=StreamState(),
        created=created,
        cluster=Cluster(raft_group=group, leader="n1", leader_since=elected),
        at=NOON,
        consumers=consumers,
    )


def consumer(name: str, created: datetime) -> Consumer:
    none = SequencePair()
    return Consumer(
        account="APP",
        stream="ORDERS",
        name=name,
        config=ConsumerConfig(),
        delivered=none,
        ack_floor=none,
        created=created,
        at=NOON,
    )


def settled(error: HealthError, *samples: Stream | None, groups: RaftGroups | None = None) -> bool:
    snapshots = tuple(ClusterSnapshot(taken_at=NOON, streams=(single,) if single else ()) for single in samples)
    return settled_reasons(sick(error), (error,), SnapshotSeries(snapshots), groups, SETTLE) == (error,)


def test_a_consumer_is_found_by_its_name() -> None:
    known = stream(consumers=(consumer("old", LONG_AGO), consumer("new", NOON)))
    assert settled(lagging(consumer="old"), known)
    assert not settled(lagging(consumer="new"), known)


def test_without_streams_every_reason_counts() -> None:
    both = (HealthError(type="JETSTREAM", error="down"), lagging())
    assert settled_reasons(sick(), both, None, None, SETTLE) == both
    series = SnapshotSeries((ClusterSnapshot(taken_at=NOON, streams=(stream(created=NOON),)),))
    assert settled_reasons(sick(), both, series, None, SETTLE) == both[:1]


@pytest.mark.parametrize(
    ("of_other", "entries", "before", "is_settled"),
    [
        (after(seconds=-29.999), 5, 0, False),
        (after(seconds=-30), 5, 0, True),
        (None, 0, 0, False),
        (after(seconds=-29.999), 5, 9, True),
    ],
)
def test_an_empty_log_is_as_old_as_the_others_of_its_group(
    of_other: datetime | None, entries: int, before: int, *, is_settled: bool
) -> None:
    """The own log is empty; `before`: so many entries were removed from it."""
    own = RaftMember("n1", "APP", "S-R3F-1", NOON, RaftState(pindex=before))
    log = RaftLog(messages=entries, first_ts=of_other)
    other = RaftMember("n2", "APP", "S-R3F-1", NOON, RaftState(pindex=entries, wal=log))
    assert settled(lagging(), stream(), groups=RaftGroups(((own, other),))) is is_settled


def test_user_names_are_shown_from_2_11_2_on() -> None:
    def may(version: str) -> bool:
        return may_name_users(Servers((server(version=version),)), "n1")

    assert [may(version) for version in ("2.10.26", "2.11.1", "2.11.2", "2.12.0")] == [False, False, True, True]
    assert not may_name_users(Servers((server(version="2.12.0"),)), "n2")
    assert not may_name_users(None, "n1")
