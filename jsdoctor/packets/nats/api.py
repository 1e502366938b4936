"""Requests to the JetStream API and their responses: only whether they failed, and why."""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from jsdoctor.model.nats_traffic import ApiFailure, ApiTraffic
from jsdoctor.model.subjects import api_operation
from jsdoctor.packets.nats.identity import shortened, text
from jsdoctor.packets.nats.publishing import PubAckError, status

_MAX_WAITING = 5_000
_MAX_KINDS = 100
_FIRST_ERROR, _NO_RESPONDERS = 400, 503
_MAX_TEXT = 200


class _Answer(msgspec.Struct, frozen=True):
    type: str = ""
    error: PubAckError | None = None


_DECODER = msgspec.json.Decoder(_Answer)


class ApiTally:
    """Requests of one connection. `waiting` are those without a response: subject and time, by their reply subject."""

    def __init__(self) -> None:
        self.waiting: OrderedDict[bytes, tuple[bytes, int]] = OrderedDict()
        self._requests = 0
        self.failures = ApiFailureTally()

    def requested(self, at_ns: int, subject: bytes, reply: bytes) -> None:
        """Add one request that expects a response."""
        self._requests += 1
        if len(self.waiting) >= _MAX_WAITING:
            self.waiting.popitem(last=False)
        self.waiting[reply] = subject, at_ns

    def answered(self, at_ns: int, inbox: bytes, headers: bytes, payload: bytes) -> None:
        """Add its response, or the beginning of a long one: errors are short."""
        subject, _ = self.waiting.pop(inbox, (b"", 0))
        self.failures.replied(at_ns, subject, headers, payload)

    def traffic(self, end_ns: int) -> ApiTraffic:
        """The totals when the connection or the capture ended."""
        oldest_ns = min((at_ns for _, at_ns in self.waiting.values()), default=end_ns)
        return ApiTraffic(self._requests, len(self.waiting), self.failures.all(), max(0, end_ns - oldest_ns))


class ApiFailureTally:
    """Requests of one connection that failed, by operation and reason."""

    def __init__(self) -> None:
        self._failures: dict[tuple[str, int], ApiFailure] = {}

    def replied(self, at_ns: int, subject: bytes, headers: bytes, payload: bytes) -> None:
        """Count the reply to a request if it is an error. The beginning of a long reply is enough."""
        code, words = status(headers)
        if code >= _FIRST_ERROR:
            self._count(at_ns, subject, PubAckError(code, 0, text(words)))
            return
        try:
            reply = _DECODER.decode(payload)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return
        if reply.error is not None:
            self._count(at_ns, subject, reply.error)

    def _count(self, at_ns: int, subject: bytes, error: PubAckError) -> None:
        key = (api_operation(text(subject)), error.err_code or error.code)
        known = self._failures.get(key)
        if known is None and len(self._failures) >= _MAX_KINDS:
            return
        words = error.description[:_MAX_TEXT]
        if not words and error.code == _NO_RESPONDERS:
            words = "no responders: JetStream is not there for this account"
        self._failures[key] = ApiFailure(
            operation=key[0],
            subject=known.subject if known else shortened(text(subject)),
            code=error.code,
            err_code=error.err_code,
            description=words,
            count=known.count + 1 if known else 1,
            first_ns=known.first_ns if known else at_ns,
            last_ns=at_ns,
        )

    def all(self) -> tuple[ApiFailure, ...]:
        """All of them, the most frequent first."""
        return tuple(sorted(self._failures.values(), key=lambda item: (-item.count, item.operation, item.err_code)))
