"""Many values in little memory: bins of logarithmic width, at most some hundreds of them."""

from __future__ import annotations

from jsdoctor.model.packets import Quantiles

_STEPS = 4
"""2 to the 4th bins per doubling: a bin is 6 % wide."""


class ValueHistogram:
    """Counts of values that are not negative."""

    __slots__ = ("_bins", "count", "largest")

    def __init__(self) -> None:
        self._bins: dict[int, int] = {}
        self.count = 0
        self.largest = 0

    def add(self, value: int) -> None:
        """Count one value; a negative one as 0."""
        value = max(value, 0)
        shift = max(value.bit_length() - _STEPS - 1, 0)
        index = (shift << _STEPS) + (value >> shift)
        self._bins[index] = self._bins.get(index, 0) + 1
        self.count += 1
        self.largest = max(self.largest, value)

    def quantiles(self) -> Quantiles:
        """The quantiles of the values, and the largest."""
        if not self.count:
            return Quantiles()
        p50, p95, p99 = (self._at(share) for share in (50, 95, 99))
        return Quantiles(count=self.count, p50=p50, p95=p95, p99=p99, largest=self.largest)

    def _at(self, percent: int) -> int:
        """The upper bound of the bin that holds that percentile."""
        rank = (self.count * percent + 99) // 100
        for index in sorted(self._bins):
            rank -= self._bins[index]
            if rank <= 0:
                return min(_upper_bound(index), self.largest)
        return self.largest


def _upper_bound(index: int) -> int:
    if index < 2 << _STEPS:
        return index
    shift = (index >> _STEPS) - 1
    return (((index - (shift << _STEPS)) + 1) << shift) - 1
