"""Publishes and their replies: latency, retries under one id, duplicates, refusals, no reply, and the server's clock.

A message is stored after it was seen to be published and before its acknowledgement was seen, and before it is
delivered. The time it was stored at stands in the reply subject of its delivery.
"""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from typing import NamedTuple, TypeAlias

import msgspec

from jsdoctor.model.latency import LatencyTally
from jsdoctor.model.nats_traffic import Publishing, RefusedPublishes, Retry, StoreClock
from jsdoctor.packets.nats.identity import shortened, text

_STATUS = re.compile(rb"NATS/1\.0[ \t]+(\d{3})(?:[ \t]+([^\r\n]{0,256}))?")
_HEADER = re.compile(rb"\r\n(Nats-[A-Za-z-]{1,40}):[ \t]*([^\r\n]{0,4096})")


def status(headers: bytes) -> tuple[int, bytes]:
    """Code and description of a message that is only a status; (0, b"") for any other."""
    match = _STATUS.match(headers)
    return (int(match[1]), (match[2] or b"").strip()) if match else (0, b"")


def nats_headers(headers: bytes) -> dict[bytes, bytes]:
    """All headers named `Nats-…`, the first of each name."""
    header_fields: dict[bytes, bytes] = {}
    for name, value in _HEADER.findall(headers):
        header_fields.setdefault(name, value.strip())
    return header_fields


def number(value: bytes | None) -> int | None:
    """A header's value as a number, or None."""
    return int(value) if value is not None and value.isdigit() and len(value) <= 19 else None


class PubAckError(msgspec.Struct, frozen=True):
    """The error of a refused publish."""

    code: int = 0
    err_code: int = 0
    description: str = ""


class PubAck(msgspec.Struct, frozen=True):
    """An acknowledgement or a refusal. `type` is empty: API replies have one."""

    stream: str = ""
    seq: int = 0
    duplicate: bool = False
    error: PubAckError | None = None
    type: str = ""


_DECODER = msgspec.json.Decoder(PubAck)


def pub_ack(payload: bytes) -> PubAck | None:
    """The ack or error in a payload; None for what is no reply to a publish."""
    try:
        answer = _DECODER.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return answer if not answer.type and (answer.stream or answer.error) else None


_MAX_PUBLISHES = 50_000
_MAX_STREAMS = 1_000
_JITTER_NS = 1_000_000
"""Maximum time by which packets of a capture are out of order (several queues, several interfaces)."""


class _Bounds:
    """By how much the clock of a stream is ahead at least and at most, from its messages."""

    __slots__ = ("high_ns", "low_ns", "messages")

    def __init__(self) -> None:
        self.low_ns: int | None = None
        self.high_ns: int | None = None
        self.messages = 0


class StoreClockBook:
    """The clocks of streams, from all connections of a capture."""

    def __init__(self) -> None:
        self._unsorted: deque[tuple[str, int, int, int]] = deque(maxlen=_MAX_PUBLISHES)
        self._stored: OrderedDict[tuple[bytes, int], tuple[int, int]] = OrderedDict()
        self._streams: dict[bytes, _Bounds] = {}

    def stored(self, stream: str, stream_seq: int, published_ns: int, acknowledged_ns: int) -> None:
        """A publish and its first acknowledgement were both seen; never for a duplicate.

        They are needed only for deliveries, and many captures have none: until the first one they stay unsorted.
        """
        self._unsorted.append((stream, stream_seq, published_ns, acknowledged_ns))

    def _sort_in(self) -> None:
        for stream, stream_seq, published_ns, acknowledged_ns in self._unsorted:
            if len(self._stored) >= _MAX_PUBLISHES:
                self._stored.popitem(last=False)
            self._stored[stream.encode(), stream_seq] = (published_ns, acknowledged_ns)
        self._unsorted.clear()

    def delivered(self, stream: bytes, stream_seq: int, stored_ns: int, at_ns: int) -> None:
        """Narrow the bounds by a delivery, which has the time when the message was stored."""
        if self._unsorted:
            self._sort_in()
        bounds = self._streams.get(stream)
        if bounds is None:
            if len(self._streams) >= _MAX_STREAMS:
                return
            bounds = self._streams[stream] = _Bounds()
        published_ns, acknowledged_ns = self._stored.pop((stream, stream_seq), (None, at_ns))
        low_ns = stored_ns - min(acknowledged_ns, at_ns)
        bounds.low_ns = low_ns if bounds.low_ns is None else max(bounds.low_ns, low_ns)
        bounds.messages += 1
        if published_ns is not None:
            high_ns = stored_ns - published_ns
            bounds.high_ns = high_ns if bounds.high_ns is None else min(bounds.high_ns, high_ns)

    def clocks(self) -> tuple[StoreClock, ...]:
        """One for each stream, by name."""
        return tuple(
            store_clock(stream, bounds.low_ns or 0, bounds.high_ns, bounds.messages)
            for stream, bounds in sorted(self._streams.items())
        )


