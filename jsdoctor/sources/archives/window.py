"""Narrows the files of a plan to a time window: by bisection, without reading what lies outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from typing import BinaryIO

import msgspec

from jsdoctor.logs.lines.line import read_line
from jsdoctor.logs.lines.stamp import Zone, year_of
from jsdoctor.model.log import DATED_US
from jsdoctor.model.log_scan import Part
from jsdoctor.model.window import Window
from jsdoctor.sources.archives.discover import ReadPlan
from jsdoctor.sources.archives.store import open_stored
from jsdoctor.sources.codec import Unreadable, codec_of, decompressed, is_tar

_PROBE_BYTES = 64 * 1024
"""Number of bytes that are searched for a dated line before a position in a file counts as undated."""

_PLACES = 16
"""Number of places of a file whose times are compared before it is cut."""

_DISORDER_US = 60_000_000
"""Times of one process go back by less: several threads write them."""

_SECTION = b"==> "
"""How `tail` and `head` begin the lines of the next file, whose name is lost where a file is cut."""

_COUNT_BLOCK_BYTES = 4 << 20
_NEWLINE = ord("\n")
_MAX_US = 1 << 62
_ARCHIVES = ("tar", "zip")


class Narrowed(msgspec.Struct, frozen=True):
    """What is left to read. `outside` files lie outside of the window, `cut` ones partly.

    `whole` files cannot be cut (compressed, archives, lines without dates): their lines outside count, too.
    """

    plan: ReadPlan
    outside: int = 0
    cut: int = 0
    whole: tuple[str, ...] = ()


def narrowed(plan: ReadPlan, window: Window) -> Narrowed:
    """The plan without what is known to lie outside of the window. Files with a problem are kept."""
    kept: list[Part] = []
    whole: list[str] = []
    outside = cut = 0
    since = _to_us(window.since, -_MAX_US)
    until = _to_us(window.until, _MAX_US)
    for part in plan.files:
        rest = part if part.problem or not part.size else _narrow(part, since, until, window.local_zone)
        if rest is None:
            outside += 1
            continue
        kept.append(rest)
        if rest is not part:
            cut += 1
        elif not part.problem and part.size and not _lies_inside(part, since, until, window.local_zone):
            whole.append(part.name)
    return Narrowed(ReadPlan(tuple(kept), sum(part.weight for part in kept)), outside, cut, tuple(whole))


def _to_us(at: datetime | None, default: int) -> int:
    return default if at is None else round(at.astimezone(UTC).timestamp() * 1e6)


def _narrow(part: Part, since: int, until: int, local_zone: str) -> Part | None:
    """The part of the file in the window, the file itself where it cannot be cut, None for one that is outside."""
    if 0 < part.mtime_us < since:
        return None
    try:
        with open_stored(part.path) as stream:
            if part.codec:
                first = None if part.codec in _ARCHIVES else _first_packed(part, stream, local_zone)
                return None if first is not None and first > until else part
            return _cut(part, _LineTimes(part, stream, local_zone), since, until)
    except (OSError, Unreadable):
        return part  # the scan reports the error


def _cut(part: Part, times: _LineTimes, since: int, until: int) -> Part | None:
    """The range of a plain file in the window; None if no line is in it, the file itself if its times do not grow."""
    first, last = times.first_from(0), times.last()
    if first is None or last is None or not times.grow():
        return part
    if last < since or first > until:
        return None
    begin = 0 if first >= since else times.bisect(lambda at: at >= since)
    end = part.size if last <= until else times.bisect(lambda at: at > until)
    if begin == 0 and end == part.size:
        return part
    if begin >= end:
        return None
    before = times.lines_before(begin)
    return msgspec.structs.replace(part, start=begin, end=end, size=end, weight=end - begin, lines_before=before)


def _lies_inside(part: Part, since: int, until: int, local_zone: str) -> bool:
    """Whether a file that was not cut needed no cut."""
    if part.codec:
        return False
    try:
        with open_stored(part.path) as stream:
            times = _LineTimes(part, stream, local_zone)
            first, last = times.first_from(0), times.last()
    except OSError:
        return True
    return first is not None and last is not None and since <= first <= last <= until


def _first_packed(part: Part, stream: BinaryIO, local_zone: str) -> int | None:
    """The first time in a compressed file; None where what is packed may begin earlier elsewhere."""
    text = next(iter(decompressed(lambda size: stream.read(size) or b"", part.codec)), b"")
    if is_tar(text) or codec_of(text):
        return None
    times = _LineTimes(part, stream, local_zone)
    seen = [at for line in text[:_PROBE_BYTES].split(b"\n") if (at := times.time_of(line)) is not None]
    return seen[0] if seen and _grow(seen) else None


def _grow(times: Sequence[int]) -> bool:
    """Whether times go back by no more than lines of one process do."""
    return all(after >= before - _DISORDER_US for before, after in pairwise(times))


class _LineTimes:
    """When the lines of a plain file were written, UTC microseconds, by byte offset."""

    def __init__(self, part: Part, stream: BinaryIO, local_zone: str) -> None:
        self._stream, self._size, self._year = stream, part.size, year_of(part.mtime_us)
        self._zone = Zone(part.zone or local_zone)

    def time_of(self, line: bytes) -> int | None:
        """The time of one line; None where it has none with a date."""
        parsed = read_line(line, self._year)
        us = parsed.us if parsed.us is not None else parsed.native_us
        if us is None or us < DATED_US:
            return None
        return us if parsed.zoned else self._zone.utc_us(us)

    def first_from(self, offset: int) -> int | None:
        """The time of the first dated line that begins at `offset` or after it."""
        return self._first_dated(offset)[1]

    def last(self) -> int | None:
        """The time of the last dated line."""
        begin = max(0, self._size - _PROBE_BYTES)
        lines = self._read(begin, self._size - begin).split(b"\n")[1 if begin else 0 :]
        return next((at for line in reversed(lines) if (at := self.time_of(line)) is not None), None)

    def grow(self) -> bool:
        """Whether times grow throughout, as far as some places show. Not in logs of servers one after the other."""
        places = [self._size * number // _PLACES for number in range(_PLACES)]
        if any(text.startswith(_SECTION) or b"\n" + _SECTION in text for text in map(self._probe, places)):
            return False
        seen = [at for place in places if (at := self.first_from(place)) is not None]
        last = self.last()
        return _grow(seen if last is None else [*seen, last])

    def bisect(self, reached: Callable[[int], bool]) -> int:
        """The offset of the first dated line for whose time `reached` holds, in a file whose times grow."""
        low, high = 0, self._size
        while low < high:
            middle = (low + high) // 2
            _, at = self._first_dated(middle)
            if at is not None and not reached(at):
                low = middle + 1
            else:
                high = middle
        return self._first_dated(low)[0]

    def lines_before(self, offset: int) -> int:
        """How many lines end before that offset."""
        self._stream.seek(0)
        lines, rest, newlines = 0, offset, _newline_counter()
        while rest > 0 and (block := self._stream.read(min(rest, _COUNT_BLOCK_BYTES))):
            lines += newlines(block)
            rest -= len(block)
        return lines

    def _first_dated(self, offset: int) -> tuple[int, int | None]:
        """Where the first dated line at or after `offset` begins, and its time; the end of the file if none is near."""
        begin = max(0, offset - 1)
        text = self._read(begin, _PROBE_BYTES)
        position = begin
        if offset:
            skipped = text.find(b"\n") + 1
            if not skipped:
                return self._size, None
            text, position = text[skipped:], begin + skipped
        for line in text.split(b"\n"):
            if line and (at := self.time_of(line)) is not None:
                return position, at
            position += len(line) + 1
        return self._size, None

    def _probe(self, offset: int) -> bytes:
        return self._read(offset, _PROBE_BYTES // _PLACES)

    def _read(self, offset: int, size: int) -> bytes:
        self._stream.seek(offset)
        pieces = b""
        while len(pieces) < size and (more := self._stream.read(size - len(pieces))):
            pieces += more
        return pieces


@cache
def _newline_counter() -> Callable[[bytes], int]:
    """Counts the line breaks of a block: with numpy, where that is installed, three times as fast as `count`."""
    try:
        import numpy as np
    except ImportError:  # the core works without the extra "logs"
        return lambda block: block.count(b"\n")
    return lambda block: int(np.count_nonzero(np.frombuffer(block, np.uint8) == _NEWLINE))
