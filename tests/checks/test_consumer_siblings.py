"""Siblings are found by what their filters let through: compared with trying every subject of a small world."""

from itertools import product
from statistics import median

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from jsdoctor.checks.consumer_lag.overlapping_filter_laggard import Siblings
from jsdoctor.model.snapshot import Consumer, SnapshotSeries
from tests.support.evidence import evidence_of

# Three tokens deep and three words wide. No filter has more than two tokens or names the third word, so none can let
# through by chance what only a wildcard should.
WORDS = ("a", "b", "c")
SUBJECTS = [".".join(words) for length in (1, 2, 3) for words in product(WORDS, repeat=length)]
FILTERS = ["a", "b", "*", ">", "a.b", "b.a", "a.*", "*.a", "*.*", "a.>", "b.>", "*.>"]


def recorded() -> Consumer:
    series = evidence_of({"base": "one-node-2.15.1"}).get(SnapshotSeries)
    assert series is not None
    return next(c for _, c in series.last.led_consumers() if c.name == "archive")


RECORDED = recorded()


def consumer(number: int, filters: tuple[str, ...], lag: int) -> Consumer:
    config = replace(RECORDED.config, filter_subjects=filters)
    return replace(RECORDED, name=f"c{number}", config=config, num_pending=lag)


def matches(pattern: str, subject: str) -> bool:
    left, right = pattern.split("."), subject.split(".")
    if left[-1] == ">":
        return len(right) >= len(left) and matches_all(left[:-1], right)
    return len(left) == len(right) and matches_all(left, right)


def matches_all(pattern: list[str], tokens: list[str]) -> bool:
    return all(p in ("*", t) for p, t in zip(pattern, tokens, strict=False))


def let_through(filters: tuple[str, ...]) -> set[str]:
    return {s for s in SUBJECTS if not filters or any(matches(f, s) for f in filters)}


# Each of several filters must be covered by one filter of the sibling: the server refuses filters that overlap within
# one consumer, so a filter is never covered by several others together but for the small world's sake ("a", "b", "*").
LISTS = st.one_of(st.just(()), st.sampled_from(FILTERS).map(lambda f: (f,)))


@given(st.lists(st.tuples(LISTS, st.integers(0, 50)), min_size=2, max_size=8))
def test_siblings_are_those_that_get_everything(made: list[tuple[tuple[str, ...], int]]) -> None:
    consumers = [consumer(number, filters, lag) for number, (filters, lag) in enumerate(made)]
    for number, own in enumerate(consumers):
        wanted = let_through(own.config.filters)
        lags = [
            c.num_pending for n, c in enumerate(consumers) if n != number and let_through(c.config.filters) >= wanted
        ]
        assert Siblings(consumers).typical_lag(own) == ((median(lags) if lags else 0.0), len(lags))