def store_clock(stream: bytes, low_ns: int, high_ns: int | None, messages: int) -> StoreClock:
    """By how much that stream's clock is ahead, from the bounds that its messages set."""
    steady = high_ns is None or low_ns - high_ns <= _JITTER_NS
    if high_ns is not None and low_ns > high_ns:
        low_ns, high_ns = high_ns, low_ns
    return StoreClock(stream=text(stream), low_ns=low_ns, high_ns=high_ns, messages=messages, steady=steady)


_SEQUENCES = (b"Nats-Expected-Last-Subject-Sequence", b"Nats-Expected-Last-Sequence")
_ID = b"Nats-Expected-Last-Msg-Id"
_ACTUAL = re.compile(r"wrong last sequence: (\d{1,19})\b")
_DIGITS = re.compile(r"\d+")
_MAX_KEPT = 20_000
_MAX_KINDS = 200
_MAX_DESCRIPTION_LENGTH = 200


class PublishExpectation(NamedTuple):
    """What one publish expects, and what distinguishes it. `sequence` None: an id is expected."""

    connection: int
    subject: bytes
    value: bytes
    msg_id: bytes
    length: int
    sequence: int | None


def expectation(connection: int, subject: bytes, headers: dict[bytes, bytes], length: int) -> PublishExpectation | None:
    """None for a publish that expects nothing. With an id, the same message is known on any connection."""
    for name in (*_SEQUENCES, _ID):
        if (value := headers.get(name)) is not None:
            msg_id = headers.get(b"Nats-Msg-Id", b"")
            sequence = number(value) if name != _ID else None
            return PublishExpectation(0 if msg_id else connection, subject, value, msg_id, length, sequence)
    return None


class _Course:
    """Counts of publishes with the same expectation: sent, acknowledged or refused, and whether one was stored."""

    __slots__ = ("answered", "sent", "stored")

    def __init__(self) -> None:
        self.sent = self.answered = 0
        self.stored = False


class ExpectationBook:
    """Follows expectations over all connections of a capture."""

    def __init__(self) -> None:
        self._courses: OrderedDict[PublishExpectation, _Course] = OrderedDict()

    def published(self, expected: PublishExpectation) -> None:
        """Count a publish that expects this."""
        course = self._courses.get(expected)
        if course is None:
            if len(self._courses) >= _MAX_KEPT:
                self._courses.popitem(last=False)
            course = self._courses[expected] = _Course()
        course.sent += 1

    def stored(self, expected: PublishExpectation) -> None:
        """Count an acknowledgement."""
        if course := self._courses.get(expected):
            course.answered += 1
            course.stored = True

    def refused(self, expected: PublishExpectation) -> bool:
        """Count a refusal. Returns whether an earlier copy was stored, or came first and had no reply yet."""
        course = self._courses.get(expected)
        if course is None:
            return False
        course.answered += 1
        unanswered = bool(expected.msg_id) and course.sent > course.answered
        return course.stored or unanswered


class RefusalTally:
    """Refusals of one connection, by reason."""

    __slots__ = ("_counted", "_repeats", "omitted")

    def __init__(self) -> None:
        self._counted: dict[tuple[int, str, str], RefusedPublishes] = {}
        self._repeats: OrderedDict[tuple[bytes, bytes], int] = OrderedDict()
        self.omitted = 0

    def add(
        self, at_ns: int, subject: bytes, answer: PubAck, expected: PublishExpectation | None, after_stored: bool
    ) -> None:
        """Count one refusal."""
        if answer.error is None:
            return
        description = answer.error.description[:_MAX_DESCRIPTION_LENGTH]
        key = (answer.error.err_code, _DIGITS.sub("N", description), answer.stream)
        known = self._counted.get(key)
        if known is None:
            if len(self._counted) >= _MAX_KINDS:
                self.omitted += 1
                return
            known = RefusedPublishes(
                err_code=answer.error.err_code,
                description=description,
                stream=shortened(answer.stream),
                subject=shortened(text(subject)),
                first_ns=at_ns,
            )
        match = _ACTUAL.search(description)
        actual = int(match[1]) if match else None
        wanted = expected.sequence if expected else None
        comparable = actual is not None and wanted is not None
        self._counted[key] = RefusedPublishes(
            err_code=known.err_code,
            description=description,
            stream=known.stream,
            subject=known.subject,
            count=known.count + 1,
            first_ns=known.first_ns,
            last_ns=at_ns,
            ahead=known.ahead + int(comparable and (wanted or 0) > (actual or 0)),
            behind=known.behind + int(comparable and (wanted or 0) < (actual or 0)),
            repeats=max(known.repeats, self._repeated(expected)),
            after_stored=known.after_stored + int(after_stored),
            expected=wanted,
            actual=actual,
        )

    def _repeated(self, expected: PublishExpectation | None) -> int:
        """Count this refusal. Returns how often the expectation was refused on its subject."""
        if expected is None:
            return 0
        key = (expected.subject, expected.value)
        if key not in self._repeats and len(self._repeats) >= _MAX_KEPT:
            self._repeats.popitem(last=False)
        self._repeats[key] = self._repeats.get(key, 0) + 1
        return self._repeats[key]

    def refusals(self) -> tuple[RefusedPublishes, ...]:
        """All of them, the most frequent first."""
        return tuple(sorted(self._counted.values(), key=lambda item: (-item.count, item.err_code, item.description)))


