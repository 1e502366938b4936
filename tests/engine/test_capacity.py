"""Space, growth and room, on recordings of healthy servers and on small edits of them."""

from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any

import pytest
from msgspec.structs import replace

from jsdoctor.configuration.option_values import parse_size
from jsdoctor.engine.capacity import _Grower, _reached_s, capacity
from jsdoctor.model.capacity import Capacity, CapacityReport, GrowthRate, Space, StreamGrowth, StreamRoom
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.trend import Trend
from jsdoctor.render.capacity import render_capacity
from jsdoctor.render.options import RenderOptions
from tests.support.evidence import evidence_of
from tests.support.reports import Json

BASE = "three-nodes-2.15.1"
GB = 1_000_000_000
FREE = {"all_servers": True, "set": {"reserved_storage": 0, "storage": 0, "config.max_storage": 10 * GB}}


def shown(*edits: Json, wanted: StreamRoom | None = None, **case: Any) -> Capacity:
    return capacity(evidence_of({"base": BASE, "edit": list(edits), **case}), wanted)


def streams(number: int, size: int = GB, replicas: int = 3) -> StreamRoom:
    return StreamRoom(size=size, replicas=replicas, streams=number, fit=None)


def space_of(found: Capacity, label: str) -> Space:
    return next(space for space in found.spaces if space.subject.label == label and space.storage == "file")


def growth_of(found: Capacity, name: str) -> StreamGrowth:
    return next(growth for growth in found.streams if growth.subject.name == name)


@pytest.mark.parametrize(
    ("growers", "seconds"),
    [
        ([(10.0, inf, inf, inf)], 10.0),
        ([(10.0, 50.0, inf, inf)], None),
        ([(10.0, 50.0, inf, inf), (5.0, inf, inf, inf)], 10.0),
        ([(10.0, inf, 4.0, inf), (1.0, inf, inf, inf)], 60.0),
        ([(10.0, inf, inf, inf), (-5.0, inf, inf, inf)], 20.0),
        ([(0.0, 50.0, inf, inf), (-5.0, inf, inf, inf)], None),
        ([(10.0, 0.0, inf, inf), (2.0, inf, inf, inf)], 50.0),
        ([(10.0, inf, inf, inf), (-10.0, inf, inf, 30.0)], 13.0),
        ([], None),
    ],
)
def test_a_limit_is_reached_by_what_grows_until_its_own(
    growers: list[tuple[float, float, float, float]], seconds: float | None
) -> None:
    """Each grower: its speed, what its own limit leaves it in bytes and in seconds, and what it holds."""
    own = [
        (_Grower(GrowthRate(speed, speed, speed), left, left_s, held), speed) for speed, left, left_s, held in growers
    ]
    assert _reached_s(100, own) == (None if seconds is None else pytest.approx(seconds))


def test_use_and_streams_of_a_recording_agree() -> None:
    found = shown()
    for name in ("n1", "n2", "n3"):
        space = space_of(found, name)
        assert space.value("used") == space.value("streams") > 0
        assert space.value("limit") > space.value("reserved") > 0
    assert {gap.reason for gap in found.unseen} == {"disk free"}


def test_reservations_and_use_are_told_apart() -> None:
    full = {"server": "n2", "set": {"reserved_storage": 9 * GB, "storage": GB, "config.max_storage": 10 * GB}}
    words = " ".join(space_of(shown(full), "n2").words)
    assert "max_bytes above 1,000,000,000 is not placed on it" in words
    assert "because of reservations, not of use" in words
    used = {"server": "n2", "set": {"reserved_storage": GB, "storage": 9 * GB, "config.max_storage": 10 * GB}}
    words = " ".join(space_of(shown(used), "n2").words)
    assert "at the limit publishes get 10023" in words
    assert "these are of unseen streams" in words


def test_an_account_counts_reservations_of_all_copies() -> None:
    limit = 1_600_000_000
    account = space_of(shown({"account": "APP", "set": {"reserved_storage": limit}}), "APP")
    assert account.value("limit") == limit
    left = limit - account.value("reserved")
    assert account.words[0].startswith(f"APP: max_bytes above {left:,} of all copies together is refused (10047)")


def grows(*totals: int, **config: int) -> Capacity:
    """With a stream ORDERS that holds so many bytes in readings a second apart, the last one now."""
    evidence = evidence_of({"base": BASE})
    series = evidence.get(SnapshotSeries)
    assert series is not None
    snapshots = tuple(
        replace(
            series.last,
            streams=tuple(
                replace(
                    stream,
                    at=stream.at - timedelta(seconds=len(totals) - number),
                    config=replace(stream.config, **config),
                    state=replace(stream.state, bytes=total),
                )
                for stream in series.last.streams
                if stream.name == "ORDERS"
            ),
        )
        for number, total in enumerate(totals, 1)
    )
    return capacity(evidence.joined(SnapshotSeries(snapshots)).joined(Trend(snapshots)))


