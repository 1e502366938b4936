"""From readings of clocks to offsets: the truth is always within the bound, and what contradicts itself is not sure."""

from datetime import UTC, datetime, timedelta

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.model.clock import CERTAINTY, Clocks
from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.replies.clock import clocks_of

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
SECOND_US = 1_000_000
offsets = st.integers(-(10**16), 10**16).map(lambda us: us % (400 * 86_400 * SECOND_US) - 200 * 86_400 * SECOND_US)
ways = st.integers(0, 5 * SECOND_US)
"""How long a message is on its way, in microseconds."""


def reading(ahead_us: int, there_us: int, back_us: int, at: datetime = NOON, name: str = "n1") -> Exchange:
    """What a server whose clock is so far ahead says, when the two ways take so long."""
    theirs = at + timedelta(microseconds=there_us + ahead_us)
    body = {"server": {"name": name, "cluster": "C", "ver": "2.15.1", "time": theirs.isoformat()}, "statsz": {}}
    round_trip_ns = (there_us + back_us) * 1_000
    return Exchange(Access.SYSTEM, Endpoint.CLOCK, "$SYS.REQ.SERVER.PING", at, round_trip_ns, msgspec.json.encode(body))


def clocks(*exchanges: Exchange) -> Clocks:
    clocks_seen, gaps = clocks_of(exchanges)
    assert clocks_seen is not None
    assert gaps == []
    return clocks_seen


@given(ahead_us=offsets, trips=st.lists(st.tuples(ways, ways), min_size=1, max_size=12))
def test_the_truth_is_within_the_bound_however_lopsided_the_ways(ahead_us: int, trips: list[tuple[int, int]]) -> None:
    (clock,) = clocks(*(reading(ahead_us, there, back) for there, back in trips)).servers
    assert clock.offset.low_ns <= ahead_us * 1_000 <= clock.offset.high_ns
    assert clock.steady
    assert clock.readings == len(trips)
    quickest_ns = min(there + back for there, back in trips) * 1_000
    assert clock.offset.bound_ns <= quickest_ns // 2 + 10_000


@given(true_us=offsets, there_us=ways, back_us=ways, tolerance_ns=st.integers(0, 10**12))
def test_what_is_called_wrong_is_wrong(true_us: int, there_us: int, back_us: int, tolerance_ns: int) -> None:
    (clock,) = clocks(reading(true_us, there_us, back_us)).servers
    if clock.offset.exceeds(tolerance_ns):
        assert abs(true_us) * 1_000 > tolerance_ns * (CERTAINTY - 1) // CERTAINTY - 10_000
    if true_us == 0:
        assert not clock.offset.exceeds(tolerance_ns)


@given(one_us=offsets, other_us=offsets, trips=st.tuples(ways, ways, ways, ways))
def test_two_servers_compared_by_way_of_us(one_us: int, other_us: int, trips: tuple[int, int, int, int]) -> None:
    first, other = clocks(
        reading(one_us, *trips[:2], name="a"), reading(other_us, *trips[2:], at=NOON + timedelta(seconds=1), name="b")
    ).servers
    difference = first.offset.against(other.offset)
    assert difference.low_ns <= (one_us - other_us) * 1_000 <= difference.high_ns


def test_a_clock_that_is_set_during_the_sample_is_not_steady() -> None:
    before, after = reading(0, 100, 100), reading(3600 * SECOND_US, 100, 100)
    (clock,) = clocks(before, before, after).servers
    assert not clock.steady
    assert clock.offset.low_ns <= 0 + 102_000
    assert clock.offset.high_ns >= 3_599 * 10**9
    assert not clock.offset.exceeds(10**9)
