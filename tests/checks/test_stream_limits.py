"""Arithmetic of stream limits: how full, how long it lasts, how many servers there are."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.checks.stream_limits.replicas_risky import Room
from jsdoctor.checks.streams.limits import storage_fills, time_to_full_ns
from jsdoctor.model.jetstream import Cluster, StreamConfig, StreamState
from jsdoctor.model.server import JetStreamStats, MetaGroup, Server, Servers
from jsdoctor.model.snapshot import ClusterSnapshot, Stream

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
SIZES = st.integers(1, 1 << 40)


def stream(messages: int = 0, held: int = 0, max_msgs: int = -1, max_bytes: int = -1) -> Stream:
    return Stream(
        account="APP",
        name="S",
        config=StreamConfig(name="S", max_msgs=max_msgs, max_bytes=max_bytes),
        state=StreamState(messages=messages, bytes=held),
        cluster=Cluster(name="west", leader="n1"),
        at=NOON,
    )


@given(messages=SIZES, limit=SIZES)
def test_messages_have_room_until_the_limit(messages: int, limit: int) -> None:
    (fill,) = storage_fills(stream(messages, messages, max_msgs=limit))
    assert fill.no_room == (messages >= limit)


@given(messages=st.integers(1, 1000), size=st.integers(1, 1 << 20), spare=st.integers(0, 1 << 21))
def test_bytes_have_room_for_a_message_of_average_size(messages: int, size: int, spare: int) -> None:
    held = messages * size
    (fill,) = storage_fills(stream(messages, held, max_bytes=held + spare))
    assert fill.no_room == (spare < size)


def test_time_to_full_needs_two_samples() -> None:
    assert time_to_full_ns(storage_fills(stream(50, max_msgs=100))[0], None) is None


def server(name: str, cluster: str) -> Server:
    meta = JetStreamStats(meta_cluster=MetaGroup(leader="n1", cluster_size=4))
    return Server(name=name, cluster=cluster, at=NOON, jetstream=meta)


def test_a_stream_stays_within_its_part_of_a_super_cluster() -> None:
    limited = stream()
    super_cluster = Servers((*(server(f"w{n}", "west") for n in range(3)), server("e1", "east")), complete=True)
    room = Room(ClusterSnapshot(taken_at=NOON, streams=(limited,)), super_cluster, None)
    assert room.servers_for(limited) == 3
    assert not room.is_exact(limited)