def test_the_range_is_that_of_the_rates_that_were_seen() -> None:
    found = growth_of(grows(1_000, 2_000, 4_000, max_bytes=10_000, max_age_ns=0), "ORDERS")
    assert found.rate is not None
    assert found.rate == GrowthRate(1_000.0, 1_500.0, 2_000.0)
    (due,) = [due for due in found.due if due.limit == "max_bytes"]
    assert due.expected is not None
    assert due.latest is not None
    lefts = [(moment - due.at).total_seconds() for moment in (due.earliest, due.expected, due.latest)]
    assert lefts == pytest.approx([6_000 / 2_000, 6_000 / 1_500, 6_000 / 1_000])


def test_a_stream_that_does_not_always_grow_may_never_be_full() -> None:
    found = growth_of(grows(1_000, 4_000, 2_000, max_bytes=10_000, max_age_ns=0), "ORDERS")
    (due,) = [due for due in found.due if due.limit == "max_bytes"]
    assert due.latest is None
    assert growth_of(grows(4_000, 4_000, 4_000), "ORDERS").due == ()


def test_one_sample_predicts_nothing() -> None:
    found = shown(samples=1)
    assert growth_of(found, "ORDERS").rate is None
    assert {gap.reason for gap in found.unseen} == {"disk free", "growth of streams, which were read once"}


def test_what_max_age_takes_away_ends_the_growth() -> None:
    plain = grows(1_000, 2_000, 3_000, max_bytes=1 << 40, max_age_ns=0)
    assert [due.limit for due in growth_of(plain, "ORDERS").due] == ["max_bytes"]
    aged = grows(1_000, 2_000, 3_000, max_bytes=1 << 40, max_age_ns=3_600 * 10**9)
    (due,) = growth_of(aged, "ORDERS").due
    assert due.limit == "max_age"
    left_s = (due.earliest - due.at).total_seconds()
    assert 3_500 < left_s < 3_600
    assert due.value == pytest.approx(3_000 + 1_000 * left_s, rel=1e-3)


def test_free_disk_is_that_of_the_process_of_the_server() -> None:
    space = space_of(shown({"host": {}, "volume": {"available": 5 * GB, "total": 9 * GB}}), "n1")
    assert space.value("disk free") == 5 * GB
    assert space_of(shown({"host": {}}), "n2").figures[0].value is None


@pytest.mark.parametrize(
    ("wanted", "edit", "fit"),
    [
        (streams(10), {}, 10),
        (streams(11), {}, 10),
        (streams(1), {"server": "n3", "set": {"config.max_storage": GB - 1}}, 0),
        (streams(21, replicas=1), {"server": "n3", "set": {"config.max_storage": GB - 1}}, 20),
        (streams(30, replicas=2), {}, 15),
        (streams(1), {"server": "n1", "set": {"storage": 9 * GB + 1}}, 0),
        (streams(3), {"server": "n1", "set": {"storage": 5 * GB, "reserved_storage": 6 * GB}}, 3),
    ],
)
def test_room_is_looked_for_as_the_meta_leader_does(wanted: StreamRoom, edit: Json, fit: int) -> None:
    found = shown(FREE, *([edit] if edit else []), wanted=wanted)
    assert [room.fit for room in found.room] == [fit]
    assert found.has_room is (fit >= wanted.streams)


def test_a_server_that_did_not_respond_may_have_the_room() -> None:
    gone = {"server": "n2", "endpoint": "JSZ", "drop": True}
    found = shown(FREE, gone, wanted=streams(1))
    assert (found.room[0].fit, found.has_room) == (None, None)
    assert shown(wanted=streams(1), base=f"{BASE}-account").has_room is None, "a plain login sees no server"


def test_text_names_the_reply_of_each_figure_and_fits_the_page() -> None:
    found = shown(FREE, wanted=streams(11))
    for width in (80, 40):
        lines = render_capacity(_report(found), RenderOptions(width=width)).splitlines()
        assert max(map(len, lines)) <= width
    text = render_capacity(_report(found), RenderOptions(verbose=True))
    assert text.startswith("No room for 11 more streams with R3 and max_bytes 1,000,000,000")
    assert "reserved: JSZ reserved_storage" in text
    assert "  n1: for 10, 9.3 GiB left\n" in text


def _report(found: Capacity) -> Any:
    return CapacityReport(version="1", started=datetime.now(UTC), headline="", sources=(), result=found)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("10G", 10 * GB),
        ("10GB", 10 << 30),
        ("10GiB", 10 << 30),
        ("10gi", 10 << 30),
        ("512", 512),
        ("7B", 7),
        ("1k", 1_000),
    ],
)
def test_sizes_are_read_as_servers_read_them(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "10XB", "-1G", "1.5G", "9" * 30, "G", "10GiBs"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"10|large"):
        parse_size(text)
