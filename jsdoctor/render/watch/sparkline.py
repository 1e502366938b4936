"""A row of numbers as a row of bars, one column each."""

from __future__ import annotations

from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"
_ASCII_BARS = "_.-:=+*#"


def sparkline(values: Sequence[float], width: int, ascii_only: bool = False) -> str:
    """The newest `width` values, the lowest as the lowest bar and the highest as the highest. Equal values lie low."""
    shown = list(values)[-width:]
    if not shown:
        return ""
    bars = _ASCII_BARS if ascii_only else _BARS
    low, high = min(shown), max(shown)
    if high == low:
        return bars[0] * len(shown)
    top = len(bars) - 1
    return "".join(bars[round((value - low) / (high - low) * top)] for value in shown)
