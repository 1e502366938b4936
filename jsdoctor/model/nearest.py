"""The nearest right spelling of a wrong name, for error messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_LOOKALIKES = str.maketrans("oil", "011")


def did_you_mean(wrong: str, right: Iterable[str]) -> str:
    """`; did you mean 'x'?` when one of the right names is near, else nothing."""
    by_lowercase = {name.lower(): name for name in right}
    sought = wrong.lower()
    shape = sought.translate(_LOOKALIKES)
    # What only looks alike is nearer than what has one more letter right: JSD4O3 is JSD403, not JSD413.
    lookalikes = [low for low in by_lowercase if low.translate(_LOOKALIKES) == shape]
    near = lookalikes or get_close_matches(sought, by_lowercase, n=1, cutoff=0.6)
    return f"; did you mean {by_lowercase[near[0]]!r}?" if near else ""
