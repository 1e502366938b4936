"""Reads the stamps of every line of a block with Python alone."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import groupby

from jsdoctor.parse.logs.lines.line import LINE_CAP
from jsdoctor.parse.logs.lines.stamp import native_second_us
from jsdoctor.parse.logs.scan import repeats
from jsdoctor.parse.logs.scan.time_segments import (
    CandidateLines,
    FoundLines,
    ProcessKeys,
    TimeSegment,
    Tracker,
    stamp_start,
)

_Line = tuple[int, int, int, int | None]
"""Begin and end of a line, position of its stamp, and the time of the stamp in microseconds; None: no stamp."""


def read_clock(block: bytes) -> PlainClock:
    """See `ClockReader`."""
    return PlainClock(block)


class PlainClock:
    """See `BlockClock`."""

    grouped = staticmethod(repeats.grouped)

    def __init__(self, block: bytes) -> None:
        self._block = block
        self._starts: list[int] = []
        self._found: list[_Line] = []
        self.long_lines = at = 0
        while at < len(block):
            end = block.find(b"\n", at)
            end = len(block) if end < 0 else end
            self._starts.append(at)
            self._found.append(_read(block, at, end))
            self.long_lines += end - at > LINE_CAP
            at = end + 1
        self.lines = len(self._starts)

    def numbers(self, starts: Sequence[int]) -> list[int]:
        """See `BlockClock`."""
        return [bisect_left(self._starts, start) for start in starts]

    def loud(self, singly: bool, openings: Sequence[bytes]) -> CandidateLines:  # noqa: ARG002  # nothing is quiet
        """See `BlockClock`. Here that is everything: to look for quiet lines takes longer than to search the text."""
        if singly:
            return CandidateLines((), range(self.lines), self.lines, whole=True)
        return CandidateLines([(0, len(self._block))], (), self.lines, whole=True)

    def lines_of(self, single: Sequence[int], positions: Sequence[int]) -> FoundLines:
        """See `BlockClock`."""
        where = [(position, bisect_right(self._starts, position) - 1) for position in positions]
        result = {line for position, line in where if position - self._starts[line] < LINE_CAP}
        lines = [self._found[line] for line in sorted(result.union(single))]
        runs = []
        at = 0
        for _, alike in groupby(lines, key=self._before_stamp):
            runs.append((at, at := at + len(list(alike))))
        begins, ends, stamps, us = map(list, zip(*lines, strict=True)) if lines else ([], [], [], [])
        return FoundLines(begins, ends, stamps, us, runs)

    def _before_stamp(self, line: _Line) -> bytes | None:
        begin, _, stamp, us = line
        return None if us is None else self._block[begin:stamp]

    def segments(self, cuts: Sequence[int], skip: Sequence[int], keys: ProcessKeys) -> Sequence[TimeSegment]:
        """See `BlockClock`."""
        tracker, left_out = Tracker(), frozenset(skip)
        for begin, _, stamp, us in self._found:
            key = keys.of(self._block[begin:stamp]) if us is not None and begin not in left_out else None
            if us is not None and key is not None:
                tracker.add(key, bisect_right(cuts, begin), us, begin)
        return tracker.segments()


def _read(block: bytes, begin: int, end: int) -> _Line:
    head = block[begin : min(end, begin + 400)]
    start = stamp_start(head)
    second = native_second_us(head[start : start + 19]) if start >= 0 else None
    if second is None:
        return begin, end, begin, None
    return begin, end, begin + start, second + int(head[start + 20 : start + 26])
