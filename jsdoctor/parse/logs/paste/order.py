"""Exports that begin with the newest line, turned round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

_MIN = 3
_SAMPLE = 4000
"""Number of first lines from which the order is taken: reading the time of each line of a large export takes long."""

_SHARE = 0.8


def oldest_first(lines: Sequence[str], time_of: Callable[[str], int | None]) -> list[str] | None:
    """The lines in the order in which they were written, or None when they are in it already.

    A line without a time stays behind the one that it follows.
    """
    times = [time_of(line) for line in lines[:_SAMPLE]]
    known = [us for us in times if us is not None]
    falls = sum(later < earlier for earlier, later in pairwise(known))
    rises = sum(later > earlier for earlier, later in pairwise(known))
    if len(known) < _MIN or falls < _SHARE * (falls + rises) or falls < _MIN - 1:
        return None
    times.extend(map(time_of, lines[_SAMPLE:]))
    groups: list[list[str]] = [[]]
    for line, us in zip(lines, times, strict=True):
        if us is not None and groups[-1]:
            groups.append([])
        groups[-1].append(line)
    return [line for group in reversed(groups) for line in group]
