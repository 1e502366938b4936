"""Outages in the lines of a trouble: what tells them apart, and that the compiled core finds the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.logs.aggregate.evidence import PAUSE_US, Endings, Outage, OutageEnding, find, finder
from jsdoctor.logs.scan.native_core import have_native
from jsdoctor.model.histogram import Histogram
from jsdoctor.model.log import CLOCK_US, MINUTE_US, ORDER_US

_TIME = st.one_of(
    st.integers(0, 40 * MINUTE_US), st.integers(0, 9), st.integers(ORDER_US, ORDER_US + 9), st.just(CLOCK_US)
)
_SPAN = st.tuples(_TIME, st.sampled_from((0, 1, 59_999_999, 3 * MINUTE_US)), st.integers(1, 9))
_SPANS = st.lists(_SPAN, max_size=8)


def lines(*spans: tuple[int, int, int]) -> Histogram:
    return Histogram.of(spans)


def endings(name: str, *times: int, shift: int = 0) -> Endings:
    lines = Endings(name)
    lines.add(Histogram.of([(us, us, 1) for us in times]), shift)
    return lines


def test_a_pause_ends_an_outage() -> None:
    end = PAUSE_US + 5
    assert find(lines((0, 5, 2), (end, end, 1)), [], 0, False, None) == (1, [Outage(0, end, 3, None)])
    count, outages = find(lines((0, 5, 2), (end + 1, end + 7, 1)), [], 0, False, None)
    assert (count, outages) == (2, [Outage(0, 5, 2, None), Outage(end + 1, end + 7, 1, None)])


def test_a_line_between_ends_an_outage() -> None:
    spans = lines((10, 20, 2), (40, 50, 1))
    ended = OutageEnding(30, "led")
    assert find(spans, [endings("led", 30)], 0, False, None)[1] == [Outage(10, 20, 2, ended), Outage(40, 50, 1, None)]
    assert find(spans, [endings("led", 40)], 0, False, None)[1] == [Outage(10, 50, 3, None)]
    assert find(spans, [endings("led", 20)], 0, False, None)[1][0] == Outage(10, 20, 2, OutageEnding(20, "led"))


def test_without_times_no_outage_is_longer_than_another() -> None:
    assert Outage(ORDER_US, ORDER_US + 99, 3, None).importance == (False, 0)
    assert Outage(CLOCK_US, CLOCK_US + 99, 3, None).importance == (False, -99)


@pytest.mark.skipif(not have_native(), reason="the compiled scan is not installed: `make native` builds it")
@given(
    spans=_SPANS,
    ends=st.lists(st.lists(_TIME, max_size=5), max_size=3),
    shift=st.sampled_from((0, 0, 7, -MINUTE_US)),
    doubtful=st.booleans(),
    least=st.one_of(st.none(), st.tuples(st.booleans(), st.sampled_from((0, -1, -9, -MINUTE_US)))),
)
def test_the_core_finds_the_same(
    spans: list[tuple[int, int, int]], ends: list[list[int]], shift: int, doubtful: bool, least: tuple[bool, int] | None
) -> None:
    """Also where buckets overlap, which those of one signature do where clocks were put back."""
    histogram = lines(*[(first, first + longer, count) for first, longer, count in sorted(spans)])
    ending = [endings(str(number), *times) for number, times in enumerate(ends)]
    wanted = (histogram, ending, shift, doubtful, least)
    assert finder()(*wanted) == find(*wanted)
