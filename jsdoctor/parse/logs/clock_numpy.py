"""Reads the stamps of every line of a block at once, with numpy. Equal in result to `clock_plain`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from jsdoctor.parse.logs.header import HEADER_WITHIN
from jsdoctor.parse.logs.line import LINE_CAP
from jsdoctor.parse.logs.stamp import native_second_us
from jsdoctor.parse.logs.stretch import (
    GAP_US,
    STEP_US,
    FoundLine,
    Jump,
    Loud,
    Stretch,
    Voice,
    Voices,
    stamp_start,
)

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

_LENGTH = 28  # of a stamp with the bracket of the level behind it
_SHAPE = b"\0\0\0\0/\0\0/\0\0 \0\0:\0\0:\0\0.\0\0\0\0\0\0 ["
_ALONE = _LENGTH  # a stamp at a column below this cannot stand behind another one
_COLUMNS = 4
_ODD_LINES = 2000
_RUN = 4
"""So many loud lines in a row are searched as one text; fewer are looked at one by one."""

_QUIET = tuple(int.from_bytes(level, "little") for level in (b"DBG]", b"TRC]"))


def _u64(value: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(value, "little"))


def _checks() -> tuple[tuple[int, np.uint64, np.uint64, np.uint64], ...]:
    """For the words of a stamp: where they stand, which bytes are fixed and how, and which are digits."""
    found = []
    for at in (0, 8, 16, 20):
        part = _SHAPE[at : at + 8]
        fixed = _u64(bytes(0xFF if byte else 0 for byte in part))
        found.append((at, fixed, _u64(part), _u64(bytes(0 if byte else 0xFF for byte in part))))
    return tuple(found)


_CHECKS = _checks()
_ZEROS, _SIXES, _HIGH = _u64(b"0" * 8), _u64(b"\x06" * 8), _u64(b"\xf0" * 8)


def read_clock(block: bytes) -> NumpyClock:
    """See `ClockReader`."""
    return NumpyClock(block)


class NumpyClock:
    """See `BlockClock`. `_at` are the starts of the lines with stamps, `_stamps` where those stand."""

    def __init__(self, block: bytes) -> None:
        self._block = block
        self._raw = np.frombuffer(block, dtype=np.uint8)
        self._starts = starts = _line_starts(self._raw) if len(block) else np.empty(0, np.int64)
        self._ends = np.append(starts[1:] - 1, len(block) - block.endswith(b"\n")) if len(starts) else starts
        self.lines = len(starts)
        self.long_lines = int(np.count_nonzero(self._ends - starts > LINE_CAP))
        self._at = self._stamps = self._us = np.empty(0, np.int64)
        if len(block) >= _LENGTH:
            self._read_stamps()

    def _read_stamps(self) -> None:
        self._words: Words = np.ndarray((len(self._block) - 7,), np.dtype("<u8"), self._block, strides=(1,))
        at, stamps = _find_stamps(self._block, self._raw, self._words, self._starts, self._ends)
        us, good = _microseconds(self._block, self._words, stamps)
        self._at, self._stamps, self._us = (at, stamps, us) if good.all() else (at[good], stamps[good], us[good])

    def numbers(self, starts: Sequence[int]) -> list[int]:
        """See `BlockClock`."""
        numbers: list[int] = np.searchsorted(self._starts, np.asarray(starts, np.int64)).tolist()
        return numbers

    def loud(self, singly: bool) -> Loud:
        """See `BlockClock`."""
        loud = np.ones(self.lines, bool)
        if len(self._at):
            quiet = _quiet(self._block, self._raw, self._words, self._at, self._stamps)
            loud[quiet if len(quiet) == self.lines else np.searchsorted(self._starts, self._at[quiet])] = False
        lines = np.flatnonzero(loud)
        whole = len(lines) == self.lines
        if singly or not len(lines):
            return Loud((), self._starts[lines].tolist(), len(lines), whole)
        if whole:
            return Loud([(0, len(self._block))], (), len(lines), whole)
        firsts = np.append(0, np.flatnonzero(np.diff(lines) != 1) + 1)
        lengths = np.diff(firsts, append=len(lines))
        long = lengths >= _RUN
        begins = self._starts[lines[firsts[long]]].tolist()
        ends = self._ends[lines[(firsts + lengths - 1)[long]]].tolist()
        single = self._starts[lines[np.repeat(~long, lengths)]].tolist()
        return Loud(list(zip(begins, ends, strict=True)), single, len(lines), whole)

    def lines_of(self, positions: Sequence[int]) -> Iterable[FoundLine]:
        """See `BlockClock`."""
        where = np.asarray(positions, np.int64)
        lines = np.searchsorted(self._starts, where, side="right") - 1
        wanted = np.zeros(self.lines, bool)
        wanted[lines[where - self._starts[lines] < LINE_CAP]] = True
        lines = np.flatnonzero(wanted)
        begins = self._starts[lines]
        found = np.searchsorted(self._at, begins)
        known = np.append(self._at, -1)[found] == begins
        stamps, times = np.append(self._stamps, 0)[found], np.append(self._us, 0)[found]
        us = [time if stamped else None for time, stamped in zip(times.tolist(), known.tolist(), strict=True)]
        return zip(begins.tolist(), self._ends[lines].tolist(), stamps.tolist(), us, strict=True)

    def stretches(self, cuts: Sequence[int], skip: Sequence[int], voices: Voices) -> Sequence[Stretch]:
        """See `BlockClock`."""
        at, stamps, us = self._at, self._stamps, self._us
        if skip:
            kept = ~np.isin(at, np.asarray(skip))
            at, stamps, us = at[kept], stamps[kept], us[kept]
        if not len(at):
            return []
        changes = _prefix_changes(self._raw, self._words, at, stamps)
        names, numbers = _voices(self._block, changes, at, stamps, voices)
        cut = np.searchsorted(np.asarray(cuts, np.int64), at, side="right") if cuts else np.zeros(len(at), np.int64)
        return _stretches(names, numbers, cut, us, at)


def _line_starts(raw: NDArray[np.uint8]) -> Ints:
    ends = np.flatnonzero(raw == ord("\n"))
    starts = np.empty(len(ends) + 1, np.int64)
    starts[0] = 0
    np.add(ends, 1, out=starts[1:])
    return starts[:-1] if len(ends) and ends[-1] == len(raw) - 1 else starts


def _quiet(block: bytes, raw: NDArray[np.uint8], words: Words, at: Ints, stamps: Ints) -> NDArray[np.bool_]:
    """Which lines have nothing but a bracket, if anything, before the stamp, and DBG or TRC behind it."""
    where = stamps + _LENGTH - 4
    inside = where <= len(block) - 8
    level = words[np.where(inside, where, 0)] >> np.uint64(32)
    quiet: NDArray[np.bool_] = inside & ((level == _QUIET[0]) | (level == _QUIET[1]))
    near = stamps - at < HEADER_WITHIN // 2
    quiet &= near & ((raw[at] == ord("[")) | (at == stamps))
    return quiet


def _are_stamps(words: Words, where: Ints) -> NDArray[np.bool_]:
    good = np.ones(len(where), bool)
    for at, fixed, shape, digits in _CHECKS:
        word = words[where + at]
        good &= (word & fixed) == shape
        value = (word ^ _ZEROS) & digits
        good &= (((value + _SIXES) | value) & _HIGH & digits) == 0
    return good


def _find_stamps(block: bytes, raw: NDArray[np.uint8], words: Words, starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Starts of the lines that have a stamp, and where it stands: the first one in the line, near its start.

    Tries the columns at which lines have it (they change when the process id gets longer); lines that fit none are
    read singly, and when there are many, all stamps of the block are found by their slashes.
    """
    fitting = ends - starts >= _LENGTH
    rest, ends = starts[fitting], ends[fitting]
    found: list[tuple[Ints, Ints]] = []
    for _ in range(_COLUMNS):
        column = _next_column(block, rest)
        if column is None:
            break
        where = rest + column
        fits = where + _LENGTH <= ends
        fits[fits] = _are_stamps(words, where[fits])
        found.append((rest[fits], where[fits]))
        rest, ends = rest[~fits], ends[~fits]
        if not len(rest):
            break
    if len(rest) > _ODD_LINES:
        return _by_slashes(raw, words, starts)
    odd = [(line, column) for line in rest.tolist() if (column := _column(block, line)) >= 0]
    found.append((np.array([a for a, _ in odd], np.int64), np.array([a + b for a, b in odd], np.int64)))
    at = np.concatenate([pair[0] for pair in found])
    stamps = np.concatenate([pair[1] for pair in found])
    if sum(len(pair[0]) > 0 for pair in found) > 1:
        order = np.argsort(at, kind="stable")
        return at[order], stamps[order]
    return at, stamps


