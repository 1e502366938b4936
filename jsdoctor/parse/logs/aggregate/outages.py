"""Takes the lines of a trouble apart into outages: how long each lasted, and what ended it.

With the compiled core where it is installed: where much goes wrong, nearly every minute of every subject is an outage
of its own, and few of them are kept.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple, Protocol

from jsdoctor.model.log import CLOCK_US, Histogram
from jsdoctor.parse.compiled_core import CompiledCore
from jsdoctor.parse.logs.aggregate.series import NO_TIME

PAUSE_US = 300_000_000
"""A problem that is not logged for this time, in microseconds, is over; the next line begins another outage."""

Importance = tuple[bool, int]
"""Outages that nothing ended come first, then those that lasted longest."""


class OutageEnding(NamedTuple):
    """A line that ends a trouble."""

    us: int
    signature: str


class Outage(NamedTuple):
    """Lines of one trouble: first and last time, how many they are, and what ended them."""

    began: int
    last: int
    lines: int
    ended: OutageEnding | None

    @property
    def importance(self) -> Importance:
        """See `Importance`."""
        if self.began < CLOCK_US:
            return self.ended is not None, 0
        return self.ended is not None, self.began - (self.ended.us if self.ended else self.last)


class Endings:
    """Lines of one signature, of all servers on one clock, that may end a trouble: buckets by both their times."""

    def __init__(self, signature: str) -> None:
        self.signature = signature
        self._times: list[int] = []
        self._packed: bytes | None = None

    def add(self, buckets: Histogram, shift: int) -> None:
        """`shift`: what to add to be on the common clock."""
        times = (*buckets.firsts(), *buckets.lasts())
        self._times.extend([us + shift for us in times] if shift else times)
        self._packed = None

    def after(self, us: int) -> int | None:
        """The first known time at or after `us`: that of a first line, or of the last one of a bucket around `us`."""
        self.packed()
        index = bisect_left(self._times, us)
        return self._times[index] if index < len(self._times) else None

    def packed(self) -> bytes:
        """All times in order, eight bytes each."""
        if self._packed is None:
            self._times.sort()
            times = array("q", self._times)
            if sys.byteorder == "big":
                times.byteswap()
            self._packed = times.tobytes()
        return self._packed


Find = Callable[[Histogram, Sequence[Endings], int, bool, Importance | None], tuple[int, list[Outage]]]
"""Finds how many outages there are in some lines, and those that are wanted.

Arguments: the lines, what may end them, what to add to their times to be on the clock of that, whether outages that
nothing ended are left out, and how important the others have to be.
"""


def find(
    lines: Histogram, endings: Sequence[Endings], shift: int, doubtful: bool, least: Importance | None
) -> tuple[int, list[Outage]]:
    """See `Find`."""
    outages = list(_all(lines, endings, shift))
    wanted = [outage for outage in outages if outage.ended or not doubtful]
    return len(outages), [outage for outage in wanted if least is None or outage.importance <= least]


def _all(lines: Histogram, endings: Sequence[Endings], shift: int) -> Iterator[Outage]:
    """After a pause, or an end between two of the lines, the later line begins another outage."""
    began = last = count = 0
    ended, until = None, -NO_TIME  # what ends the trouble whose last line is at this time or before
    for first_us, last_us, more in lines.spans():
        if count:
            if last > until:
                ended = _after(endings, last, shift)
                until = ended.us if ended is not None else NO_TIME
            if first_us - last > PAUSE_US or (ended is not None and ended.us < first_us):
                yield Outage(began, last, count, ended)
                count = 0
        began = began if count else first_us
        last, count = max(last, last_us) if count else last_us, count + more
    if count:
        yield Outage(began, last, count, _after(endings, last, shift))


def _after(endings: Sequence[Endings], us: int, shift: int) -> OutageEnding | None:
    """The first line at or after `us` (of the trouble's clock) that ends it."""
    best: OutageEnding | None = None
    for ending in endings:
        at = ending.after(us + shift)
        if at is not None and (best is None or at - shift < best.us):
            best = OutageEnding(at - shift, ending.signature)
    return best


class _Core(Protocol):
    def outages(  # noqa: PLR0917  # a call of Rust
        self,
        spans: bytes,
        endings: list[bytes],
        shift: int,
        pause_us: int,
        clock_us: int,
        doubtful: bool,
        least: Importance | None,
        /,
    ) -> tuple[int, list[tuple[int, int, int, tuple[int, int] | None]]]: ...


_core = CompiledCore[_Core]()


@cache
def finder() -> Find:
    """`find`, or what does the same."""
    core = _core.found
    if core is None:
        return find

    def compiled(
        lines: Histogram, endings: Sequence[Endings], shift: int, doubtful: bool, least: Importance | None
    ) -> tuple[int, list[Outage]]:
        times = [ending.packed() for ending in endings]
        count, wanted = core.outages(lines.packed, times, shift, PAUSE_US, CLOCK_US, doubtful, least)
        return count, [
            Outage(began, last, more, None if ended is None else OutageEnding(ended[0], endings[ended[1]].signature))
            for began, last, more, ended in wanted
        ]

    return compiled
