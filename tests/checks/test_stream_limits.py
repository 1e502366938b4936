"""Arithmetic of stream limits: how full, how long it lasts, how many servers there are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.checks.stream_limits.placement import Room
from jsdoctor.checks.streams.limits import consumer_fill, storage_fills, time_to_full_ns
from jsdoctor.model.jetstream import Cluster, StreamConfig, StreamState
from jsdoctor.model.server import JetStreamStats, MetaGroup, Server, Servers
from jsdoctor.model.snapshot import ClusterSnapshot, Stream
from jsdoctor.model.trend import StreamHistory

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


@pytest.mark.parametrize(("before", "after", "left_s"), [(10, 20, 16), (20, 21, 158), (20, 20, None), (30, 20, None)])
def test_time_to_full_extrapolates_growth_only(before: int, after: int, left_s: int | None) -> None:
    """Ten messages in two seconds, eighty to go."""
    last = stream(after, max_msgs=100)
    first = msgspec.structs.replace(stream(before, max_msgs=100), at=NOON - timedelta(seconds=2))
    left_ns = time_to_full_ns(storage_fills(last)[0], StreamHistory((first, last)))
    assert left_ns == (left_s * 1_000_000_000 if left_s else None)


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


def test_dead_servers_count_in_a_plain_cluster() -> None:
    limited = stream()
    two_of_four = Servers((server("n1", "west"), server("n2", "west")), complete=True)
    room = Room(ClusterSnapshot(taken_at=NOON, streams=(limited,)), two_of_four, None)
    assert (room.servers_for(limited), room.is_exact(limited)) == (4, True)


def test_nothing_shows_how_many_servers_there_are() -> None:
    limited = stream()
    assert Room(ClusterSnapshot(taken_at=NOON, streams=(limited,)), None, None).servers_for(limited) is None


@pytest.mark.parametrize(
    ("own", "default", "used", "expected_fill"),
    [
        (0, 0, 5, None),
        (-1, 0, 5, None),
        (1, 0, 1, ("config.max_consumers", 1, True)),
        (7, 0, 6, ("config.max_consumers", 7, False)),
        (7, 9, 7, ("config.max_consumers", 7, True)),
        (0, 9, 8, ("limits.default_max_consumers", 9, False)),
        (-1, 1, 1, ("limits.default_max_consumers", 1, True)),
    ],
)
def test_consumers_against_their_limit_else_the_default(
    own: int, default: int, used: int, expected_fill: tuple[str, int, bool] | None
) -> None:
    bare = stream()
    state = msgspec.structs.replace(bare.state, consumer_count=used)
    config = msgspec.structs.replace(bare.config, max_consumers=own)
    fill = consumer_fill(msgspec.structs.replace(bare, state=state, config=config), default)
    assert (fill and (fill.limit_path, fill.limit, fill.no_room)) == expected_fill
    if fill is not None:
        assert fill.key == fill.limit_path.split(".")[1]
    assert (consumer_fill(msgspec.structs.replace(bare, state=state, config=config)) is None) == (own <= 0)


def test_limits_of_one_and_of_none() -> None:
    assert storage_fills(stream(1, 1, max_msgs=0, max_bytes=0)) == ()
    messages, held = storage_fills(stream(1, 1, max_msgs=1, max_bytes=1))
    assert (messages.no_room, held.no_room) == (True, True)
    (empty,) = storage_fills(stream(0, 0, max_bytes=1))
    assert not empty.no_room
    assert [fill.key for fill in storage_fills(stream(1, 1, max_msgs=1, max_bytes=1))] == ["max_msgs", "max_bytes"]
