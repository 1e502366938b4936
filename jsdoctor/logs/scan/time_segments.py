"""Segments: neighbouring lines of one process in a block, by the server's own stamps, and how its clock went there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from jsdoctor.logs.lines.line import HEADER_WITHIN, unwrap_prefix
from jsdoctor.logs.lines.stamp import LogYear

STEP_US = 250_000
"""Minimum time by which a clock goes back in a step; less is due to two threads that logged at once."""

GAP_US = 60_000_000
"""Minimum length of a gap: a process logged nothing for this time."""

ProcessKey = tuple[str, int | None]
"""The process of a line: the name in its wrapping, and the process id."""


class Jump(NamedTuple):
    """Two neighbouring lines of one process: offset of the later one, and the stamps of both."""

    offset: int
    before_us: int
    after_us: int


class TimeSegment(NamedTuple):
    """Lines of one process between two cuts of a block. Offsets are in the block, times the server's own."""

    process: ProcessKey
    cut: int
    first_us: int
    first_at: int
    last_us: int
    last_at: int
    lowest_us: int
    highest_us: int
    lines: int
    steps: tuple[Jump, ...]
    gaps: tuple[Jump, ...]


class FoundLines(NamedTuple):
    """Some lines of a block, as columns: begin, end, position of the stamp, and the time of the stamp.

    Times are microseconds, the server's own; None: no stamp. `runs` are ranges of neighbouring ones of these that all
    have a stamp and the same bytes before it, or all have none.
    """

    begins: list[int]
    ends: list[int]
    stamps: list[int]
    us: Sequence[int | None]
    runs: list[tuple[int, int]]


class CandidateLines(NamedTuple):
    """The lines of a block that are not messages of a server at DBG or TRC.

    `runs` are ranges of whole lines to be searched, `single` the numbers, from 0, of lines to be read one by one;
    `lines` is how many there are in all. `whole`: no line is quiet.
    """

    runs: Sequence[tuple[int, int]]
    single: Sequence[int]
    lines: int
    whole: bool


class BlockLines(Protocol):
    """The lines of a block and their stamps. `long_lines` are those of which not all is read."""

    lines: int
    long_lines: int

    def numbers(self, starts: Sequence[int]) -> list[int]:
        """The numbers, from 0, of the lines that start at these offsets."""
        ...

    def segments(self, cuts: Sequence[int], skip: Sequence[int], keys: ProcessKeys) -> Sequence[TimeSegment]:
        """All segments, in the order in which they begin.

        `cuts` are line starts where processes begin, `skip` those of lines to leave out.
        """
        ...


_TIMES = re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[^ \]\t]*|[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d(?:\.\d+)?")
_PID = re.compile(rb"\[(\d{1,10})\] $")
_AGGREGATED = re.compile(rb'\{(?!"log":")')


class ProcessKeys:
    """Maps the bytes before a stamp to the key of their process, with a cache."""

    def __init__(self, year: LogYear) -> None:
        self._year = year
        self._known: dict[bytes, ProcessKey | None] = {}

    def of(self, prefix: bytes) -> ProcessKey | None:
        """The process of a line by its first bytes; None if the line is JSON that may mix processes."""
        known = self._known.get(prefix, False)
        if known is not False:
            return known  # type: ignore[return-value]  # False marks a miss, and is no key
        timeless = _TIMES.sub(b"", prefix)
        known = self._known.get(timeless, False)
        if known is False:
            known = self._read(prefix)  # with its time: no form of syslog is recognised without
            if len(self._known) > 10_000:
                self._known.clear()
            self._known[timeless] = known
        return known  # type: ignore[return-value]

    def _read(self, prefix: bytes) -> ProcessKey | None:
        if _AGGREGATED.search(prefix):
            return None
        pid = _PID.search(prefix)
        head = prefix[: pid.start()] if pid else prefix
        if head.endswith(b'{"log":"'):
            head = head[:-8]
        outer = unwrap_prefix(head, self._year)
        return outer.label, int(pid[1]) if pid else outer.pid


_STAMP = re.compile(rb"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{6} \[")


def stamp_start(line: bytes) -> int:
    """Where the server's stamp stands in a line, or -1: the first one that a bracket follows, near the start."""
    match = _STAMP.search(line, 0, HEADER_WITHIN)
    return match.start() if match else -1
