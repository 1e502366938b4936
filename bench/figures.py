"""Figures and how they are printed: medians with their spread, growth, and a table with limits and verdicts."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import linear_regression, median
from typing import Self


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of several measurements, with the least and the greatest."""

    middle: float
    least: float
    greatest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """Of at least one value."""
        return cls(median(values), min(values), max(values))

    def text(self, unit: str, digits: int = 2, scale: float = 1) -> str:
        """As `1.50 s (1.40 to 1.80)`."""
        middle, least, greatest = (f"{value * scale:.{digits}f}" for value in (self.middle, self.least, self.greatest))
        return f"{middle}{unit} ({least} to {greatest})"


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. `met` None: nothing is promised of it. `strict`: whether missing it fails `--strict`."""

    what: str
    figure: str
    limit: str = ""
    met: bool | None = None
    strict: bool = True

    @property
    def verdict(self) -> str:
        """PASS, MISS or nothing."""
        return "" if self.met is None else "PASS" if self.met else "MISS"


@dataclass(frozen=True, slots=True)
class Table:
    """What one benchmark found out."""

    title: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @property
    def missed(self) -> bool:
        """Whether a promise was not kept."""
        return any(row.met is False and row.strict for row in self.rows)

    def text(self) -> str:
        """The table in aligned columns, notes below."""
        cells = [(row.what, row.figure, row.limit, row.verdict) for row in self.rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
        ]
        return "\n".join([self.title, "-" * len(self.title), *lines, *(f"  {note}" for note in self.notes)])


def exponent(points: Iterable[tuple[float, float]]) -> float:
    """The b of y = a x^b that fits the points best: 1 is linear growth. NaN without two points above zero."""
    logarithms = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0]
    if len(logarithms) < 2:
        return math.nan
    return linear_regression(*zip(*logarithms, strict=True)).slope
