"""Rings of files: one long capture in several files (tcpdump -C and -G, dumpcap -b), whose names differ in digits."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

_DIGITS = re.compile(r"\d+")
_OVERLAP_NS = 1_000_000_000
"""A file may begin so long before the last packet of the file before it: several queues are written out of order."""


class Ring:
    """Files that may be one capture, oldest first, each with the time of its first packet (None: unknown)."""

    def __init__(self, files: list[tuple[Path, int | None]]) -> None:
        self.files = files

    def continues(self, last_ns: int) -> bool:
        """Whether the next file begins after what was read so far: two views of one time are two captures."""
        if not self.files or not last_ns:
            return False
        first_ns = self.files[0][1]
        return first_ns is not None and first_ns >= last_ns - _OVERLAP_NS


def rings_of(paths: Sequence[Path], first_time: Callable[[Path], int | None]) -> list[Ring]:
    """Files grouped by directory and by name without digits, in the order in which each group was named first."""
    groups: dict[tuple[Path, str], list[Path]] = {}
    for path in paths:
        groups.setdefault((path.parent, _DIGITS.sub("", path.name)), []).append(path)
    rings = []
    for group in groups.values():
        timed = [(path, first_time(path) if len(group) > 1 else None) for path in group]
        if all(first_ns is not None for _, first_ns in timed):
            timed.sort(key=lambda entry: entry[1] or 0)
        rings.append(Ring(timed))
    return rings
