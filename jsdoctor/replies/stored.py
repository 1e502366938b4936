"""Scans of stored messages: their raw form, column by column, and the evidence from it: dates, order, ids.

Each message keeps its sequence, its date, its subject (the first thousand, the others as one) and whether it has a
`Nats-Msg-Id`; a digest of the id is kept only if another message has the same. Payloads and other headers are never
kept, except what advisories name of faults.
"""

from __future__ import annotations

import base64
import heapq
import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from itertools import accumulate, pairwise
from operator import mul, sub
from typing import Annotated, NamedTuple

import msgspec

from jsdoctor.model.advisories import MAX_KEPT as MAX_ADVISORIES
from jsdoctor.model.advisories import RecordedAdvisories
from jsdoctor.model.exchange import Endpoint, Exchange
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.reported import Instant
from jsdoctor.model.stored import (
    MAX_INVERSIONS,
    MAX_MESSAGES,
    MAX_SUBJECTS,
    FutureDated,
    Inversion,
    OlderThanStream,
    StoredMessages,
    StoredStream,
    SubjectIds,
    TimeInversions,
)
from jsdoctor.model.stored_ids import MAX_COMPARED, MAX_DISTANCES, MAX_KEPT, Distances, Repeat, RepeatedIds
from jsdoctor.replies.clock import nanoseconds
from jsdoctor.replies.decoding import YEARS, ReplyError, decode
from jsdoctor.replies.missing_replies import unreadable

_BUCKETS = 256
_SHIFT = 56


def equal_digests(digests: array[int]) -> Iterator[tuple[int, int]]:
    """Positions of equal digests, each with that of the one before it; in no certain order. 0 is no digest.

    One dictionary of ten million digests takes a gigabyte; so positions are sorted by the first byte of the digest into
    256 heaps, and one dictionary after the other holds what is in a heap.
    """
    heaps = [array("I") for _ in range(_BUCKETS)]
    for position, digest in enumerate(digests):
        if digest:
            heaps[digest >> _SHIFT].append(position)
    for number, heap in enumerate(heaps):
        heaps[number] = array("I")
        seen: dict[int, int] = {}
        for position in heap:
            digest = digests[position]
            before = seen.get(digest)
            if before is not None:
                yield before, position
            seen[digest] = position


BLOCK_MESSAGES = 1 << 16
DIGEST_BYTES = 8
_COMPRESSION_LEVEL = 1
_VALUE_BYTES = 8
_CLOCK_RESOLUTION_NS = 1_000
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
        self._start_block()

    def _start_block(self) -> None:
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
            self._end_block()

    @property
    def messages(self) -> int:
        """The number of messages so far."""
        return sum(block.messages for block in self._blocks) + len(self._ids)

    @property
    def last_seq(self) -> int:
        """The sequence of the last of them, 0 if there is none."""
        return self._sequences[-1] if self._sequences else self._packed_seq

    def _counts_of(self, subject: str) -> list[int]:
        if len(self._subjects) >= MAX_SUBJECTS:
            return self._others
        return self._subjects.setdefault(subject, [0, 0, 0])

    def _end_block(self) -> None:
        if self._ids:
            self._packed_seq = self._sequences[-1]
            self._blocks.append(
                MessageBlock(
                    messages=len(self._ids),
                    sequences=_compressed(_differences(self._sequences)),
                    dates=_compressed(_differences(self._dates)),
                    ids=_compressed(self._ids),
                )
            )
        self._start_block()

    def blocks(self) -> tuple[MessageBlock, ...]:
        """All messages so far, as blocks. Ends the block that is being filled."""
        self._end_block()
        return tuple(self._with_digests(self._digests) if self._digests else self._blocks)

    def _with_digests(self, digests: array[int]) -> Iterator[MessageBlock]:
        """The blocks with the digests of ids that came more than once; others are not needed."""
        again = bytearray(len(digests))
        for before, position in equal_digests(digests):
            again[before] = again[position] = 1
        start = 0
        for block in self._blocks:
            end = start + block.messages
            if any(again[start:end]):
                column = array("Q", map(mul, digests[start:end], again[start:end]))
                yield msgspec.structs.replace(block, digests=_compressed(_little_endian(column)))
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
        rows = [_subject_ids(subject, counts) for subject, counts in self._subjects.items()]
        rows.sort(key=lambda row: (-row.with_id - row.without_id, row.subject))
        return (*rows, _subject_ids("", self._others)) if any(self._others) else tuple(rows)


