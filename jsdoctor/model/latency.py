"""Many durations in little space: a histogram whose bins are 6 % wide, with its exact extremes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

_BITS_PER_OCTAVE = 4
"""Each power of two has `1 << 4` bins, 16."""


def bin_of(duration_ns: int) -> int:
    """The bin of a duration, from 0 for what is not positive."""
    if duration_ns < 1 << _BITS_PER_OCTAVE:
        return max(duration_ns, 0)
    shift = duration_ns.bit_length() - 1 - _BITS_PER_OCTAVE
    return (shift << _BITS_PER_OCTAVE) + (duration_ns >> shift)


def bin_ceiling(number: int) -> int:
    """The largest duration in that bin."""
    if number < 1 << _BITS_PER_OCTAVE:
        return number
    power = (number >> _BITS_PER_OCTAVE) + _BITS_PER_OCTAVE - 1
    width = 1 << (power - _BITS_PER_OCTAVE)
    return (1 << power) + ((number & ((1 << _BITS_PER_OCTAVE) - 1)) + 1) * width - 1


class Latencies(msgspec.Struct, frozen=True, gc=False):
    """Durations in nanoseconds: `bins` are (number, count), lowest first. Extremes are exact, 0 when there is none."""

    count: int = 0
    least_ns: int = 0
    largest_ns: int = 0
    bins: tuple[tuple[int, int], ...] = ()

    def quantile_ns(self, share: float) -> int:
        """The quantile: the upper end of its bin, at most 6 % too long. 0 when there is none."""
        below = 0
        for number, count in self.bins:
            below += count
            if below >= share * self.count:
                return min(bin_ceiling(number), self.largest_ns)
        return self.largest_ns

    def at_least(self, limit_ns: int) -> int:
        """How many are that long or longer. Where the limit lies inside a bin, those of that bin are not counted."""
        if self.count and self.least_ns >= limit_ns:
            return self.count
        inside = bin_of(limit_ns)
        in_higher_bins = sum(count for number, count in self.bins if number > inside or bin_floor(number) >= limit_ns)
        return max(in_higher_bins, int(self.count > 0 and self.largest_ns >= limit_ns))


def bin_floor(number: int) -> int:
    """The smallest duration in that bin."""
    return bin_ceiling(number - 1) + 1 if number else 0


class LatencyTally:
    """Collects durations."""

    __slots__ = ("_bins", "largest_ns", "least_ns")

    def __init__(self) -> None:
        self._bins: dict[int, int] = {}
        self.least_ns = 0
        self.largest_ns = 0

    def add(self, duration_ns: int) -> None:
        """One more; what is negative (a clock that was set back) counts as 0."""
        duration_ns = max(duration_ns, 0)
        if not self._bins or duration_ns < self.least_ns:
            self.least_ns = duration_ns
        self.largest_ns = max(self.largest_ns, duration_ns)
        number = bin_of(duration_ns)
        self._bins[number] = self._bins.get(number, 0) + 1

    def add_all(self, durations_ns: Sequence[int]) -> None:
        """Several more: `add` and `bin_of` in one loop, as there may be very many."""
        bins = self._bins
        if durations_ns:
            least_ns = max(min(durations_ns), 0)
            self.least_ns = min(self.least_ns, least_ns) if bins else least_ns
            self.largest_ns = max(self.largest_ns, *durations_ns)
        for duration_ns in durations_ns:
            if duration_ns < 1 << _BITS_PER_OCTAVE:
                number = max(duration_ns, 0)
            else:
                shift = duration_ns.bit_length() - 1 - _BITS_PER_OCTAVE
                number = (shift << _BITS_PER_OCTAVE) + (duration_ns >> shift)
            bins[number] = bins.get(number, 0) + 1

    def latencies(self) -> Latencies:
        """What was collected."""
        bins = tuple(sorted(self._bins.items()))
        return Latencies(sum(count for _, count in bins), self.least_ns, self.largest_ns, bins)


def joined(parts: Iterable[Latencies]) -> Latencies:
    """The histogram of all durations of several."""
    bins: dict[int, int] = {}
    full = [part for part in parts if part.count]
    for part in full:
        for number, count in part.bins:
            bins[number] = bins.get(number, 0) + count
    if not full:
        return Latencies()
    least, largest = min(part.least_ns for part in full), max(part.largest_ns for part in full)
    return Latencies(sum(part.count for part in full), least, largest, tuple(sorted(bins.items())))
