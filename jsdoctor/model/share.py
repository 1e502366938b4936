"""A share of few or many: what was counted, and between which bounds the true share lies.

Wilson's score interval (E. B. Wilson, 1927): right for small numbers and for shares near 0, where mean and deviation
are not.
"""

from __future__ import annotations

from math import sqrt

import msgspec

_DEVIATIONS_95 = 1.96
"""95 % of a normal distribution lie within so many standard deviations of the mean."""
_MIN_EVENTS = 3
"""Fewer events may be one accident, even if their share is high."""


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
        return max(0.0, self._middle - self._half_width) if self.events and self.of else 0.0

    @property
    def high(self) -> float:
        """Upper bound of the true share (95 %)."""
        return min(1.0, self._middle + self._half_width) if self.of and self.events < self.of else 1.0

    @property
    def _middle(self) -> float:
        return (min(self.ratio, 1.0) + _DEVIATIONS_95 * _DEVIATIONS_95 / (2 * self.of)) / (
            1 + _DEVIATIONS_95 * _DEVIATIONS_95 / self.of
        )

    @property
    def _half_width(self) -> float:
        share = min(self.ratio, 1.0)
        spread = share * (1 - share) / self.of + _DEVIATIONS_95 * _DEVIATIONS_95 / (4 * self.of * self.of)
        return _DEVIATIONS_95 / (1 + _DEVIATIONS_95 * _DEVIATIONS_95 / self.of) * sqrt(spread)

    def reaches(self, limit: float, enough: int) -> bool:
        """Whether the limit is reached for certain.

        Either `enough` events reach it, or at least three events do and the lower bound of their share reaches it too.
        """
        is_certain = self.events >= enough or (self.events >= _MIN_EVENTS and self.low >= limit)
        return self.of > 0 and self.ratio >= limit and is_certain
