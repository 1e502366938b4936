"""Publishes that expect a sequence of their stream: what was refused, and whether it had been stored before."""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import NamedTuple

from jsdoctor.model.nats_traffic import RefusedPublishes
from jsdoctor.parse.packets.nats.headers import number
from jsdoctor.parse.packets.nats.identity import shortened, text
from jsdoctor.parse.packets.nats.pub_ack import PubAck

_SEQUENCES = (b"Nats-Expected-Last-Subject-Sequence", b"Nats-Expected-Last-Sequence")
_ID = b"Nats-Expected-Last-Msg-Id"
_ACTUAL = re.compile(r"wrong last sequence: (\d{1,19})\b")
_DIGITS = re.compile(r"\d+")
_KEPT = 20_000
_KINDS = 200
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
        """One more publish that expects this."""
        course = self._courses.get(expected)
        if course is None:
            if len(self._courses) >= _KEPT:
                self._courses.popitem(last=False)
            course = self._courses[expected] = _Course()
        course.sent += 1

    def stored(self, expected: PublishExpectation) -> None:
        """It was acknowledged."""
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

    __slots__ = ("_found", "_repeats", "omitted")

    def __init__(self) -> None:
        self._found: dict[tuple[int, str, str], RefusedPublishes] = {}
        self._repeats: OrderedDict[tuple[bytes, bytes], int] = OrderedDict()
        self.omitted = 0

    def add(
        self, at_ns: int, subject: bytes, answer: PubAck, expected: PublishExpectation | None, after_stored: bool
    ) -> None:
        """One more."""
        if answer.error is None:
            return
        description = answer.error.description[:_MAX_DESCRIPTION_LENGTH]
        key = (answer.error.err_code, _DIGITS.sub("N", description), answer.stream)
        known = self._found.get(key)
        if known is None:
            if len(self._found) >= _KINDS:
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
        both = actual is not None and wanted is not None
        self._found[key] = RefusedPublishes(
            err_code=known.err_code,
            description=description,
            stream=known.stream,
            subject=known.subject,
            count=known.count + 1,
            first_ns=known.first_ns,
            last_ns=at_ns,
            ahead=known.ahead + int(both and (wanted or 0) > (actual or 0)),
            behind=known.behind + int(both and (wanted or 0) < (actual or 0)),
            repeats=max(known.repeats, self._repeated(expected)),
            after_stored=known.after_stored + int(after_stored),
            expected=wanted,
            actual=actual,
        )

    def _repeated(self, expected: PublishExpectation | None) -> int:
        """How often this expectation was refused on its subject."""
        if expected is None:
            return 0
        key = (expected.subject, expected.value)
        if key not in self._repeats and len(self._repeats) >= _KEPT:
            self._repeats.popitem(last=False)
        self._repeats[key] = self._repeats.get(key, 0) + 1
        return self._repeats[key]

    def refusals(self) -> tuple[RefusedPublishes, ...]:
        """All of them, the most frequent first."""
        return tuple(sorted(self._found.values(), key=lambda item: (-item.count, item.err_code, item.description)))
