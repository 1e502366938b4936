"""Which copies of a stream are new, by the Raft log on their server and on the leader's."""

from datetime import timedelta

import pytest

from jsdoctor.checks.sequence_mismatch.replica_divergence import Loading
from jsdoctor.model.jetstream import Cluster, StreamConfig, StreamState
from jsdoctor.model.raft import RaftGroups, RaftLog, RaftMember, RaftState
from jsdoctor.model.server import Server, Servers
from jsdoctor.model.snapshot import Stream
from tests.checks.values import NOON

SETTLE_NS = 30_000_000_000
OLD, YOUNG = 30.0, 29.9
SERVERS = Servers((Server(server_id="N2", name="n2", at=NOON),), complete=True)
STREAM = Stream(
    account="APP",
    name="S",
    config=StreamConfig(name="S", num_replicas=3),
    state=StreamState(),
    cluster=Cluster(leader="n1", raft_group="G"),
    at=NOON,
    answered_by="n1",
)


def member(server: str, entries: int, age_s: float, before: int = 0) -> RaftMember:
    """Its log with so many entries, the oldest of that age, and so many removed before it."""
    log = RaftLog(messages=entries, first_ts=NOON - timedelta(seconds=age_s))
    state = RaftState(pindex=before + entries, wal=log)
    return RaftMember(server=server, account="APP", group="G", at=NOON, state=state)


def is_busy(*members: RaftMember) -> bool:
    return Loading(SERVERS, RaftGroups((members,)), SETTLE_NS).is_busy("n2", STREAM, has_more=False)


@pytest.mark.parametrize(
    ("follower", "leader", "busy"),
    [
        (member("n2", 5, YOUNG), member("n1", 5, YOUNG), True),
        (member("n2", 5, OLD), member("n1", 5, OLD), False),
        # On 2.12 the first entry has index 2.
        (member("n2", 5, YOUNG, 1), member("n1", 5, YOUNG, 1), True),
        # The logs of a busy stream were shortened: the group is old, and both have entries of seconds only.
        (member("n2", 5, YOUNG, 2), member("n1", 5, YOUNG, 2), False),
        # A member that has just joined begins with a snapshot, and the leader has older entries.
        (member("n2", 5, YOUNG, 900), member("n1", 500, OLD, 400), True),
        # Nothing has come to the follower yet, which is a fault if its group is old.
        (member("n2", 0, 9e9), member("n1", 5, YOUNG), True),
        (member("n2", 0, 9e9), member("n1", 0, 9e9), True),
        (member("n2", 0, 9e9), member("n1", 5, OLD), False),
        (member("n2", 0, 9e9, 2), member("n1", 5, YOUNG), False),
    ],
)
def test_a_copy_of_a_new_group_or_member(follower: RaftMember, leader: RaftMember, *, busy: bool) -> None:
    assert is_busy(follower, leader) is busy