def _subject_ids(subject: str, counts: list[int]) -> SubjectIds:
    none, ids, misnamed = counts
    return SubjectIds(subject, ids, none + misnamed, misnamed)


def unpack(block: MessageBlock) -> Rows:
    """A block's columns. Raises `ReplyError` for one that is not what `Columns` writes."""
    rows = Rows(
        _sums(block.sequences, block.messages),
        _sums(block.dates, block.messages),
        _decompressed(block.ids, block.messages),
        _decompressed(block.digests, block.messages * DIGEST_BYTES) if block.digests else b"",
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
    return _little_endian(changes)


def _little_endian(column: array[int]) -> bytes:
    if sys.byteorder == "big":
        column.byteswap()
    return column.tobytes()


def _compressed(column: bytes | bytearray) -> str:
    return base64.b64encode(zlib.compress(column, _COMPRESSION_LEVEL)).decode()


def _decompressed(packed: str, size: int) -> bytes:
    """The bytes of a column. Raises `ReplyError` unless there are `size` of them: bundles are untrusted input."""
    try:
        inflater = zlib.decompressobj()
        column = inflater.decompress(base64.b64decode(packed, validate=True), size + 1)
    except (ValueError, zlib.error) as error:
        raise ReplyError(f"a column of stored messages cannot be unpacked: {error}") from error
    if len(column) != size or not inflater.eof:
        raise ReplyError(f"a column of stored messages has {len(column):,} bytes or more, not {size:,}")
    return column


def _sums(packed: str, count: int) -> array[int]:
    """The `count` values of a column of differences."""
    changes = array("q", _decompressed(packed, count * _VALUE_BYTES))
    if sys.byteorder == "big":
        changes.byteswap()
    try:
        return array("q", accumulate(changes))
    except OverflowError as error:
        raise ReplyError("a column of stored messages holds numbers that are too large") from error


_Seq = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
MAX_BLOCKS = 1_000


class StoredReply(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a STORED_MESSAGES exchange: one stream, read from `from_seq` to `to_seq`.

    `at` is the leader's clock when it reported `to_seq` as the last message; `held_first_seq` was the first then.
    `contents` has digests of subject and content by sequence, of messages whose id came more than once; None where they
    were not to be compared. The salt of all digests is thrown away. `markers` counts the messages that mark a key of a
    bucket as deleted and have no time to live; None where an older version of jsdoctor read it. `advisories`: of a
    stream that records them.
    """

    stream: str
    read_by: str
    at: Instant
    answered_by: str = ""
    held_first_seq: _Seq = 0
    from_seq: _Seq = 0
    to_seq: _Seq = 0
    subjects: tuple[SubjectIds, ...] = ()
    blocks: Annotated[tuple[MessageBlock, ...], msgspec.Meta(max_length=MAX_BLOCKS)] = ()
    created: Instant | None = None
    duplicate_window: _Seq = 0
    ids_read: bool = False
    contents: Annotated[dict[int, str], msgspec.Meta(max_length=MAX_COMPARED)] | None = None
    markers: _Seq | None = None
    advisories: Annotated[tuple[RecordedAdvisories, ...], msgspec.Meta(max_length=MAX_ADVISORIES)] | None = None


def stored_messages(exchanges: Iterable[Exchange], account: str) -> tuple[StoredMessages | None, list[Gap]]:
    """The scans of a run, and a gap for each that cannot be read. `account`: whose streams they are."""
    streams: dict[str, StoredStream] = {}
    gaps: list[Gap] = []
    for exchange in exchanges:
        if exchange.endpoint is not Endpoint.STORED_MESSAGES:
            continue
        try:
            reply = decode(exchange.body, StoredReply)
            streams[reply.stream] = _stored_stream(reply, account)
        except ReplyError as error:
            gaps.append(unreadable(exchange, error))
    return (StoredMessages(tuple(streams.values())) if streams else None), gaps


def scan_gap(stream: str, account: str, reason: str, how_to_get: str) -> Gap:
    """The gap for a stream whose stored messages were requested and could not be read, or not all of them."""
    return Gap("scan", Subject(kind="stream", name=stream, account=account), reason, how_to_get)


def _stored_stream(reply: StoredReply, account: str) -> StoredStream:
    at_ns = nanoseconds(reply.at)
    created_ns = nanoseconds(reply.created) if reply.created else 0
    totals, repeats = _Aggregate(at_ns, created_ns, at_ns - reply.duplicate_window), RepeatAggregate()
    for block in reply.blocks:
        rows = unpack(block)
        totals.add(rows)
        repeats.add(rows)
    return StoredStream(
        account=account,
        stream=reply.stream,
        first_seq=totals.first_seq,
        last_seq=totals.last_seq,
        messages=totals.messages,
        whole=reply.from_seq <= reply.held_first_seq,
        at=reply.at,
        answered_by=reply.answered_by,
        inversions=TimeInversions(totals.inversions, tuple(sorted(totals.kept, key=lambda kept: kept.stream_seq))),
        future=FutureDated(totals.future, totals.future_first, totals.future_last, totals.farthest_ns),
        subjects=reply.subjects,
        first_ns=totals.first_ns,
        last_ns=totals.last_ns or 0,
        window_ns=reply.duplicate_window,
        ids_in_window=totals.recent_ids if reply.duplicate_window else 0,
        ids_read=reply.ids_read,
        contents_read=reply.contents is not None,
        markers=reply.markers,
        repeats=repeats.repeats(reply.contents or {}),
        older=OlderThanStream(totals.older, totals.older_last, totals.older_ns),
        advisories=reply.advisories,
    )


class _Aggregate:
    """One pass over the messages of a stream, in order."""

    def __init__(self, now_ns: int, created_ns: int, window_from_ns: int) -> None:
        # The clock is exact to the microsecond, and may have been read within it.
        self._now_ns = now_ns + _CLOCK_RESOLUTION_NS
        self._created_ns, self._window_from_ns = created_ns, window_from_ns
        self.last_ns: int | None = None
        self._heap: list[tuple[int, int, Inversion]] = []
        self.messages = self.first_seq = self.last_seq = 0
        self.first_ns = self.recent_ids = self.older = self.older_last = self.older_ns = 0
        self.inversions = self.future = self.future_first = self.future_last = self.farthest_ns = 0

    @property
    def kept(self) -> list[Inversion]:
        return [inversion for _, _, inversion in self._heap]

    def add(self, rows: Rows) -> None:
        """The next block. Raises `ReplyError` where it does not come after the one before."""
        sequences, dates = rows.sequences, rows.dates
        if not sequences:
            return
        if sequences[0] <= self.last_seq:
            raise ReplyError("the blocks of stored messages are not in order")
        if self.messages + len(sequences) > MAX_MESSAGES:
            raise ReplyError(f"it has more stored messages than are ever read ({MAX_MESSAGES:,})")
        before_ns, before_seq = dates[0] if self.last_ns is None else self.last_ns, self.last_seq
        for stream_seq, at_ns in zip(sequences, dates, strict=True):
            if at_ns < before_ns:
                self._add_inversion(Inversion(before_seq, before_ns, stream_seq, at_ns))
            if at_ns > self._now_ns:
                self.future += 1
                self.future_first = self.future_first or stream_seq
                self.future_last = stream_seq
                self.farthest_ns = max(self.farthest_ns, at_ns - self._now_ns)
            before_ns, before_seq = at_ns, stream_seq
        self._count_by_age(rows)
        self.first_seq, self.first_ns = self.first_seq or sequences[0], self.first_ns or dates[0]
        self.last_seq, self.last_ns = before_seq, before_ns
        self.messages += len(sequences)

    def _count_by_age(self, rows: Rows) -> None:
        """Count messages that are older than their stream, and those whose id the duplicate window still covers."""
        dates = rows.dates
        if max(dates) >= self._window_from_ns:
            has_id = int(HasId.YES)
            self.recent_ids += sum(
                1
                for at_ns, kind in zip(dates, rows.ids, strict=True)
                if kind == has_id and at_ns > self._window_from_ns
            )
        if min(dates) < self._created_ns:
            for stream_seq, at_ns in zip(rows.sequences, dates, strict=True):
                if at_ns < self._created_ns:
                    self.older, self.older_last = self.older + 1, stream_seq
                    self.older_ns = max(self.older_ns, at_ns)

    def _add_inversion(self, inversion: Inversion) -> None:
        self.inversions += 1
        entry = (inversion.size_ns, -inversion.stream_seq, inversion)
        if len(self._heap) < MAX_INVERSIONS:
            heapq.heappush(self._heap, entry)
        else:
            heapq.heappushpop(self._heap, entry)


class RepeatAggregate:
    """Takes the blocks of a scan in order. Thirty bytes of memory for each message whose id came more than once."""

    def __init__(self) -> None:
        self._digests, self._sequences, self._dates = array("Q"), array("q"), array("q")

    def add(self, rows: Rows) -> None:
        """The next block."""
        for position, digest in enumerate(digests_of(rows)):
            if digest:
                self._digests.append(digest)
                self._sequences.append(rows.sequences[position])
                self._dates.append(rows.dates[position])

    def repeats(self, contents: Mapping[int, str]) -> RepeatedIds:
        """All repeated ids. `contents`: digests by sequence of the messages that were read whole."""
        distances, count, differing_count = array("q"), 0, 0
        closest, farthest, differing = _FarthestRepeats(-1), _FarthestRepeats(1), _FarthestRepeats(1)
        for before, position in equal_digests(self._digests):
            repeat = self._repeat(before, position, contents)
            count += 1
            if repeat.differs:
                differing_count += 1
                differing.add(repeat)
            else:
                if len(distances) < MAX_DISTANCES:
                    distances.append(repeat.distance_ns)
                closest.add(repeat)
                farthest.add(repeat)
        kept = {repeat.stream_seq: repeat for repeat in (*closest.all, *farthest.all)}
        return RepeatedIds(
            count=count,
            ids=len(self._digests) - count,
            kept=_in_order(kept.values()),
            distances=Distances(distances),
            differing=_in_order(differing.all),
            differing_count=differing_count,
            compared=len(contents),
        )

    def _repeat(self, before: int, position: int, contents: Mapping[int, str]) -> Repeat:
        first_seq, stream_seq = self._sequences[before], self._sequences[position]
        first, second = contents.get(first_seq), contents.get(stream_seq)
        differs = None if first is None or second is None else first != second
        return Repeat(first_seq, self._dates[before], stream_seq, self._dates[position], differs)


class _FarthestRepeats:
    """The farthest repeats, or with `sign` -1 the closest."""

    def __init__(self, sign: int) -> None:
        self._sign = sign
        self._heap: list[tuple[int, int, Repeat]] = []

    @property
    def all(self) -> list[Repeat]:
        return [repeat for _, _, repeat in self._heap]

    def add(self, repeat: Repeat) -> None:
        entry = (self._sign * repeat.distance_ns, -repeat.stream_seq, repeat)
        if len(self._heap) < MAX_KEPT:
            heapq.heappush(self._heap, entry)
        else:
            heapq.heappushpop(self._heap, entry)


def _in_order(repeats: Iterable[Repeat]) -> tuple[Repeat, ...]:
    return tuple(sorted(repeats, key=lambda repeat: repeat.stream_seq))
