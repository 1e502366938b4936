"""When a stream was scaled, by the numbers of replicas in the samples and by the Raft log of its leader."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from jsdoctor.checks.streams.scaling import scaled_ns_ago
from jsdoctor.model.jetstream import Cluster, StreamConfig, StreamState
from jsdoctor.model.raft import RaftGroups, RaftLog, RaftMember, RaftState
from jsdoctor.model.snapshot import Stream
from jsdoctor.model.trend import StreamHistory
from tests.checks.values import NOON

CREATED = NOON - timedelta(hours=1)


def stream(replicas: int = 3, created: datetime | None = CREATED, group: str = "G") -> Stream:
    return Stream(
        account="APP",
        name="S",
        config=StreamConfig(name="S", num_replicas=replicas),
        state=StreamState(),
        created=created,
        cluster=Cluster(leader="n1", raft_group=group) if group else None,
        at=NOON,
        answered_by="n1",
    )


def groups(begun: timedelta, entries: int = 5, before: int = 0, server: str = "n1") -> RaftGroups:
    """The first entry of the group, after the stream's creation."""
    log = RaftLog(messages=entries, first_ts=CREATED + begun)
    state = RaftState(pindex=entries + before, wal=log)
    return RaftGroups(((RaftMember(server=server, account="APP", group="G", at=NOON, state=state),),))


@pytest.mark.parametrize(
    ("known", "seconds"),
    [
        (groups(timedelta(minutes=59)), 60),
        (groups(timedelta(minutes=61)), 0),
        (groups(timedelta(seconds=10)), 3590),
        (groups(timedelta(seconds=9)), None),
        (groups(timedelta(minutes=59), before=1), 60),
        (groups(timedelta(minutes=59), before=2), None),
        (groups(timedelta(minutes=59), entries=0), None),
        (groups(timedelta(minutes=59), server="n2"), None),
        (None, None),
    ],
)
def test_a_group_that_is_younger_than_its_stream(known: RaftGroups | None, seconds: int | None) -> None:
    assert scaled_ns_ago(stream(), None, known) == (None if seconds is None else seconds * 10**9)


def test_a_stream_of_unknown_age_or_without_a_group() -> None:
    young = groups(timedelta(minutes=59))
    assert scaled_ns_ago(stream(created=None), None, young) is None
    assert scaled_ns_ago(stream(group=""), None, young) is None
    assert scaled_ns_ago(stream(group="H"), None, young) is None


def test_another_number_of_replicas_in_the_samples() -> None:
    assert scaled_ns_ago(stream(), StreamHistory((stream(1), stream())), None) == 0
    assert scaled_ns_ago(stream(), StreamHistory((stream(), stream())), None) is None
