"""The fastest reader of stamps that there is here: numpy's when numpy is installed, else the plain one."""

from __future__ import annotations

from jsdoctor.parse.logs import clock_plain
from jsdoctor.parse.logs.time_segments import ClockReader

try:
    from jsdoctor.parse.logs import clock_numpy
except ImportError:  # the core works without the extra "logs"
    _best: ClockReader = clock_plain.read_clock
else:
    _best = clock_numpy.read_clock


def best_clock() -> ClockReader:
    """See `ClockReader`."""
    return _best
