"""Publishes and their replies: latency, retries under one id, duplicates, refusals, and publishes without a reply."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeAlias

from jsdoctor.model.latency import LatencyTally
from jsdoctor.model.nats_traffic import Publishing, Retry
from jsdoctor.parse.packets.nats.expectations import ExpectationBook, PublishExpectation, RefusalTally, expectation
from jsdoctor.parse.packets.nats.headers import status
from jsdoctor.parse.packets.nats.identity import shortened, text
from jsdoctor.parse.packets.nats.pub_ack import pub_ack
from jsdoctor.parse.packets.nats.store_clock import StoreClockBook

MAX_WAITING = 20_000
"""Of one connection: nobody has more publishes under way."""
_TOOK = 64
"""Number of durations that are summed up at once: that costs less than one by one."""
_IDS = 100_000
_SUBJECTS = 50_000
MAX_SUBJECTS = 2_000
"""Maximum number of subjects counted of a connection: with more, none of them stands out."""

_NAMED = 5
_EXAMPLES = 5
_NO_RESPONDERS = 503
_RECONNECTED_NS = 1_000_000_000
"""Sooner than this, the same id on two open connections is a proxy that passes it on, or one event published by two."""
_JETSTREAM_HEADERS = (b"Nats-Msg-Id", b"Nats-Expected-Stream", b"Nats-Expected-Last-Sequence")


class _Copy:
    """The first publish under an id: when, over which connection, and when it was acknowledged."""

    __slots__ = ("answer_ns", "at_ns", "connection")

    def __init__(self, at_ns: int, connection: int) -> None:
        self.at_ns = at_ns
        self.connection = connection
        self.answer_ns: int | None = None


_Pending: TypeAlias = tuple[int, bytes, _Copy | None, PublishExpectation | None, bool]
"""A publish that waits for its reply: when, to which subject, its first copy, what it expects, whether its headers
are JetStream's. A plain tuple, as there is one for every publish.
"""


def _family(subject: bytes) -> bytes:
    """The first token of a subject: streams take whole branches, and the rest may be an id."""
    return subject.partition(b".")[0]


class PublishTracker:
    """Shared state of all connections of a capture: ids, expectations, first tokens of subjects with JetStream acks."""

    __slots__ = ("clock", "closed", "copies", "expectations", "subjects")

    def __init__(self, clock: StoreClockBook) -> None:
        self.clock = clock
        self.closed: set[int] = set()
        self.copies: OrderedDict[tuple[bytes, bytes], _Copy] = OrderedDict()
        self.expectations = ExpectationBook()
        self.subjects: set[bytes] = set()

    def first_copy(self, subject: bytes, msg_id: bytes, at_ns: int, connection: int) -> tuple[_Copy, bool]:
        """The first publish of that id, and whether it is this one."""
        known = self.copies.get((subject, msg_id))
        if known is not None:
            return known, False
        if len(self.copies) >= _IDS:
            self.copies.popitem(last=False)
        fresh = self.copies[subject, msg_id] = _Copy(at_ns, connection)
        return fresh, True


class PublishTally:
    """The publishes of one connection. `waiting` are those that expect a reply, by its subject."""

    def __init__(self, book: PublishTracker, connection: int) -> None:
        self._book = book
        self._connection = connection
        self.waiting: OrderedDict[bytes, _Pending] = OrderedDict()
        self.messages = self.requests = self._acks = 0
        self._stored_subject = b""
        self._took: list[int] = []
        self._counts: dict[str, int] = {}
        self._ack_ns = LatencyTally()
        self._retry_ns = LatencyTally()
        self._examples: list[Retry] = []
        self._refusals = RefusalTally()
        self._duplicate_streams: set[str] = set()
        self._silent_subjects: set[str] = set()
        self.by_subject: dict[bytes, int] = {}

    def _count(self, what: str) -> None:
        self._counts[what] = self._counts.get(what, 0) + 1

    def published(self, at_ns: int, subject: bytes, reply: bytes) -> None:
        """Add a publish without headers; `reply` is empty where no reply is expected."""
        self.messages += 1
        self._to(subject)
        if reply:
            self.requests += 1
            waiting = self.waiting
            if len(waiting) >= MAX_WAITING:
                waiting.popitem(last=False)
            waiting[reply] = (at_ns, subject, None, None, False)

    def published_with(
        self, at_ns: int, subject: bytes, reply: bytes, headers: dict[bytes, bytes], length: int
    ) -> None:
        """A publish with headers."""
        self.messages += 1
        self._to(subject)
        copy = None
        if msg_id := headers.get(b"Nats-Msg-Id"):
            self._count("identified")
            copy, fresh = self._book.first_copy(subject, msg_id, at_ns, self._connection)
            if not fresh:
                self._retried(at_ns, subject, copy)
        expected = expectation(self._connection, subject, headers, length)
        if expected is not None:
            self._book.expectations.published(expected)
        if reply:
            jetstream = any(name in headers for name in _JETSTREAM_HEADERS)
            self._wait(reply, (at_ns, subject, copy, expected, jetstream))

    def _to(self, subject: bytes) -> None:
        by_subject = self.by_subject
        if subject in by_subject or len(by_subject) < MAX_SUBJECTS:
            by_subject[subject] = by_subject.get(subject, 0) + 1

    def subjects(self) -> tuple[tuple[str, int], ...]:
        """The subjects published to most, with how often; among the first `MAX_SUBJECTS` different ones."""
        most = sorted(self.by_subject.items(), key=lambda entry: (-entry[1], entry[0]))[:_NAMED]
        return tuple((shortened(text(subject)), count) for subject, count in most)

    def _wait(self, reply: bytes, pending: _Pending) -> None:
        self.requests += 1
        if len(self.waiting) >= MAX_WAITING:
            self.waiting.popitem(last=False)
        self.waiting[reply] = pending

    def _retried(self, at_ns: int, subject: bytes, copy: _Copy) -> None:
        elsewhere = copy.connection != self._connection
        soon = at_ns - copy.at_ns < _RECONNECTED_NS
        if elsewhere and soon and copy.connection not in self._book.closed:
            return
        self._count("retries")
        if elsewhere:
            self._count("retries_elsewhere")
        if copy.answer_ns is not None:
            self._count("retries_answered")
        self._retry_ns.add(at_ns - copy.at_ns)
        if len(self._examples) < _EXAMPLES:
            self._examples.append(Retry(shortened(text(subject)), copy.at_ns, at_ns, copy.answer_ns, elsewhere))

    def answered_with(self, at_ns: int, inbox: bytes, headers: bytes, payload: bytes) -> None:
        """Add the reply to a publish; it may have headers."""
        pending = self.waiting.pop(inbox, None)
        if pending is None:
            return
        if headers and status(headers)[0] == _NO_RESPONDERS:
            self._count("no_responders")
            if len(self._silent_subjects) < _EXAMPLES:
                self._silent_subjects.add(shortened(text(pending[1])))
            return
        self.answered(at_ns, pending, payload)

    def answered(self, at_ns: int, pending: _Pending, payload: bytes) -> None:
        """Add the payload of the reply to a publish."""
        published_ns, subject, copy, expected, _ = pending
        answer = pub_ack(payload)
        if answer is None:
            return  # the reply of a service
        self._took.append(at_ns - published_ns)
        if len(self._took) > _TOOK:
            self._sum_up()
        if subject != self._stored_subject:
            self._is_stored(subject)
        if copy is not None and copy.answer_ns is None:
            copy.answer_ns = at_ns
        if answer.error is not None:
            again = expected is not None and self._book.expectations.refused(expected)
            self._refusals.add(at_ns, subject, answer, expected, again)
            return
        if expected is not None:
            self._book.expectations.stored(expected)
        if answer.duplicate:
            self._duplicate(answer.stream, answer.seq)
        else:
            self._book.clock.stored(answer.stream, answer.seq, published_ns, at_ns)

    def _is_stored(self, subject: bytes) -> None:
        """Note that JetStream replies for this subject. Most calls repeat the subject before and change nothing."""
        self._stored_subject = subject
        if len(self._book.subjects) < _SUBJECTS:
            self._book.subjects.add(_family(subject))

    def _sum_up(self) -> None:
        """Move latencies to where they need little memory."""
        self._acks += len(self._took)
        self._ack_ns.add_all(self._took)
        self._took.clear()

    def _duplicate(self, stream: str, stream_seq: int) -> None:
        self._count("duplicates")
        if stream_seq == 0:
            self._count("unproven")
        if len(self._duplicate_streams) < _EXAMPLES:
            self._duplicate_streams.add(shortened(stream))

    def publishing(self, end_ns: int) -> Publishing:
        """All of it when the connection or the capture ended: what still waits got no reply."""
        self._sum_up()
        if self.messages:
            self._book.closed.add(self._connection)
        waiting = LatencyTally()
        for at_ns, subject, _, _, jetstream in self.waiting.values():
            if jetstream or _family(subject) in self._book.subjects:
                self._count("unanswered")
                waiting.add(end_ns - at_ns)
        return Publishing(
            messages=self.messages,
            requests=self.requests,
            acks=self._acks,
            ack_ns=self._ack_ns.latencies(),
            retry_ns=self._retry_ns.latencies(),
            waiting_ns=waiting.latencies(),
            retry_examples=tuple(self._examples),
            refusals=self._refusals.refusals(),
            duplicate_streams=tuple(sorted(self._duplicate_streams)),
            no_responder_subjects=tuple(sorted(self._silent_subjects)),
            **self._counts,
        )
