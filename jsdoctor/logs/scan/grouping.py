"""Groups lines by what they are counted with and by minute, with numpy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from jsdoctor.logs.scan.block import EXEMPLARS
from jsdoctor.model.histogram import SPAN_BYTES
from jsdoctor.model.log import MINUTE_US


class Group(NamedTuple):
    """The lines of one tally: how many, packed as a histogram of minutes, and where the earliest and the latest are."""

    tally: int
    total: int
    minutes: bytes
    earliest: Sequence[int]
    latest: int


def grouped(tallies: Sequence[int], us: Sequence[int], offsets: Sequence[int]) -> Iterator[Group]:
    """Group columns of lines: which tally each is for, its time in microseconds, and its offset in the file."""
    if not tallies:
        return
    tally, time = np.asarray(tallies, np.int64), np.asarray(us, np.int64)
    order = np.lexsort((np.asarray(offsets, np.int64), time, tally))
    tally, time, lines = tally[order], time[order], order.tolist()
    minute = time // MINUTE_US
    parted = tally[1:] != tally[:-1]
    begins = np.flatnonzero(np.append(True, parted | (minute[1:] != minute[:-1])))
    ends = np.append(begins[1:], len(order))
    packed = np.stack((time[begins], time[ends - 1], ends - begins), axis=1).astype("<i8").tobytes()
    firsts = np.append(np.flatnonzero(np.append(True, parted)), len(order))
    rows = (SPAN_BYTES * np.searchsorted(begins, firsts)).tolist()
    names = tally[firsts[:-1]].tolist()
    for number, (begin, end), (row, next_row) in zip(names, pairwise(firsts.tolist()), pairwise(rows), strict=True):
        yield Group(
            number, end - begin, packed[row:next_row], lines[begin : min(end, begin + EXEMPLARS)], lines[end - 1]
        )
