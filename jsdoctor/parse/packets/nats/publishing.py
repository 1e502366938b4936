"""Publishes and their answers: latency, retries under one id, duplicates, refusals, what was never answered."""

from __future__ import annotations

from jsdoctor.model.latency import LatencyTally
from jsdoctor.model.nats_traffic import Publishing, Retry
from jsdoctor.parse.packets.nats.expectations import Expectation, ExpectationBook, RefusalTally, expectation
from jsdoctor.parse.packets.nats.headers import status
from jsdoctor.parse.packets.nats.identity import shortened, text
from jsdoctor.parse.packets.nats.pub_ack import pub_ack
from jsdoctor.parse.packets.nats.store_clock import StoreClockBook

_PENDING = 20_000
"""Of one connection: nobody has more publishes under way."""
_IDS = 100_000
_SUBJECTS = 50_000
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


class _Pending:
    """A publish that waits for its answer."""

    __slots__ = ("at_ns", "copy", "expected", "jetstream", "subject")

    def __init__(self, at_ns: int, subject: bytes) -> None:
        self.at_ns = at_ns
        self.subject = subject
        self.copy: _Copy | None = None
        self.expected: Expectation | None = None
        self.jetstream = False


def _family(subject: bytes) -> bytes:
    """The first token of a subject: streams take whole branches, and the rest may be an id."""
    return subject.partition(b".")[0]


class PublishBook:
    """What connections of a capture share: ids, expectations, first tokens of subjects that JetStream answers for."""

    __slots__ = ("clock", "closed", "copies", "expectations", "subjects")

    def __init__(self, clock: StoreClockBook) -> None:
        self.clock = clock
        self.closed: set[int] = set()
        self.copies: dict[tuple[bytes, bytes], _Copy] = {}
        self.expectations = ExpectationBook()
        self.subjects: set[bytes] = set()

    def first_copy(self, subject: bytes, msg_id: bytes, at_ns: int, connection: int) -> tuple[_Copy, bool]:
        """The first publish of that id, and whether it is this one."""
        known = self.copies.get((subject, msg_id))
        if known is not None:
            return known, False
        if len(self.copies) >= _IDS:
            del self.copies[next(iter(self.copies))]
        fresh = self.copies[subject, msg_id] = _Copy(at_ns, connection)
        return fresh, True


class PublishTally:
    """What one connection publishes."""

    def __init__(self, book: PublishBook, connection: int) -> None:
        self._book = book
        self._connection = connection
        self._pending: dict[bytes, _Pending] = {}
        self._counts: dict[str, int] = {}
        self._ack_ns = LatencyTally()
        self._retry_ns = LatencyTally()
        self._examples: list[Retry] = []
        self._refusals = RefusalTally()
        self._duplicate_streams: set[str] = set()
        self._silent_subjects: set[str] = set()

    def _count(self, what: str) -> None:
        self._counts[what] = self._counts.get(what, 0) + 1

    def published(self, at_ns: int, subject: bytes, reply: bytes, headers: dict[bytes, bytes], length: int) -> None:
        """A publish; `reply` is empty where no answer is wanted."""
        self._count("messages")
        pending = _Pending(at_ns, subject)
        if headers:
            self._with_headers(pending, headers, length)
        if reply:
            self._count("requests")
            if len(self._pending) >= _PENDING:
                del self._pending[next(iter(self._pending))]
            self._pending[reply] = pending

    def _with_headers(self, pending: _Pending, headers: dict[bytes, bytes], length: int) -> None:
        pending.jetstream = any(name in headers for name in _JETSTREAM_HEADERS)
        if msg_id := headers.get(b"Nats-Msg-Id"):
            self._count("identified")
            copy, fresh = self._book.first_copy(pending.subject, msg_id, pending.at_ns, self._connection)
            pending.copy = copy
            if not fresh:
                self._retried(pending, copy)
        pending.expected = expectation(self._connection, pending.subject, headers, length)
        if pending.expected is not None:
            self._book.expectations.published(pending.expected)

    def _retried(self, pending: _Pending, copy: _Copy) -> None:
        elsewhere = copy.connection != self._connection
        soon = pending.at_ns - copy.at_ns < _RECONNECTED_NS
        if elsewhere and soon and copy.connection not in self._book.closed:
            return
        self._count("retries")
        if elsewhere:
            self._count("retries_elsewhere")
        if copy.answer_ns is not None:
            self._count("retries_answered")
        self._retry_ns.add(pending.at_ns - copy.at_ns)
        if len(self._examples) < _EXAMPLES:
            subject = shortened(text(pending.subject))
            self._examples.append(Retry(subject, copy.at_ns, pending.at_ns, copy.answer_ns, elsewhere))

    def waits_for(self, inbox: bytes) -> bool:
        """Whether a message to this subject is the answer to a publish."""
        return inbox in self._pending

    def answered(self, at_ns: int, inbox: bytes, headers: bytes, payload: bytes) -> None:
        """That answer."""
        pending = self._pending.pop(inbox, None)
        if pending is None:
            return
        if headers and status(headers)[0] == _NO_RESPONDERS:
            self._count("no_responders")
            if len(self._silent_subjects) < _EXAMPLES:
                self._silent_subjects.add(shortened(text(pending.subject)))
            return
        answer = pub_ack(payload)
        if answer is None:
            return  # the answer of a service
        self._count("acks")
        self._ack_ns.add(at_ns - pending.at_ns)
        if len(self._book.subjects) < _SUBJECTS:
            self._book.subjects.add(_family(pending.subject))
        if pending.copy is not None and pending.copy.answer_ns is None:
            pending.copy.answer_ns = at_ns
        if answer.error is not None:
            again = pending.expected is not None and self._book.expectations.refused(pending.expected)
            self._refusals.add(at_ns, pending.subject, answer, pending.expected, again)
            return
        if pending.expected is not None:
            self._book.expectations.stored(pending.expected)
        if answer.duplicate:
            self._duplicate(answer.stream, answer.seq)
        else:
            self._book.clock.stored(answer.stream.encode(), answer.seq, pending.at_ns, at_ns)

    def _duplicate(self, stream: str, stream_seq: int) -> None:
        self._count("duplicates")
        if stream_seq == 0:
            self._count("unproven")
        if len(self._duplicate_streams) < _EXAMPLES:
            self._duplicate_streams.add(shortened(stream))

    def publishing(self, end_ns: int) -> Publishing:
        """All of it when the connection or the capture ended: what still waits was not answered."""
        if self._counts:
            self._book.closed.add(self._connection)
        waiting = LatencyTally()
        for pending in self._pending.values():
            if pending.jetstream or _family(pending.subject) in self._book.subjects:
                self._count("unanswered")
                waiting.add(end_ns - pending.at_ns)
        return Publishing(
            ack_ns=self._ack_ns.latencies(),
            retry_ns=self._retry_ns.latencies(),
            waiting_ns=waiting.latencies(),
            retry_examples=tuple(self._examples),
            refusals=self._refusals.refusals(),
            duplicate_streams=tuple(sorted(self._duplicate_streams)),
            no_responder_subjects=tuple(sorted(self._silent_subjects)),
            **self._counts,
        )
