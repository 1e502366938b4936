"""The header that nats-server gives each of its lines: `[pid] YYYY/MM/DD hh:mm:ss.uuuuuu [LVL] text`."""

from __future__ import annotations

import re
from typing import NamedTuple

from jsdoctor.parse.logs.lines.stamp import NATIVE, clock_us, native_second_us

_PID = rb"(?:\[(\d{1,10})\] )?"
_LEVEL = rb"\[(?:\x1b\[[\d;]*m)?(INF|WRN|ERR|FTL|DBG|TRC)(?:\x1b\[0m)?\] ?"
PID = re.compile(_PID)
STAMPED = re.compile(_PID + NATIVE + rb" " + _LEVEL)
_CLOCK = rb"(?:(\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))? )?"
UNSTAMPED = re.compile(_CLOCK + _PID + _CLOCK + _LEVEL)
HEADER_WITHIN = 300
"""A header further into a line than this is quoted text, not a header."""


class Header(NamedTuple):
    """A server's header: where it stands, where the message starts, and what it says.

    `us` None: without a time; times of day without a date are counted from `CLOCK_US`.
    """

    start: int
    end: int
    pid: int | None
    us: int | None
    level: str


def stamped_header(line: bytes) -> Header | None:
    """The first header with a time near the start of the line, after any wrapping."""
    match = STAMPED.match(line) or STAMPED.search(line, 0, HEADER_WITHIN)
    if match is None:
        return None
    second = native_second_us(match[2])
    if second is None:
        return None
    pid = None if match[1] is None else int(match[1])
    return Header(match.start(), match.end(), pid, second + int(match[3]), match[4].decode())


def unstamped_header(line: bytes, start: int) -> Header | None:
    """A header without a date (`logtime: false`, or cut by a viewer), exactly at `start`."""
    match = UNSTAMPED.match(line, start)
    if match is None:
        return None
    before, before_fraction, pid, behind, behind_fraction, level = match.groups()
    us = clock_us(before or behind, before_fraction or behind_fraction) if before or behind else None
    return Header(start, match.end(), None if pid is None else int(pid), us, level.decode())
