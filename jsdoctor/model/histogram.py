"""How many lines there were when, in little memory: an audit holds some hundred thousand spans of them."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
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
        """From the first time, the last time and the count of each."""
        return cls(b"".join([_SPAN.pack(*span) for span in spans]))

    @classmethod
    def joined(cls, spans: Iterable[tuple[int, int, int]], width: int) -> Self:
        """From spans in any order, those of one multiple of `width` (microseconds) as one."""
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

    def __len__(self) -> int:
        return len(self.packed) // SPAN_BYTES

    def __iter__(self) -> Iterator[Bucket]:
        return (Bucket(*span) for span in self.spans())

    def __getitem__(self, number: int) -> Bucket:
        return Bucket(*_SPAN.unpack_from(self.packed, number * SPAN_BYTES))

    def spans(self) -> Iterator[tuple[int, int, int]]:
        """First time, last time and count of each, as plain numbers: for callers that read all of them."""
        return _SPAN.iter_unpack(self.packed)

    def lasts(self) -> list[int]:
        """The last time of each."""
        return [last for _, last, _ in self.spans()]
