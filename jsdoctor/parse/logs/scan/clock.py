"""The fastest reader of stamps for a block: numpy's for large ones when numpy is installed, else the plain one."""

from __future__ import annotations

from functools import cache

from jsdoctor.parse.logs.scan import clock_plain
from jsdoctor.parse.logs.scan.time_segments import BlockClock, ClockReader

_SMALL = 64 * 1024
"""Up to this size a block is read in less time than numpy takes to load, which is 80 ms."""


def read_clock(block: bytes) -> BlockClock:
    """See `ClockReader`."""
    reader = clock_plain.read_clock if len(block) <= _SMALL else _of_large_blocks()
    return reader(block)


@cache
def _of_large_blocks() -> ClockReader:
    try:
        from jsdoctor.parse.logs.scan import clock_numpy
    except ImportError:  # the core works without the extra "logs"
        return clock_plain.read_clock
    return clock_numpy.read_clock