def _next_column(block: bytes, rest: Ints) -> int | None:
    for line in rest[:20].tolist():
        column = _column(block, line)
        if 0 <= column < _ALONE:
            return column
    return None


def _column(block: bytes, line: int) -> int:
    return stamp_start(block[line : line + HEADER_WITHIN].partition(b"\n")[0])


def _by_slashes(raw: NDArray[np.uint8], words: Words, starts: Ints) -> tuple[Ints, Ints]:
    found = np.flatnonzero(raw == ord("/")) - 4
    found = found[(found >= 0) & (found + _LENGTH <= len(raw))]
    found = found[raw[found + 7] == ord("/")]
    found = found[_are_stamps(words, found)]
    lines = np.searchsorted(starts, found, side="right") - 1
    near = found - starts[lines] + _LENGTH <= HEADER_WITHIN  # and no line break is in a stamp's shape
    lines, found = lines[near], found[near]
    first = np.ones(len(lines), bool)
    first[1:] = lines[1:] != lines[:-1]
    return starts[lines[first]], found[first]


def _microseconds(block: bytes, words: Words, stamps: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Times of the stamps, and which of them are times at all."""
    date, time, rest, last = (words[stamps + at].astype(np.int64) for at in (0, 8, 16, 20))

    def digit(word: Ints, byte: int) -> Ints:
        return (word >> (8 * byte)) & 15

    def two(word: Ints, byte: int) -> Ints:
        return digit(word, byte) * 10 + digit(word, byte + 1)

    hours, minutes, seconds = two(time, 3), two(time, 6), two(rest, 1)
    fraction = (two(last, 0) * 100 + two(last, 2)) * 100 + two(last, 4)
    good = (hours < 24) & (minutes < 60) & (seconds < 60)
    day = date + (time & 0xFFFF)  # a mark of change, not a number: the bytes of the date
    changed = np.flatnonzero((np.diff(date) != 0) | (np.diff(time & 0xFFFF) != 0)) + 1
    base = np.empty(len(day), np.int64)
    edges = [0, *changed.tolist(), len(day)] if len(day) else []
    for begin, end in pairwise(edges):
        position = int(stamps[begin])
        midnight = native_second_us(block[position : position + 10] + b" 00:00:00")
        if midnight is None:
            good[begin:end] = False
        base[begin:end] = midnight or 0
    return base + ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + fraction, good


def _voices(
    block: bytes, changes: list[int], at: Ints, stamps: Ints, voices: Voices
) -> tuple[list[Voice | None], Ints]:
    """Distinct voices, and for each line the number of its own."""
    numbers = np.empty(len(at), np.int64)
    names: dict[Voice | None, int] = {}
    for begin, end in pairwise([*changes, len(at)]):
        voice = voices.of(block[at[begin] : stamps[begin]])
        numbers[begin:end] = names.setdefault(voice, len(names))
    return list(names), numbers


def _prefix_changes(raw: NDArray[np.uint8], words: Words, at: Ints, stamps: Ints) -> list[int]:
    """Lines whose bytes before the stamp differ from those of the line before."""
    widths = stamps - at
    changed = np.ones(len(at), bool)
    changed[1:] = widths[1:] != widths[:-1]
    widest = int(widths.max())
    if widest <= 16:
        unused = (64 - 8 * np.minimum(widths, 8)).astype(np.uint64)
        head = np.where(unused == 64, np.uint64(0), words[at] << np.minimum(unused, np.uint64(63)))
        tail = np.where(widths > 8, words[np.maximum(stamps - 8, 0)], np.uint64(0))
        changed[1:] |= (head[1:] != head[:-1]) | (tail[1:] != tail[:-1])
        return np.flatnonzero(changed).tolist()
    for column in range(widest):
        same = np.flatnonzero(~changed)
        same = same[widths[same] > column]
        if not len(same):
            break
        changed[same[raw[at[same] + column] != raw[at[same - 1] + column]]] = True
    return np.flatnonzero(changed).tolist()


def _stretches(names: list[Voice | None], numbers: Ints, cut: Ints, us: Ints, at: Ints) -> list[Stretch]:
    group = numbers * (int(cut.max()) + 1) + cut
    if (group == group[0]).all():
        voice = names[0]
        return [] if voice is None else [_stretch(voice, int(cut[0]), us, at)]
    order = np.argsort(group, kind="stable")
    edges = np.flatnonzero(np.diff(group[order])) + 1
    found = []
    for chosen in np.split(order, edges):
        voice = names[int(numbers[chosen[0]])]
        if voice is not None:
            found.append(_stretch(voice, int(cut[chosen[0]]), us[chosen], at[chosen]))
    return sorted(found, key=lambda stretch: stretch.first_at)


def _stretch(voice: Voice, cut: int, us: Ints, at: Ints) -> Stretch:
    moved = np.diff(us)
    ends = (int(us[0]), int(at[0]), int(us[-1]), int(at[-1]))
    steps, gaps = np.flatnonzero(moved <= -STEP_US), np.flatnonzero(moved >= GAP_US)
    return Stretch(
        voice, cut, *ends, int(us.min()), int(us.max()), len(us), _jumps(steps, us, at), _jumps(gaps, us, at)
    )


def _jumps(where: Ints, us: Ints, at: Ints) -> tuple[Jump, ...]:
    return tuple(Jump(int(at[index + 1]), int(us[index]), int(us[index + 1])) for index in where.tolist())
