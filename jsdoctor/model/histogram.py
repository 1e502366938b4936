"""Counts of log lines over time, packed: an audit holds some hundred thousand buckets."""

from __future__ import annotations

import struct
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final, Self

import msgspec

_SPAN = struct.Struct("<qqq")
SPAN_BYTES: Final = _SPAN.size


class Bucket(msgspec.Struct, frozen=True, gc=False):
    """Lines of one span of `Occurrence.bucket_us`: how many, and the first and last of them (microseconds)."""

    first_us: int
    last_us: int
    count: int


class Histogram(msgspec.Struct, frozen=True, gc=False):
    """Buckets in their order. They are kept as three numbers of eight bytes each, a seventh of what objects take."""

    packed: bytes = b""

    @classmethod
    def of(cls, spans: Iterable[tuple[int, int, int]]) -> Self:
        """A histogram of buckets in their order: first time, last time and count of each."""
        return cls(b"".join([_SPAN.pack(*span) for span in spans]))

    @classmethod
    def joined(cls, spans: Iterable[tuple[int, int, int]], width: int) -> Self:
        """A histogram of spans in any order: those that begin in the same `width` (microseconds) become one bucket."""
        buckets: dict[int, tuple[int, int, int]] = {}
        for span in spans:
            first, last, count = span
            known = buckets.get(first // width)
            if known is None:
                buckets[first // width] = span
            else:
                low, high, counted = known
                buckets[first // width] = (min(low, first), max(high, last), counted + count)
        return cls.of([buckets[number] for number in sorted(buckets)])

    @classmethod
    def together(cls, histograms: Iterable[Self], width: int) -> Self:
        """Merge histograms of this width. Where their times do not overlap, their bytes are concatenated."""
        ordered = sorted(filter(None, histograms), key=lambda histogram: _first_us(histogram.packed, 0))
        if all(
            _first_us(earlier.packed, -1) // width < _first_us(later.packed, 0) // width
            for earlier, later in pairwise(ordered)
        ):
            return cls(b"".join([histogram.packed for histogram in ordered]))
        return cls.joined([span for histogram in ordered for span in histogram.spans()], width)

    def __len__(self) -> int:
        return len(self.packed) // SPAN_BYTES

    def __iter__(self) -> Iterator[Bucket]:
        return (Bucket(*span) for span in self.spans())

    def __getitem__(self, number: int) -> Bucket:
        return Bucket(*_SPAN.unpack_from(self.packed, number * SPAN_BYTES))

    def spans(self) -> Iterator[tuple[int, int, int]]:
        """First time, last time and count of each, as plain numbers: for callers that read all of them."""
        return _SPAN.iter_unpack(self.packed)

    def firsts(self) -> array[int]:
        """The first time of each."""
        return self._numbers()[::3]

    def lasts(self) -> array[int]:
        """The last time of each."""
        return self._numbers()[1::3]

    def counts(self) -> array[int]:
        """The number of lines of each."""
        return self._numbers()[2::3]

    def lines_from(self, us: int) -> int:
        """The number of lines in buckets that begin at this time or later."""
        if self.packed and _first_us(self.packed, 0) >= us:
            return sum(self.counts())
        return sum(self._numbers()[2 + 3 * bisect_left(self.firsts(), us) :: 3])

    def _numbers(self) -> array[int]:
        """All numbers of all buckets, three for each, as one array."""
        numbers = array("q", self.packed)
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers


def _first_us(packed: bytes, number: int) -> int:
    first_us: int = _SPAN.unpack_from(packed, number * SPAN_BYTES)[0]
    return first_us
