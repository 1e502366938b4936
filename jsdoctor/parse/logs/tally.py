"""Counts the lines of one signature, subject and voice in one part, before they leave it."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.model.log import MINUTE_US
from jsdoctor.parse.logs.matcher import Match
from jsdoctor.parse.logs.rows import Fields, Seen

EXEMPLARS = 3
"""First lines kept of each signature, subject and server; the last one is kept too."""

_UNDATED = 1 << 62


Line = tuple[int, int | None, bool, Fields]
"""A line to keep, still in its block: its offset in the file, its time (`zoned` True: UTC), what it captured."""


class Tally:
    """Lines so far. First lines that are to be kept wait as `Line` until their block is done."""

    __slots__ = ("count", "firsts", "last", "last_us", "line", "match", "measures", "minutes", "pending", "worst")

    def __init__(self, match: Match) -> None:
        self.match = match
        self.count = 0
        self.minutes: dict[int, list[int]] = {}
        self.measures: dict[str, list[int]] = {}
        self.firsts: list[tuple[int, int, Line | Seen]] = []
        self.worst = _UNDATED + 1
        self.line: Line | None = None
        self.last: Seen | None = None
        self.last_us = -1
        self.pending = False

    def add(self, us: int | None, match: Match, line: Line) -> None:
        """One more line; they come in the order of the file."""
        self.count += 1
        if us is None:
            rank = _UNDATED
        else:
            rank = us
            known = self.minutes.get(us // MINUTE_US)
            if known is None:
                self.minutes[us // MINUTE_US] = [1, us, us]
            else:
                known[0] += 1
                if us > known[2]:
                    known[2] = us
                elif us < known[1]:
                    known[1] = us
            if us >= self.last_us:
                self.last_us, self.line = us, line
        if match.measures:
            self._measure(match)
        if rank < self.worst:
            self._keep(rank, line)

    def _measure(self, match: Match) -> None:
        for field, value in match.measures:
            known = self.measures.setdefault(field, [0, value, value])
            known[0] += 1
            known[1], known[2] = min(known[1], value), max(known[2], value)

    def _keep(self, rank: int, line: Line) -> None:
        firsts = self.firsts
        in_order = not firsts or rank >= firsts[-1][0]
        firsts.append((rank, line[0], line))
        if not in_order:
            firsts.sort(key=_rank)
            del firsts[EXEMPLARS:]
        if len(firsts) == EXEMPLARS:
            self.worst = firsts[-1][0]

    def waiting(self) -> Iterator[Line]:
        """Lines that are to be kept and are still in their block."""
        for _, _, line in self.firsts:
            if isinstance(line, tuple):
                yield line
        if self.line is not None:
            yield self.line

    def settle(self, seen: Iterator[Seen]) -> None:
        """What the waiting lines are, in the same order."""
        self.pending = False
        self.firsts = [(us, at, next(seen) if isinstance(line, tuple) else line) for us, at, line in self.firsts]
        if self.line is not None:
            self.last, self.line = next(seen), None

    def kept(self) -> tuple[list[Seen], Seen | None]:
        """The first lines, and the last one, once they are settled."""
        return [seen for _, _, seen in self.firsts if isinstance(seen, Seen)], self.last


def _rank(first: tuple[int, int, Line | Seen]) -> tuple[int, int]:
    return first[:2]
