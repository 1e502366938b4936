"""Lines in words that were seen before: collected over a block, and counted together by minute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from jsdoctor.parse.logs.scan.signature_counter import Known, SignatureCounter


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

    def count(self, known: Sequence[Known]) -> Iterator[SignatureCounter]:
        """Count all lines and reset. Yields the counters that changed."""
        if not self._texts:
            return
        from jsdoctor.parse.logs.scan.grouping import grouped

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
