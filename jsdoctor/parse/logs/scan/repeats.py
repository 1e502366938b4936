"""Lines in words that were seen before: collected over a block, and counted together by minute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from jsdoctor.model.log import MINUTE_US, Histogram
from jsdoctor.parse.logs.scan.signature_counter import EXEMPLARS, Known, SignatureCounter


class Group(NamedTuple):
    """The lines of one tally: how many, packed as a histogram of minutes, and where the earliest and the latest are."""

    tally: int
    total: int
    minutes: bytes
    earliest: Sequence[int]
    latest: int


Grouping = Callable[[Sequence[int], Sequence[int], Sequence[int]], Iterable[Group]]
"""Groups columns of lines: which tally each is for, its time in microseconds, and its offset in the file."""


class RepeatedLines:
    """Lines of one block: which known text each is, its time, and its offset in the file."""

    def __init__(self) -> None:
        self._texts: list[int] = []
        self._us: list[int] = []
        self._offsets: list[int] = []

    def add(self, texts: Iterable[int], us: Iterable[int], offsets: Iterable[int]) -> None:
        """More of them."""
        self._texts.extend(texts)
        self._us.extend(us)
        self._offsets.extend(offsets)

    def count(self, known: Sequence[Known], grouped: Grouping) -> Iterator[SignatureCounter]:
        """Count all lines and reset. Yields the counters that changed."""
        numbers: dict[SignatureCounter, int] = {}
        number_of: dict[int, int] = {}
        for text, count in Counter(self._texts).items():
            tally, match = known[text]
            number_of[text] = numbers.setdefault(tally, len(numbers))
            tally.measure(match, count)
        tallies = list(numbers)
        for group in grouped([number_of[text] for text in self._texts], self._us, self._offsets):
            tally = tallies[group.tally]
            tally.count_dated(group.total, group.minutes)
            first, last = group.earliest[0], group.latest
            kept = group.earliest if tally.wants((self._us[first], self._offsets[first])) else ()
            for line in (*kept, last):
                tally.keep(self._us[line], self._offsets[line], known[self._texts[line]][1])
            yield tally
        self._texts, self._us, self._offsets = [], [], []


def grouped(tallies: Sequence[int], us: Sequence[int], offsets: Sequence[int]) -> Iterator[Group]:
    """See `Grouping`; with Python alone."""
    ordered = sorted(range(len(tallies)), key=lambda line: (tallies[line], us[line], offsets[line]))
    for tally, group in groupby(ordered, key=lambda line: tallies[line]):
        lines = list(group)
        minutes = Histogram.joined([(us[line], us[line], 1) for line in lines], MINUTE_US)
        yield Group(tally, len(lines), minutes.packed, lines[:EXEMPLARS], lines[-1])
