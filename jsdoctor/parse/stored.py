"""Scans of stored messages to evidence: order of dates, dates in the future, and ids, from the columns."""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterable, Mapping
from typing import Annotated

import msgspec

from jsdoctor.model.exchange import Endpoint, Exchange
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.reported import Instant
from jsdoctor.model.stored import (
    MAX_INVERSIONS,
    MAX_MESSAGES,
    FutureDated,
    Inversion,
    OlderThanStream,
    StoredMessages,
    StoredStream,
    SubjectIds,
    TimeInversions,
)
from jsdoctor.model.stored_ids import MAX_COMPARED, MAX_DISTANCES, MAX_KEPT, Distances, Repeat, RepeatedIds
from jsdoctor.parse.clock import nanoseconds
from jsdoctor.parse.equal_digests import equal_digests
from jsdoctor.parse.missing_replies import unreadable
from jsdoctor.parse.replies import ReplyError, decode
from jsdoctor.parse.stored_columns import HasId, MessageBlock, Rows, digests_of, unpack

_Seq = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
MAX_BLOCKS = 1_000


class StoredReply(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a STORED_MESSAGES exchange: one stream, read from `from_seq` to `to_seq`.

    `at` is the leader's clock when it reported `to_seq` as the last message; `held_first_seq` was the first then.
    `contents` has digests of subject and content by sequence, of messages whose id came more than once; None where they
    were not to be compared. The salt of all digests is thrown away. `markers` counts the messages that mark a key of a
    bucket as deleted and have no time to live; None where an older version of jsdoctor read it.
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
    )


class _Aggregate:
    """One pass over the messages of a stream, in order."""

    def __init__(self, now_ns: int, created_ns: int, window_from_ns: int) -> None:
        # The clock is exact to the microsecond, and may have been read within it.
        self._now_ns = now_ns + 1_000
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
                self._inverted(Inversion(before_seq, before_ns, stream_seq, at_ns))
            if at_ns > self._now_ns:
                self._ahead(stream_seq, at_ns)
            before_ns, before_seq = at_ns, stream_seq
        self._aged(rows)
        self.first_seq, self.first_ns = self.first_seq or sequences[0], self.first_ns or dates[0]
        self.last_seq, self.last_ns = before_seq, before_ns
        self.messages += len(sequences)

    def _aged(self, rows: Rows) -> None:
        """Which are older than their stream, and which have an id that its window still covers."""
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

    def _inverted(self, inversion: Inversion) -> None:
        self.inversions += 1
        entry = (inversion.size_ns, -inversion.stream_seq, inversion)
        if len(self._heap) < MAX_INVERSIONS:
            heapq.heappush(self._heap, entry)
        else:
            heapq.heappushpop(self._heap, entry)

    def _ahead(self, stream_seq: int, at_ns: int) -> None:
        self.future += 1
        self.future_first = self.future_first or stream_seq
        self.future_last = stream_seq
        self.farthest_ns = max(self.farthest_ns, at_ns - self._now_ns)


class RepeatAggregate:
    """Takes the blocks of a scan in order. Thirty bytes of memory for each message whose id came more than once."""

    def __init__(self) -> None:
        self._digests, self._sequences, self._dates = array("Q"), array("q"), array("q")

    def add(self, rows: Rows) -> None:
        """The next block."""
        for place, digest in enumerate(digests_of(rows)):
            if digest:
                self._digests.append(digest)
                self._sequences.append(rows.sequences[place])
                self._dates.append(rows.dates[place])

    def repeats(self, contents: Mapping[int, str]) -> RepeatedIds:
        """All of them. `contents`: digests of whole messages by sequence, of those that were read whole."""
        distances, count, differing_count = array("q"), 0, 0
        closest, farthest, differing = _Kept(-1), _Kept(1), _Kept(1)
        for before, place in equal_digests(self._digests):
            repeat = self._repeat(before, place, contents)
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

    def _repeat(self, before: int, place: int, contents: Mapping[int, str]) -> Repeat:
        first_seq, stream_seq = self._sequences[before], self._sequences[place]
        first, second = contents.get(first_seq), contents.get(stream_seq)
        differs = None if first is None or second is None else first != second
        return Repeat(first_seq, self._dates[before], stream_seq, self._dates[place], differs)


class _Kept:
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
