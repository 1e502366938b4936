"""Scans of stored messages to evidence: what the columns say of the order of dates, of the future, of ids."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import Annotated

import msgspec

from jsdoctor.model.exchange import Endpoint, Exchange
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.stored import (
    MOST_INVERSIONS,
    FutureDated,
    Inversion,
    StoredMessages,
    StoredStream,
    SubjectIds,
    TimeInversions,
)
from jsdoctor.parse.clock import nanoseconds
from jsdoctor.parse.replies import Instant, ReplyError, decode
from jsdoctor.parse.stored_columns import Block, unpack
from jsdoctor.parse.unseen import unreadable

_Seq = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
MOST_BLOCKS = 1_000


class StoredReply(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a STORED_MESSAGES exchange: one stream, read from `from_seq` to `to_seq`.

    `at` is the leader's clock when it said that `to_seq` is the last message; `held_first_seq` was the first then.
    """

    stream: str
    read_by: str
    at: Instant
    answered_by: str = ""
    held_first_seq: _Seq = 0
    from_seq: _Seq = 0
    to_seq: _Seq = 0
    subjects: tuple[SubjectIds, ...] = ()
    blocks: Annotated[tuple[Block, ...], msgspec.Meta(max_length=MOST_BLOCKS)] = ()


def stored_messages(exchanges: Iterable[Exchange], account: str) -> tuple[StoredMessages | None, list[Gap]]:
    """The scans of a run, and a gap for each that cannot be read. `account`: whose streams they are."""
    streams: dict[str, StoredStream] = {}
    gaps: list[Gap] = []
    for exchange in exchanges:
        if exchange.endpoint is not Endpoint.STORED_MESSAGES:
            continue
        try:
            reply = decode(exchange.body, StoredReply)
            streams[reply.stream] = _folded(reply, account)
        except ReplyError as error:
            gaps.append(unreadable(exchange, error))
    return (StoredMessages(tuple(streams.values())) if streams else None), gaps


def scan_gap(stream: str, account: str, reason: str, how_to_get: str) -> Gap:
    """The gap for a stream whose stored messages were asked for and could not be read, or not all of them."""
    return Gap("scan", Subject(kind="stream", name=stream, account=account), reason, how_to_get)


def _folded(reply: StoredReply, account: str) -> StoredStream:
    found = _Fold(nanoseconds(reply.at))
    for block in reply.blocks:
        rows = unpack(block)
        found.add(rows.sequences, rows.dates)
    return StoredStream(
        account=account,
        stream=reply.stream,
        first_seq=found.first_seq,
        last_seq=found.last_seq,
        messages=found.messages,
        whole=reply.from_seq <= reply.held_first_seq,
        at=reply.at,
        answered_by=reply.answered_by,
        inversions=TimeInversions(found.inversions, tuple(sorted(found.kept, key=lambda kept: kept.stream_seq))),
        future=FutureDated(found.future, found.future_first, found.future_last, found.farthest_ns),
        subjects=reply.subjects,
    )


class _Fold:
    """One pass over the messages of a stream, in order."""

    def __init__(self, now_ns: int) -> None:
        # The clock is told to the microsecond, and may have been read in it.
        self._now_ns = now_ns + 1_000
        self._last_ns: int | None = None
        self._heap: list[tuple[int, int, Inversion]] = []
        self.messages = self.first_seq = self.last_seq = 0
        self.inversions = self.future = self.future_first = self.future_last = self.farthest_ns = 0

    @property
    def kept(self) -> list[Inversion]:
        return [inversion for _, _, inversion in self._heap]

    def add(self, sequences: Sequence[int], dates: Sequence[int]) -> None:
        """The next block. Raises `ReplyError` where it does not come after the one before."""
        if not sequences:
            return
        if sequences[0] <= self.last_seq:
            raise ReplyError("the blocks of stored messages are not in order")
        before_ns, before_seq = dates[0] if self._last_ns is None else self._last_ns, self.last_seq
        for stream_seq, at_ns in zip(sequences, dates, strict=True):
            if at_ns < before_ns:
                self._inverted(Inversion(before_seq, before_ns, stream_seq, at_ns))
            if at_ns > self._now_ns:
                self._ahead(stream_seq, at_ns)
            before_ns, before_seq = at_ns, stream_seq
        self.first_seq = self.first_seq or sequences[0]
        self.last_seq, self._last_ns = before_seq, before_ns
        self.messages += len(sequences)

    def _inverted(self, inversion: Inversion) -> None:
        self.inversions += 1
        entry = (inversion.size_ns, -inversion.stream_seq, inversion)
        if len(self._heap) < MOST_INVERSIONS:
            heapq.heappush(self._heap, entry)
        else:
            heapq.heappushpop(self._heap, entry)

    def _ahead(self, stream_seq: int, at_ns: int) -> None:
        self.future += 1
        self.future_first = self.future_first or stream_seq
        self.future_last = stream_seq
        self.farthest_ns = max(self.farthest_ns, at_ns - self._now_ns)
