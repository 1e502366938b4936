"""Counts the lines of one signature, subject and process in one part, before they leave it."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.model.log import MINUTE_US, SUBJECT_FIELDS, Histogram
from jsdoctor.parse.logs.lines.matcher import Match
from jsdoctor.parse.logs.scan.rows import Fields, KeptLine

EXEMPLARS = 3
"""First lines kept of each signature, subject and server; the last one is kept too."""

_UNDATED = 1 << 62
_COMPACT_BYTES = 64 << 10
_SUBJECT = frozenset(SUBJECT_FIELDS)


Place = tuple[int, int | None, bool]
"""Where and when a line is: its offset in the file, its time (None: undated), and whether that is UTC."""

Line = tuple[int, int | None, bool, Fields]
"""A line to keep, still in its block: its place, and what it captured."""

Rank = tuple[int, int]
"""By what lines are ordered: time, and offset in the file."""


class SignatureCounter:
    """Lines so far. Lines to keep are `Line` until their block is settled."""

    __slots__ = (
        "_compact",
        "_measured",
        "_spans",
        "count",
        "firsts",
        "last",
        "last_rank",
        "line",
        "match",
        "measures",
        "zoned",
    )

    def __init__(self, match: Match, zoned: bool) -> None:
        self.match, self.zoned = match, zoned
        self._measured = not _SUBJECT.issuperset(match.signature.fields)
        self.count = 0
        self._spans, self._compact = bytearray(), _COMPACT_BYTES
        self.measures: dict[str, list[int]] = {}
        self.firsts: list[tuple[Rank, Line | KeptLine]] = []
        self.last_rank: Rank = (-_UNDATED, -1)
        self.line: Line | None = None
        self.last: KeptLine | None = None

    def add(self, us: int | None, offset: int, match: Match) -> None:
        """Count one line."""
        self.measure(match, 1)
        if us is not None:
            self.count_dated(1, Histogram.of([(us, us, 1)]).packed)
            self.keep(us, offset, match)
            return
        self.count += 1
        if len(self.firsts) < EXEMPLARS:
            self._keep_first((_UNDATED, offset), (offset, None, self.zoned, match.others))

    def count_dated(self, count: int, minutes: bytes) -> None:
        """Count dated lines: how many, and a packed histogram of them. Minutes may come more than once."""
        self.count += count
        self._spans += minutes
        if len(self._spans) > self._compact:
            self._spans = bytearray(self.minutes().packed)
            self._compact = max(_COMPACT_BYTES, 2 * len(self._spans))

    def minutes(self) -> Histogram:
        """The dated lines, minute by minute."""
        return Histogram.joined(Histogram(bytes(self._spans)).spans(), MINUTE_US)

    def measure(self, match: Match, count: int) -> None:
        """Take in the numbers of so many lines in the same words."""
        if not self._measured:
            return
        for field, value in match.measures:
            known = self.measures.get(field)
            if known is None:
                self.measures[field] = [count, value, value]
                continue
            known[0] += count
            if value < known[1]:
                known[1] = value
            elif value > known[2]:
                known[2] = value

    def wants(self, rank: Rank) -> bool:
        """Whether a dated line is among the first ones."""
        return len(self.firsts) < EXEMPLARS or rank < self.firsts[-1][0]

    def keep(self, us: int, offset: int, match: Match) -> None:
        """Keep a dated line if it is among the first ones, or the last."""
        rank = (us, offset)
        first = self.wants(rank)
        if not first and rank <= self.last_rank:
            return
        line = (offset, us, self.zoned, match.others)
        if first and all(known != rank for known, _ in self.firsts):
            self._keep_first(rank, line)
        if rank > self.last_rank:
            self.last_rank, self.line = rank, line

    def _keep_first(self, rank: Rank, line: Line) -> None:
        self.firsts.append((rank, line))
        self.firsts.sort(key=_rank)
        del self.firsts[EXEMPLARS:]

    def waiting(self) -> Iterator[Line]:
        """Lines that are to be kept and are still in their block."""
        for _, line in self.firsts:
            if isinstance(line, tuple):
                yield line
        if self.line is not None:
            yield self.line

    def settle(self, seen: Iterator[KeptLine]) -> None:
        """What the waiting lines are, in the same order."""
        self.firsts = [(rank, next(seen) if isinstance(line, tuple) else line) for rank, line in self.firsts]
        if self.line is not None:
            self.last, self.line = next(seen), None

    def kept(self) -> tuple[list[KeptLine], KeptLine | None]:
        """The first lines, and the last one where it is none of them, once they are settled."""
        among = any(rank == self.last_rank for rank, _ in self.firsts)
        return [seen for _, seen in self.firsts if isinstance(seen, KeptLine)], None if among else self.last


Known = tuple[SignatureCounter, Match]
"""What a text is counted with, and what was found in it."""


def _rank(first: tuple[Rank, Line | KeptLine]) -> Rank:
    return first[0]
