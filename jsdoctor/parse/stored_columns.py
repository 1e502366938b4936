"""The raw form of a scan: what was read of each message, column by column, packed in blocks.

Each message keeps its sequence, its date, its subject (the first thousand, the others as one) and whether it has a
`Nats-Msg-Id`; a digest of the id is kept only if another message has the same. Payloads and other headers are never
kept.
"""

from __future__ import annotations

import base64
import sys
import zlib
from array import array
from collections.abc import Iterator
from enum import IntEnum
from itertools import accumulate, pairwise
from operator import mul, sub
from typing import Annotated, NamedTuple

import msgspec

from jsdoctor.model.stored import MAX_SUBJECTS, SubjectIds
from jsdoctor.parse.bundle import YEARS
from jsdoctor.parse.equal_digests import equal_digests
from jsdoctor.parse.replies import ReplyError

BLOCK_MESSAGES = 1 << 16
DIGEST_BYTES = 8
_LEVEL = 1
_WIDTH = 8
_FARTHEST_NS = (YEARS.stop - 1970) * 365 * 86_400 * 1_000_000_000
_Count = Annotated[int, msgspec.Meta(ge=0, le=BLOCK_MESSAGES)]


class HasId(IntEnum):
    """Whether a message has an id: a header that servers read, or one that only resembles it."""

    NO = 0
    YES = 1
    MISNAMED = 2


class MessageBlock(msgspec.Struct, frozen=True, omit_defaults=True):
    """Up to 65,536 messages. Columns are deflated and in base64: differences of sequences and of dates in ns (64 bits,
    little-endian, the first from zero), one byte `HasId`, digests of ids (zeros where no other message has it).
    """

    messages: _Count
    sequences: str
    dates: str
    ids: str
    digests: str = ""


class Rows(NamedTuple):
    """A block unpacked."""

    sequences: array[int]
    dates: array[int]
    ids: bytes
    digests: bytes


class Columns:
    """Takes messages in the order of their sequence, and packs them as they come.

    With `digests`, the digests of all ids are held until the end, eight bytes for each message; only then the repeated
    ones are known.
    """

    def __init__(self, digests: bool = False) -> None:
        self._packed_seq = 0
        self._blocks: list[MessageBlock] = []
        self._subjects: dict[str, list[int]] = {}
        self._others = [0, 0, 0]
        self._digests = array("Q") if digests else None
        self._begin()

    def _begin(self) -> None:
        self._sequences, self._dates, self._ids = array("q"), array("q"), bytearray()

    def add(self, stream_seq: int, date_ns: int, subject: str, has_id: int, digest: bytes = b"") -> None:
        """One message. `date_ns`: when it was stored, since 1970."""
        counts = self._subjects.get(subject) or self._counts_of(subject)
        counts[has_id] += 1
        self._sequences.append(stream_seq)
        self._dates.append(date_ns)
        self._ids.append(has_id)
        if self._digests is not None:
            self._digests.append(int.from_bytes(digest, "little"))
        if len(self._ids) == BLOCK_MESSAGES:
            self._pack()

    @property
    def messages(self) -> int:
        """How many there are so far."""
        return sum(block.messages for block in self._blocks) + len(self._ids)

    @property
    def last_seq(self) -> int:
        """The sequence of the last of them, 0 if there is none."""
        return self._sequences[-1] if self._sequences else self._packed_seq

    def _counts_of(self, subject: str) -> list[int]:
        if len(self._subjects) >= MAX_SUBJECTS:
            return self._others
        return self._subjects.setdefault(subject, [0, 0, 0])

    def _pack(self) -> None:
        if self._ids:
            self._packed_seq = self._sequences[-1]
            self._blocks.append(
                MessageBlock(
                    messages=len(self._ids),
                    sequences=_packed(_differences(self._sequences)),
                    dates=_packed(_differences(self._dates)),
                    ids=_packed(self._ids),
                )
            )
        self._begin()

    def blocks(self) -> tuple[MessageBlock, ...]:
        """All messages so far."""
        self._pack()
        return tuple(self._with_digests(self._digests) if self._digests else self._blocks)

    def _with_digests(self, digests: array[int]) -> Iterator[MessageBlock]:
        """The blocks, with digests where they came more than once: digests of single ids have no use."""
        again = bytearray(len(digests))
        for before, place in equal_digests(digests):
            again[before] = again[place] = 1
        start = 0
        for block in self._blocks:
            end = start + block.messages
            if any(again[start:end]):
                column = array("Q", map(mul, digests[start:end], again[start:end]))
                yield msgspec.structs.replace(block, digests=_packed(_little(column)))
            else:
                yield block
            start = end

    def again(self) -> list[int]:
        """The sequences of messages whose id came more than once, in order."""
        sequences: list[int] = []
        for rows in map(unpack, self.blocks()):
            digests = digests_of(rows)
            sequences += [seq for seq, digest in zip(rows.sequences, digests, strict=True) if digest] if digests else []
        return sequences

    def subjects(self) -> tuple[SubjectIds, ...]:
        """Counts by subject, the most frequent first; those of all others last."""
        rows = [_row(subject, counts) for subject, counts in self._subjects.items()]
        rows.sort(key=lambda row: (-row.with_id - row.without_id, row.subject))
        return (*rows, _row("", self._others)) if any(self._others) else tuple(rows)


