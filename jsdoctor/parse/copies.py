"""Finds copies of known texts, in a time that grows with the text searched and not with the length of what is known.

A pattern of all known texts would compare, at each place, as much as agrees there: for two runs of one letter, that
is the square of their length. So a pattern finds only places where the first bytes of a known text are. What is short
is looked up there. Of what is long, `bytes.find` gives the next copy, once until that place is passed; CPython's
search takes a time that grows with the text alone, whatever repeats in it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby

MIN_KNOWN = 6
"""Shortest text that is searched for."""
_MAX_SHORT = 128


class Copies:
    """Copies of texts of at least `MIN_KNOWN` bytes: at each place the longest, from the first place on."""

    def __init__(self, known: Iterable[bytes]) -> None:
        longest_first = sorted(set(known), key=lambda text: (-len(text), text))
        starts = {text[:MIN_KNOWN] for text in longest_first}
        self._start = re.compile(_any_of(starts)) if starts else None
        self._short = frozenset(text for text in longest_first if len(text) <= _MAX_SHORT)
        self._long: dict[bytes, list[bytes]] = defaultdict(list)
        lengths: dict[bytes, dict[int, None]] = defaultdict(dict)
        for text in longest_first:
            if len(text) > _MAX_SHORT:
                self._long[text[:_MAX_SHORT]].append(text)
            else:
                lengths[text[:MIN_KNOWN]][len(text)] = None
        self._lengths = {start: tuple(of_start) for start, of_start in lengths.items()}

    def spans(self, text: bytes) -> Iterator[tuple[int, int]]:
        """Where copies are in a text: first byte of each, and first byte after it."""
        if self._start is None:
            return
        upcoming: dict[bytes, int] = {}
        at = 0
        while match := self._start.search(text, at):
            start = match.start()
            if length := self._long_at(text, start, upcoming) or self._short_at(text, start, match[0]):
                yield start, start + length
            at = start + (length or 1)

    def are_in(self, text: bytes) -> bool:
        """Whether there is a copy in a text."""
        return next(self.spans(text), None) is not None

    def _short_at(self, text: bytes, at: int, start: bytes) -> int:
        for length in self._lengths.get(start, ()):
            copy = text[at : at + length]
            if len(copy) == length and copy in self._short:
                return length
        return 0

    def _long_at(self, text: bytes, at: int, upcoming: dict[bytes, int]) -> int:
        for known in self._long.get(text[at : at + _MAX_SHORT], ()):
            if upcoming.get(known, -1) < at:
                position = text.find(known, at)
                upcoming[known] = position if position >= 0 else len(text)
            if upcoming[known] == at:
                return len(known)
        return 0


def _any_of(starts: Collection[bytes]) -> bytes:
    """A pattern of texts of one length, that looks at no byte twice."""
    branches = []
    for first, group in groupby(sorted(starts), key=lambda start: start[:1]):
        rests = [start[1:] for start in group]
        branches.append(re.escape(first) + (_any_of(rests) if rests[0] else b""))
    return branches[0] if len(branches) == 1 else b"(?:" + b"|".join(branches) + b")"
