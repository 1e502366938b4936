"""Stamps of many lines at once, as words of eight bytes: whether they are stamps, the times they tell, what follows."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jsdoctor.parse.logs.lines.stamp import native_second_us

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

LENGTH = 28
"""Of a stamp with the bracket of the level behind it."""

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
        """Some of them."""
        return StampWords(*[word[chosen] for word in self])

    def level(self) -> Words:
        """The four bytes behind the bracket, as a number."""
        return self.last >> np.uint64(32)

    def microseconds(self, block: bytes, stamps: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """Times that they tell, and which of them are times at all. `stamps` is where they stand."""
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
