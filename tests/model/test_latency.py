"""The histogram keeps its promises: quantiles at most 6 % too long, extremes exact, sums of parts."""

from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.model.latency import LatencyTally, bin_ceiling, bin_of, joined

DURATIONS = st.lists(st.integers(0, 10**13), min_size=1, max_size=60)


def tally(durations: list[int]) -> LatencyTally:
    tallied = LatencyTally()
    for duration in durations:
        tallied.add(duration)
    return tallied


@given(st.integers(0, 10**15))
def test_a_bin_is_six_percent_wide(duration: int) -> None:
    top = bin_ceiling(bin_of(duration))
    assert duration <= top <= duration * 17 / 16 + 1
    assert bin_of(top) == bin_of(duration)
    assert bin_of(top + 1) == bin_of(duration) + 1


@given(st.lists(st.lists(st.integers(-(10**13), 10**13), max_size=20), max_size=4))
def test_several_at_once_are_as_one_by_one(parts: list[list[int]]) -> None:
    """A clock that was set back, too: what is negative counts as 0."""
    together, one_by_one = LatencyTally(), LatencyTally()
    for durations in parts:
        together.add_all(durations)
        for duration in durations:
            one_by_one.add(duration)
    assert together.latencies() == one_by_one.latencies()


@given(DURATIONS, st.floats(0.01, 1))
def test_quantiles(durations: list[int], share: float) -> None:
    latencies = tally(durations).latencies()
    exact = next(value for rank, value in enumerate(sorted(durations), 1) if rank >= share * len(durations))
    assert exact <= latencies.quantile_ns(share) <= exact * 17 / 16 + 1
    assert (latencies.count, latencies.least_ns, latencies.largest_ns) == (
        len(durations),
        min(durations),
        max(durations),
    )


@given(DURATIONS, st.integers(0, 10**13))
def test_at_least_never_counts_too_many(durations: list[int], limit: int) -> None:
    latencies = tally(durations).latencies()
    exact = sum(duration >= limit for duration in durations)
    assert latencies.at_least(limit) <= exact
    assert bool(latencies.at_least(limit)) == bool(exact)
    assert latencies.at_least(limit) >= sum(duration >= limit * 17 / 16 + 1 for duration in durations)


@given(DURATIONS, DURATIONS)
def test_parts_make_the_whole(first: list[int], other: list[int]) -> None:
    assert joined([tally(first).latencies(), tally(other).latencies()]) == tally(first + other).latencies()