def _row(subject: str, counts: list[int]) -> SubjectIds:
    none, ids, misnamed = counts
    return SubjectIds(subject, ids, none + misnamed, misnamed)


def unpack(block: MessageBlock) -> Rows:
    """A block's columns. Raises `ReplyError` for one that is not what `Columns` writes."""
    rows = Rows(
        _summed(block.sequences, block.messages),
        _summed(block.dates, block.messages),
        _unpacked(block.ids, block.messages),
        _unpacked(block.digests, block.messages * DIGEST_BYTES) if block.digests else b"",
    )
    if any(later <= earlier for earlier, later in pairwise(rows.sequences)):
        raise ReplyError("the sequences of stored messages do not grow")
    if rows.dates and not 0 <= min(rows.dates) <= max(rows.dates) < _FARTHEST_NS:
        raise ReplyError("stored messages have dates that cannot be right")
    return rows


def digests_of(rows: Rows) -> array[int]:
    """The digests of a block as numbers, 0 where there is none; nothing where no id of it came more than once."""
    digests = array("Q", rows.digests)
    if sys.byteorder == "big":
        digests.byteswap()
    return digests


def _differences(values: array[int]) -> bytes:
    changes = array("q", values[:1])
    changes.extend(map(sub, values[1:], values))
    return _little(changes)


def _little(column: array[int]) -> bytes:
    if sys.byteorder == "big":
        column.byteswap()
    return column.tobytes()


def _packed(column: bytes | bytearray) -> str:
    return base64.b64encode(zlib.compress(column, _LEVEL)).decode()


def _unpacked(packed: str, size: int) -> bytes:
    """Never unpacks to more than `size`: bundles are untrusted input."""
    try:
        inflater = zlib.decompressobj()
        column = inflater.decompress(base64.b64decode(packed, validate=True), size + 1)
    except (ValueError, zlib.error) as error:
        raise ReplyError(f"a column of stored messages cannot be unpacked: {error}") from error
    if len(column) != size or not inflater.eof:
        raise ReplyError(f"a column of stored messages has {len(column):,} bytes or more, not {size:,}")
    return column


def _summed(packed: str, count: int) -> array[int]:
    changes = array("q", _unpacked(packed, count * _WIDTH))
    if sys.byteorder == "big":
        changes.byteswap()
    try:
        return array("q", accumulate(changes))
    except OverflowError as error:
        raise ReplyError("a column of stored messages holds numbers that are too large") from error
