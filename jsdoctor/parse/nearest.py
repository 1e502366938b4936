"""The nearest right spelling of a wrong name, for error messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_ALIKE = str.maketrans("oil", "011")


def did_you_mean(wrong: str, right: Iterable[str]) -> str:
    """`; did you mean 'x'?` when one of the right names is near, else nothing."""
    names = list(right)
    folded = {name.lower(): name for name in names}
    # What only looks alike is nearer than what has one more letter right: JSD4O3 is JSD403, not JSD413.
    alike = [low for low in folded if low.translate(_ALIKE) == wrong.lower().translate(_ALIKE)]
    near = alike or get_close_matches(wrong.lower(), folded, n=1, cutoff=0.6)
    return f"; did you mean {folded[near[0]]!r}?" if near else ""
