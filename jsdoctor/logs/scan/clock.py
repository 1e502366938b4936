"""Reads the stamps of every line of a block at once, with numpy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jsdoctor.logs.lines.line import HEADER_WITHIN, LINE_CAP
from jsdoctor.logs.lines.stamp import native_second_us
from jsdoctor.logs.scan.time_segments import (
    GAP_US,
    STEP_US,
    CandidateLines,
    FoundLines,
    Jump,
    ProcessKey,
    ProcessKeys,
    TimeSegment,
    stamp_start,
)

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

LENGTH = 28
"""Length in bytes of a stamp with the bracket of the level behind it."""

BEFORE = 16
"""Bytes before a stamp that are read with it."""

_STAMP, _FROM_STAMP = 32, 40
_ROW = BEFORE + _FROM_STAMP
_SHAPE = b"0000/00/00 00:00:00.000000 ["


def _word(text: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(text, "little"))


class _Check(NamedTuple):
    """How one word of a stamp is checked: after `shape` is taken off digits are numbers and what is fixed is zero.

    `carry` moves what is above nine into the upper half of its byte, and `wrong` has the bits that must be clear then.
    """

    shape: np.uint64
    carry: np.uint64
    wrong: np.uint64


def _checks() -> tuple[_Check, ...]:
    shape = _SHAPE.ljust(_STAMP, b"\0")
    carry = bytes(6 * (byte == ord("0")) for byte in shape)
    wrong = bytes(0xF0 if byte == ord("0") else 0xFF * (byte > 0) for byte in shape)
    parts = [slice(at, at + 8) for at in range(0, _STAMP, 8)]
    return tuple(_Check(_word(shape[part]), _word(carry[part]), _word(wrong[part])) for part in parts)


_CHECKS = _checks()


class StampWords(NamedTuple):
    """Places of a block as they are if they are stamps: digits as numbers, and what is fixed taken off.

    `date` is `YYYY/MM/`, `time` `DD hh:mm`, `rest` `:ss.uuuu`, `last` `uu [` and the level with its bracket, untouched;
    `message` is what follows, `far` and `near` what comes before the stamp. Bytes outside of the block are zero.
    """

    far: Words
    near: Words
    date: Words
    time: Words
    rest: Words
    last: Words
    message: Words

    def are_stamps(self) -> NDArray[np.bool_]:
        """Which of them have the shape of a stamp."""
        wrong = np.zeros(len(self.date), np.uint64)
        for word, check in zip(self[2:6], _CHECKS, strict=True):
            wrong |= (word | (word + check.carry)) & check.wrong
        right: NDArray[np.bool_] = wrong == 0
        return right

    def of(self, chosen: NDArray[np.bool_] | Ints) -> StampWords:
        """The chosen ones."""
        return StampWords(*[word[chosen] for word in self])

    def level(self) -> Words:
        """The four bytes behind the bracket, as a number."""
        return self.last >> np.uint64(32)

    def microseconds(self, block: bytes, stamps: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """The times of the stamps, and which of them are valid. `stamps` are their positions."""
        time, rest = (
            self.time * 10 + (self.time >> 8),
            self.rest * 10 + (self.rest >> 8),
        )  # pairs of digits, each a byte
        hours, minutes, seconds = _byte(time, 3), _byte(time, 6), _byte(rest, 1)
        fraction = (_byte(rest, 4) * 100 + _byte(rest, 6)) * 100 + _byte(self.last, 0) * 10 + _byte(self.last, 1)
        good = (hours < 24) & (minutes < 60) & (seconds < 60)
        us = (((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + fraction).astype(np.int64)
        day = self.time & 0xFFFF
        changed = np.flatnonzero((self.date[1:] != self.date[:-1]) | (day[1:] != day[:-1])) + 1
        for begin, end in pairwise([0, *changed.tolist(), len(us)] if len(us) else []):
            position = int(stamps[begin])
            midnight = native_second_us(block[position : position + 10] + b" 00:00:00")
            if midnight is None:
                good[begin:end] = False
            else:
                us[begin:end] += midnight
        return us, good


def _byte(words: Words, number: int) -> Words:
    return (words >> np.uint64(8 * number)) & np.uint64(0xFF)


def read_words(block: bytes, where: Ints) -> StampWords:
    """The words at these places. Reading all at once is several times as fast as reading one by one."""
    last = len(block) - _FROM_STAMP
    if last < BEFORE:
        rows = np.zeros((len(where), _ROW), np.uint8)
    else:
        windows = np.ndarray((len(block) - _ROW + 1,), f"V{_ROW}", block, strides=(1,))
        rows = windows[np.clip(where, BEFORE, last) - BEFORE].view(np.uint8).reshape(-1, _ROW)
    for index in np.flatnonzero((where < BEFORE) | (where > last)).tolist():
        at = int(where[index])
        row = block[max(at - BEFORE, 0) : at].rjust(BEFORE, b"\0") + block[at : at + _FROM_STAMP].ljust(
            _FROM_STAMP, b"\0"
        )
        rows[index] = np.frombuffer(row, np.uint8)
    words = rows.view("<u8")
    date, time, rest, end = (words[:, 2 + number] ^ check.shape for number, check in enumerate(_CHECKS))
    return StampWords(words[:, 0], words[:, 1], date, time, rest, end, words[:, 6])


def concatenated(pieces: list[StampWords]) -> StampWords:
    """Several as one, in their order."""
    if len(pieces) == 1:
        return pieces[0]
    return StampWords(*[np.concatenate(same) for same in zip(*pieces, strict=True)])


_ALONE = LENGTH  # a stamp at a column below this cannot stand behind another one
_MAX_COLUMNS, _TRIED_LINES = 4, 20
_MAX_SINGLE_LINES = 2000
_MIN_RUN = 4
"""Number of candidate lines in a row that are searched as one text; fewer are searched one by one."""

_WHICH_BYTE = np.uint64(0x0001020304050607)
"""A word with a one in just one byte, times this, has the number of that byte on top."""

_QUIET = tuple(int.from_bytes(level, "little") for level in (b"DBG]", b"TRC]"))


class BlockClock:
    """The lines of a block, to be searched; see `BlockLines`.

    `_at` are the starts of the lines with stamps, `_stamps` where those stand.
    """

    def __init__(self, block: bytes) -> None:
        self._block = block
        self._raw = np.frombuffer(block, dtype=np.uint8)
        self._starts = starts = _line_starts(self._raw) if len(block) else np.empty(0, np.int64)
        self._ends = np.append(starts[1:] - 1, len(block) - block.endswith(b"\n")) if len(starts) else starts
        self.lines = len(starts)
        self.long_lines = int(np.count_nonzero(self._ends - starts > LINE_CAP))
        at, stamps, words = _find_stamps(block, self._raw, starts, self._ends)
        us, good = words.microseconds(block, stamps)
        if not good.all():
            at, stamps, us, words = at[good], stamps[good], us[good], words.of(good)
        self._at, self._stamps, self._us, self._words = at, stamps, us, words

    def numbers(self, starts: Sequence[int]) -> list[int]:
        """See `BlockLines`."""
        numbers: list[int] = np.searchsorted(self._starts, np.asarray(starts, np.int64)).tolist()
        return numbers

    def loud(self, singly: bool, openings: Sequence[bytes]) -> CandidateLines:
        """All lines except those whose header shows at once that a server logged them at DBG or TRC.

        Those with one of the `openings` between level and message, of eight bytes each, are loud whatever their level.
        `singly`: all of them one by one, which is faster where many are repeated.
        """
        loud = np.ones(self.lines, bool)
        if len(self._at):
            quiet = _quiet(self._raw, self._words, self._at, self._stamps)
            for opening in openings:
                quiet &= self._words.message != int.from_bytes(opening, "little")
            loud[quiet if len(quiet) == self.lines else np.searchsorted(self._starts, self._at[quiet])] = False
        lines = np.flatnonzero(loud)
        whole = len(lines) == self.lines
        if singly or not len(lines):
            return CandidateLines((), lines.tolist(), len(lines), whole)
        if whole:
            return CandidateLines([(0, len(self._block))], (), len(lines), whole)
        firsts = np.append(0, np.flatnonzero(np.diff(lines) != 1) + 1)
        lengths = np.diff(firsts, append=len(lines))
        long = lengths >= _MIN_RUN
        begins = self._starts[lines[firsts[long]]].tolist()
        ends = self._ends[lines[(firsts + lengths - 1)[long]]].tolist()
        single = lines[np.repeat(~long, lengths)].tolist()
        return CandidateLines(list(zip(begins, ends, strict=True)), single, len(lines), whole)

    def lines_of(self, single: Sequence[int], positions: Sequence[int]) -> FoundLines:
        """The lines with these numbers or positions, each once and in order; positions behind `LINE_CAP` not."""
        where = np.asarray(positions, np.int64)
        lines = np.searchsorted(self._starts, where, side="right") - 1
        wanted = np.zeros(self.lines, bool)
        wanted[lines[where - self._starts[lines] < LINE_CAP]] = True
        wanted[np.asarray(single, np.int64)] = True
        lines = np.flatnonzero(wanted)
        begins, ends = self._starts[lines], self._ends[lines]
        if len(self._at) == self.lines:
            result, stamped = lines, np.ones(len(lines), bool)
        else:
            result = np.searchsorted(self._at, begins)
            stamped = np.append(self._at, -1)[result] == begins
        us: list[int | None] = np.append(self._us, 0)[result].tolist()
        for line in np.flatnonzero(~stamped).tolist():
            us[line] = None
        prefix = np.where(stamped, np.searchsorted(self._changes, result, side="right"), -1)
        edges = np.flatnonzero(prefix[1:] != prefix[:-1]) + 1
        runs = list(pairwise([0, *edges.tolist(), len(lines)])) if len(lines) else []
        return FoundLines(begins.tolist(), ends.tolist(), np.append(self._stamps, 0)[result].tolist(), us, runs)

    @cached_property
    def _changes(self) -> list[int]:
        return _prefix_changes(self._raw, self._words, self._at, self._stamps) if len(self._at) else []

    def segments(self, cuts: Sequence[int], skip: Sequence[int], keys: ProcessKeys) -> Sequence[TimeSegment]:
        """See `BlockLines`."""
        at, stamps, us, words = self._at, self._stamps, self._us, self._words
        if skip:
            kept = ~np.isin(at, np.asarray(skip))
            at, stamps, us, words = at[kept], stamps[kept], us[kept], words.of(kept)
        if not len(at):
            return []
        changes = _prefix_changes(self._raw, words, at, stamps) if skip else self._changes
        names, numbers = _process_keys(self._block, changes, at, stamps, keys)
        cut = np.searchsorted(np.asarray(cuts, np.int64), at, side="right") if cuts else np.zeros(len(at), np.int64)
        return _segments(names, numbers, cut, us, at)


def _line_ends(raw: NDArray[np.uint8]) -> Ints:
    """Where the line breaks are. Eight bytes at a time, unless some lines are so short that two of them have breaks."""
    whole = len(raw) & ~7
    result = raw == ord("\n")
    words = result[:whole].view("<u8")
    where = np.flatnonzero(words.astype(bool))
    chosen = words[where]
    if (chosen & (chosen - 1)).any():
        return np.flatnonzero(result)
    ends = 8 * where + (chosen * _WHICH_BYTE >> np.uint64(56)).astype(np.int64)
    return np.append(ends, whole + np.flatnonzero(result[whole:])) if whole < len(raw) else ends


def _line_starts(raw: NDArray[np.uint8]) -> Ints:
    ends = _line_ends(raw)
    starts = np.empty(len(ends) + 1, np.int64)
    starts[0] = 0
    np.add(ends, 1, out=starts[1:])
    return starts[:-1] if len(ends) and ends[-1] == len(raw) - 1 else starts


def _quiet(raw: NDArray[np.uint8], words: StampWords, at: Ints, stamps: Ints) -> NDArray[np.bool_]:
    """Which lines have nothing but a bracket, if anything, before the stamp, and DBG or TRC behind it."""
    level = words.level()
    quiet: NDArray[np.bool_] = (level == _QUIET[0]) | (level == _QUIET[1])
    near = stamps - at < HEADER_WITHIN // 2
    quiet &= near & ((raw[at] == ord("[")) | (at == stamps))
    return quiet


def _find_stamps(block: bytes, raw: NDArray[np.uint8], starts: Ints, ends: Ints) -> tuple[Ints, Ints, StampWords]:
    """Starts of the lines that have a stamp, and where it stands: the first one in the line, near its start.

    Tries the columns at which lines have it (they change when the process id gets longer); lines that fit none are
    read singly, and when there are many, all stamps of the block are found by their slashes.
    """
    fitting = ends - starts >= LENGTH
    rest, ends = starts[fitting], ends[fitting]
    result: list[tuple[Ints, Ints, StampWords]] = []
    for _ in range(_MAX_COLUMNS):
        column = _next_column(block, rest)
        if column is None:
            break
        where = rest + column
        words = read_words(block, where)
        fits = words.are_stamps() & (where + LENGTH <= ends)
        if fits.all():
            result.append((rest, where, words))
            rest = rest[:0]
            break
        result.append((rest[fits], where[fits], words.of(fits)))
        rest, ends = rest[~fits], ends[~fits]
    if len(rest) > _MAX_SINGLE_LINES:
        return _by_slashes(block, raw, starts)
    odd = [(line, column) for line in rest.tolist() if (column := _column(block, line)) >= 0]
    if odd or not result:
        at = np.array([line for line, _ in odd], np.int64)
        stamps = np.array([line + column for line, column in odd], np.int64)
        result.append((at, stamps, read_words(block, stamps)))
    at = np.concatenate([piece[0] for piece in result])
    stamps = np.concatenate([piece[1] for piece in result])
    words = concatenated([piece[2] for piece in result])
    if len(result) > 1:
        order = np.argsort(at, kind="stable")
        return at[order], stamps[order], words.of(order)
    return at, stamps, words


def _next_column(block: bytes, rest: Ints) -> int | None:
    for line in rest[:_TRIED_LINES].tolist():
        column = _column(block, line)
        if 0 <= column < _ALONE:
            return column
    return None


def _column(block: bytes, line: int) -> int:
    return stamp_start(block[line : line + HEADER_WITHIN].partition(b"\n")[0])


def _by_slashes(block: bytes, raw: NDArray[np.uint8], starts: Ints) -> tuple[Ints, Ints, StampWords]:
    """As `_find_stamps`, by the slashes of dates."""
    result = np.flatnonzero(raw == ord("/")) - 4
    result = result[(result >= 0) & (result + LENGTH <= len(raw))]
    result = result[raw[result + 7] == ord("/")]
    words = read_words(block, result)
    good = words.are_stamps()
    result, words = result[good], words.of(good)
    lines = np.searchsorted(starts, result, side="right") - 1
    near = result - starts[lines] + LENGTH <= HEADER_WITHIN  # and no line break is in a stamp's shape
    near[1:] &= lines[1:] != lines[:-1]
    return starts[lines[near]], result[near], words.of(near)


def _process_keys(
    block: bytes, prefix_changes: list[int], line_starts: Ints, stamp_starts: Ints, keys: ProcessKeys
) -> tuple[list[ProcessKey | None], Ints]:
    """The distinct processes, and for each line the number of its own.

    A process is recognised by the text before the stamp; `prefix_changes` are the lines where that changes, the first
    one included.
    """
    numbers = np.empty(len(line_starts), np.int64)
    names: dict[ProcessKey | None, int] = {}
    for begin, end in pairwise([*prefix_changes, len(line_starts)]):
        key = keys.of(block[line_starts[begin] : stamp_starts[begin]])
        numbers[begin:end] = names.setdefault(key, len(names))
    return list(names), numbers


def _prefix_changes(raw: NDArray[np.uint8], words: StampWords, at: Ints, stamps: Ints) -> list[int]:
    """Lines whose bytes before the stamp differ from those of the line before."""
    widths = stamps - at
    changed = np.ones(len(at), bool)
    changed[1:] = widths[1:] != widths[:-1]
    widest = int(widths.max())
    if widest <= BEFORE:
        for word, width in ((words.near, np.minimum(widths, 8)), (words.far, np.maximum(widths - 8, 0))):
            prefix = _last_bytes(word, width)
            changed[1:] |= prefix[1:] != prefix[:-1]
        return np.flatnonzero(changed).tolist()
    for column in range(widest):
        same = np.flatnonzero(~changed)
        same = same[widths[same] > column]
        if not len(same):
            break
        changed[same[raw[at[same] + column] != raw[at[same - 1] + column]]] = True
    return np.flatnonzero(changed).tolist()


def _last_bytes(words: Words, widths: Ints) -> Words:
    """The last bytes of each word, and zero for the others."""
    unused = (64 - 8 * widths).astype(np.uint64)
    return np.where(unused == 64, np.uint64(0), words >> np.minimum(unused, np.uint64(63)))


def _segments(names: list[ProcessKey | None], numbers: Ints, cut: Ints, us: Ints, at: Ints) -> list[TimeSegment]:
    group = numbers * (int(cut.max()) + 1) + cut
    if (group == group[0]).all():
        process = names[0]
        return [] if process is None else [_segment(process, int(cut[0]), us, at)]
    order = np.argsort(group, kind="stable")
    edges = np.flatnonzero(np.diff(group[order])) + 1
    segments = []
    for chosen in np.split(order, edges):
        process = names[int(numbers[chosen[0]])]
        if process is not None:
            segments.append(_segment(process, int(cut[chosen[0]]), us[chosen], at[chosen]))
    return sorted(segments, key=lambda segment: segment.first_at)


def _segment(process: ProcessKey, cut: int, us: Ints, at: Ints) -> TimeSegment:
    moved = np.diff(us)
    ends = (int(us[0]), int(at[0]), int(us[-1]), int(at[-1]))
    steps, gaps = np.flatnonzero(moved <= -STEP_US), np.flatnonzero(moved >= GAP_US)
    return TimeSegment(
        process, cut, *ends, int(us.min()), int(us.max()), len(us), _jumps(steps, us, at), _jumps(gaps, us, at)
    )


def _jumps(where: Ints, us: Ints, at: Ints) -> tuple[Jump, ...]:
    return tuple(Jump(int(at[index + 1]), int(us[index]), int(us[index + 1])) for index in where.tolist())
