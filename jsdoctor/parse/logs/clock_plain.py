"""Reads the stamps of every line of a block with Python alone."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from jsdoctor.parse.logs.line import LINE_CAP
from jsdoctor.parse.logs.stamp import native_second_us
from jsdoctor.parse.logs.stretch import BlockClock, LineNumbers, Tracker, Voices, stamp_start


def read_clock(
    block: bytes, cuts: Sequence[int], skip: Sequence[int], voices: Voices
) -> tuple[BlockClock, LineNumbers]:
    """See `ClockReader`."""
    tracker = Tracker()
    left_out = frozenset(skip)
    starts: list[int] = []
    at = long_lines = 0
    while at < len(block):
        end = block.find(b"\n", at)
        end = len(block) if end < 0 else end
        starts.append(at)
        long_lines += end - at > LINE_CAP
        head = block[at : min(end, at + 400)]
        start = stamp_start(head) if at not in left_out else -1
        second = native_second_us(head[start : start + 19]) if start >= 0 else None
        voice = voices.of(head[:start]) if second is not None else None
        if second is not None and voice is not None:
            tracker.add(voice, bisect_right(cuts, at), second + int(head[start + 20 : start + 26]), at)
        at = end + 1
    return BlockClock(len(starts), long_lines, tracker.stretches()), lambda at: [
        bisect_left(starts, start) for start in at
    ]