MAX_WAITING = 20_000
"""Maximum number of publishes of a connection that wait for a reply."""
_BATCH = 64
"""Number of latencies that are added to the tally at once, which costs less than one by one."""
_MAX_IDS = 100_000
_MAX_FIRST_TOKENS = 50_000
MAX_SUBJECTS = 2_000
"""Maximum number of subjects counted of a connection: with more, none of them stands out."""

_MAX_NAMED = 5
_MAX_EXAMPLES = 5
_NO_RESPONDERS = 503
_RECONNECTED_NS = 1_000_000_000
"""Minimum time of a retry on another open connection; sooner, a proxy passes the message on, or two publish it."""
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


def _first_token(subject: bytes) -> bytes:
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
        if len(self.copies) >= _MAX_IDS:
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
        self._answered_subject = b""
        self._batch_ns: list[int] = []
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
        self._count_subject(subject)
        if reply:
            self.requests += 1
            waiting = self.waiting
            if len(waiting) >= MAX_WAITING:
                waiting.popitem(last=False)
            waiting[reply] = (at_ns, subject, None, None, False)

    def published_with(
        self, at_ns: int, subject: bytes, reply: bytes, headers: dict[bytes, bytes], length: int
    ) -> None:
        """Add a publish with headers."""
        self.messages += 1
        self._count_subject(subject)
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
            self._await_reply(reply, (at_ns, subject, copy, expected, jetstream))

    def _count_subject(self, subject: bytes) -> None:
        by_subject = self.by_subject
        if subject in by_subject or len(by_subject) < MAX_SUBJECTS:
            by_subject[subject] = by_subject.get(subject, 0) + 1

    def subjects(self) -> tuple[tuple[str, int], ...]:
        """The subjects published to most, with how often; among the first `MAX_SUBJECTS` different ones."""
        most = sorted(self.by_subject.items(), key=lambda entry: (-entry[1], entry[0]))[:_MAX_NAMED]
        return tuple((shortened(text(subject)), count) for subject, count in most)

    def _await_reply(self, reply: bytes, pending: _Pending) -> None:
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
        if len(self._examples) < _MAX_EXAMPLES:
            self._examples.append(Retry(shortened(text(subject)), copy.at_ns, at_ns, copy.answer_ns))

    def answered_with(self, at_ns: int, inbox: bytes, headers: bytes, payload: bytes) -> None:
        """Add the reply to a publish; it may have headers."""
        pending = self.waiting.pop(inbox, None)
        if pending is None:
            return
        if headers and status(headers)[0] == _NO_RESPONDERS:
            self._count("no_responders")
            if len(self._silent_subjects) < _MAX_EXAMPLES:
                _, subject, *_ = pending
                self._silent_subjects.add(shortened(text(subject)))
            return
        self.answered(at_ns, pending, payload)

    def answered(self, at_ns: int, pending: _Pending, payload: bytes) -> None:
        """Add the payload of the reply to a publish."""
        published_ns, subject, copy, expected, _ = pending
        answer = pub_ack(payload)
        if answer is None:
            return  # the reply of a service
        self._batch_ns.append(at_ns - published_ns)
        if len(self._batch_ns) > _BATCH:
            self._sum_up()
        if subject != self._answered_subject:
            self._note_answered(subject)
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

    def _note_answered(self, subject: bytes) -> None:
        """Note the first token of a subject that JetStream replied for, and the subject, so that it is noted once."""
        self._answered_subject = subject
        if len(self._book.subjects) < _MAX_FIRST_TOKENS:
            self._book.subjects.add(_first_token(subject))

    def _sum_up(self) -> None:
        """Add the batch of latencies to the tally."""
        self._acks += len(self._batch_ns)
        self._ack_ns.add_all(self._batch_ns)
        self._batch_ns.clear()

    def _duplicate(self, stream: str, stream_seq: int) -> None:
        self._count("duplicates")
        if stream_seq == 0:
            self._count("unproven")
        if len(self._duplicate_streams) < _MAX_EXAMPLES:
            self._duplicate_streams.add(shortened(stream))

    def publishing(self, end_ns: int) -> Publishing:
        """The totals when the connection or the capture ended: what still waits got no reply."""
        self._sum_up()
        if self.messages:
            self._book.closed.add(self._connection)
        waiting = LatencyTally()
        for at_ns, subject, _, _, jetstream in self.waiting.values():
            if jetstream or _first_token(subject) in self._book.subjects:
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
