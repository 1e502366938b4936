"""The nearest right spelling of a wrong name, for error messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_ALIKE = str.maketrans("oil", "011")


def did_you_mean(wrong: str, right: Iterable[str]) -> str:
    """`; did you mean 'x'?` when one of the right names is near, else nothing."""
    names = list(right)
    by_lowercase = {name.lower(): name for name in names}
    # What only looks alike is nearer than what has one more letter right: JSD4O3 is JSD403, not JSD413.
    alike = [low for low in by_lowercase if low.translate(_ALIKE) == wrong.lower().translate(_ALIKE)]
    near = alike or get_close_matches(wrong.lower(), by_lowercase, n=1, cutoff=0.6)
    return f"; did you mean {by_lowercase[near[0]]!r}?" if near else ""
