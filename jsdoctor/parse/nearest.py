"""The nearest right spelling of a wrong name, for error messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(wrong: str, right: Iterable[str]) -> str:
    """`; did you mean 'x'?` when one of the right names is near, else nothing."""
    names = list(right)
    folded = {name.lower(): name for name in names}
    near = get_close_matches(wrong.lower(), folded, n=1, cutoff=0.6)
    return f"; did you mean {folded[near[0]]!r}?" if near else ""
