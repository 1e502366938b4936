"""A share of few or many: what was counted, and between which bounds the true share lies.

Wilson's score interval (E. B. Wilson, 1927): right for small numbers and for shares near 0, where mean and deviation
are not.
"""

from __future__ import annotations

from math import sqrt

import msgspec

_Z = 1.96
"""Of a normal distribution: 95 % lie so many deviations around the mean."""
_TOO_FEW = 3
"""Fewer events may be one accident, whatever their share."""


class Share(msgspec.Struct, frozen=True):
    """`events` out of `of`, which count the same things; if `of` is 0, the share is unknown.

    `events` may exceed `of` where a thing can happen to the same one several times: the ratio is then above 1.
    """

    events: int
    of: int

    @property
    def ratio(self) -> float:
        """The ratio that was counted."""
        return self.events / self.of if self.of else 0.0

    @property
    def low(self) -> float:
        """Lower bound of the true share (95 %)."""
        return max(0.0, self._middle - self._half) if self.events and self.of else 0.0

    @property
    def high(self) -> float:
        """Upper bound of the true share (95 %)."""
        return min(1.0, self._middle + self._half) if self.of and self.events < self.of else 1.0

    @property
    def _middle(self) -> float:
        return (min(self.ratio, 1.0) + _Z * _Z / (2 * self.of)) / (1 + _Z * _Z / self.of)

    @property
    def _half(self) -> float:
        share = min(self.ratio, 1.0)
        spread = share * (1 - share) / self.of + _Z * _Z / (4 * self.of * self.of)
        return _Z / (1 + _Z * _Z / self.of) * sqrt(spread)

    def reaches(self, limit: float, enough: int) -> bool:
        """Whether the limit is reached for certain.

        Either `enough` events reach it, or at least three events do and the lower bound of their share reaches it too.
        """
        sure = self.events >= enough or (self.events >= _TOO_FEW and self.low >= limit)
        return self.of > 0 and self.ratio >= limit and sure
