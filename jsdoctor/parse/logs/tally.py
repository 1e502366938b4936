"""Counts the lines of one signature, subject and voice in one part, before they leave it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from jsdoctor.model.log import MINUTE_US, SUBJECT_FIELDS
from jsdoctor.parse.logs.matcher import Match
from jsdoctor.parse.logs.rows import Fields, Seen

EXEMPLARS = 3
"""First lines kept of each signature, subject and server; the last one is kept too."""

_UNDATED = 1 << 62
_SUBJECT = frozenset(SUBJECT_FIELDS)


Place = tuple[int, int | None, bool]
"""Where and when a line is: its offset in the file, its time (None: undated), and whether that is UTC."""

Line = tuple[int, int | None, bool, Fields]
"""A line to keep, still in its block: its place, and what it captured."""

Fresh = tuple[int | None, int, Match]
"""A line not yet counted: its time, its offset in the file, and what was found in it."""

_Dated = tuple[int, int, Match]


class Tally:
    """Lines so far. Those of a block are counted together at its end; lines to keep are `Line` until it is settled."""

    __slots__ = (
        *("count", "firsts", "fresh", "last", "last_us", "line"),
        *("match", "measured", "measures", "minutes", "worst", "zoned"),
    )

    def __init__(self, match: Match, zoned: bool) -> None:
        self.match, self.zoned = match, zoned
        self.measured = not _SUBJECT.issuperset(match.signature.fields)
        self.count = 0
        self.fresh: list[Fresh] = []
        self.minutes: dict[int, list[int]] = {}
        self.measures: dict[str, list[int]] = {}
        self.firsts: list[tuple[int, int, Line | Seen]] = []
        self.worst = _UNDATED + 1
        self.line: Line | None = None
        self.last: Seen | None = None
        self.last_us = -1

    def count_fresh(self) -> None:
        """Count the lines that came since the last time, in the order of the file."""
        fresh = self.fresh
        self.count += len(fresh)
        if fresh[0][0] is None:
            for line in fresh[: EXEMPLARS - len(self.firsts)]:
                self._keep(_UNDATED, line)
        else:
            self._count_dated(cast("list[_Dated]", fresh))
        if self.measured:
            for _, _, match in fresh:
                self._measure(match)
        fresh.clear()

    def _count_dated(self, fresh: list[_Dated]) -> None:
        minutes, last_us, minute, known = self.minutes, self.last_us, _UNDATED, [0, 0, 0]
        last: _Dated | None = None
        for line in fresh:
            us = line[0]
            if us // MINUTE_US != minute:
                minute = us // MINUTE_US
                known = minutes.get(minute) or minutes.setdefault(minute, [0, us, us])
            known[0] += 1
            if us > known[2]:
                known[2] = us
            elif us < known[1]:
                known[1] = us
            if us >= last_us:
                last_us, last = us, line
            if us < self.worst:
                self._keep(us, line)
        if last is not None:
            self.last_us, self.line = last_us, self._line(last)

    def _line(self, line: Fresh) -> Line:
        us, offset, match = line
        return (offset, us, self.zoned, match.others)

    def _measure(self, match: Match) -> None:
        for field, value in match.measures:
            known = self.measures.get(field)
            if known is None:
                self.measures[field] = [1, value, value]
                continue
            known[0] += 1
            if value < known[1]:
                known[1] = value
            elif value > known[2]:
                known[2] = value

    def _keep(self, rank: int, line: Fresh) -> None:
        """Keep a line among the first ones; `worst` is the rank that others must be below from now on."""
        firsts = self.firsts
        in_order = not firsts or rank >= firsts[-1][0]
        firsts.append((rank, line[1], self._line(line)))
        if not in_order:
            firsts.sort(key=_rank)
            del firsts[EXEMPLARS:]
        self.worst = firsts[-1][0] if len(firsts) == EXEMPLARS else _UNDATED + 1

    def waiting(self) -> Iterator[Line]:
        """Lines that are to be kept and are still in their block."""
        for _, _, line in self.firsts:
            if isinstance(line, tuple):
                yield line
        if self.line is not None:
            yield self.line

    def settle(self, seen: Iterator[Seen]) -> None:
        """What the waiting lines are, in the same order."""
        self.firsts = [(us, at, next(seen) if isinstance(line, tuple) else line) for us, at, line in self.firsts]
        if self.line is not None:
            self.last, self.line = next(seen), None

    def kept(self) -> tuple[list[Seen], Seen | None]:
        """The first lines, and the last one, once they are settled."""
        return [seen for _, _, seen in self.firsts if isinstance(seen, Seen)], self.last


def _rank(first: tuple[int, int, Line | Seen]) -> tuple[int, int]:
    return first[:2]
