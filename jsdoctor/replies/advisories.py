"""Advisories, as streams record them, counted by kind and subject."""

from __future__ import annotations

import msgspec

from jsdoctor.model.advisories import MAX_KEPT, MAX_SEQUENCES, AdvisoryKind, RecordedAdvisories
from jsdoctor.model.subjects import api_operation
from jsdoctor.replies.decoding import ErrorReply

RECENT_NS = 24 * 3_600 * 1_000_000_000
"""Maximum age of events that are counted; a message that ran out of attempts counts at any age."""
_MAX_TEXT = 200
_OWN_CLIENT = "jsdoctor"
_ERROR_KEY = '"error"'
_KINDS = {f"io.nats.jetstream.advisory.v1.{kind}": kind for kind in AdvisoryKind}


class _Client(msgspec.Struct, frozen=True):
    acc: str = ""
    user: str = ""
    name: str = ""
    host: str = ""


class _Advisory(msgspec.Struct, frozen=True):
    type: str = ""
    stream: str = ""
    consumer: str = ""
    stream_seq: int = 0
    reason: str = ""
    client: _Client | None = None
    subject: str = ""
    response: str = ""


class _Refusal(msgspec.Struct, frozen=True):
    error: ErrorReply | None = None


_DECODER, _RESPONSES = msgspec.json.Decoder(_Advisory), msgspec.json.Decoder(_Refusal)


class AdvisoryTally:
    """Counts the advisories among stored messages, in their order. Requests of jsdoctor itself are left out."""

    def __init__(self, now_ns: int) -> None:
        self._recent_ns = now_ns - RECENT_NS
        self._tally: dict[tuple[str, ...], RecordedAdvisories] = {}

    def add(self, stored_ns: int, payload: bytes) -> None:
        """Count one message, if it is an advisory."""
        try:
            advisory = _DECODER.decode(payload)
            kind = _KINDS.get(advisory.type)
            if kind is None or (kind is not AdvisoryKind.MAX_DELIVER and stored_ns < self._recent_ns):
                return
            about = (
                _request(advisory, stored_ns) if kind is AdvisoryKind.API_AUDIT else _event(kind, advisory, stored_ns)
            )
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return
        if about is not None:
            self._count(about)

    def _count(self, new: RecordedAdvisories) -> None:
        reason = new.reason if new.kind is AdvisoryKind.BATCH_ABANDONED else ""
        key = (new.kind, new.stream, new.consumer, reason, new.account, new.client, new.operation, str(new.err_code))
        known = self._tally.get(key)
        if known is not None:
            new = msgspec.structs.replace(
                new,
                count=known.count + 1,
                first_ns=known.first_ns,
                sequences=(*known.sequences, *new.sequences)[-MAX_SEQUENCES:],
            )
        if known is not None or len(self._tally) < MAX_KEPT:
            self._tally[key] = new

    def all(self) -> tuple[RecordedAdvisories, ...]:
        """All advisories, in the order of the first of each kind and subject."""
        return tuple(self._tally.values())


def _event(kind: AdvisoryKind, advisory: _Advisory, stored_ns: int) -> RecordedAdvisories:
    return RecordedAdvisories(
        kind=kind,
        count=1,
        first_ns=stored_ns,
        last_ns=stored_ns,
        stream=_shortened(advisory.stream),
        consumer=_shortened(advisory.consumer),
        sequences=(advisory.stream_seq,) if advisory.stream_seq > 0 else (),
        reason=_shortened(advisory.reason),
    )


def _request(advisory: _Advisory, stored_ns: int) -> RecordedAdvisories | None:
    """The request of an audit advisory if it was refused, else None."""
    client = advisory.client or _Client()
    if _ERROR_KEY not in advisory.response or client.name.startswith(_OWN_CLIENT):
        return None
    error = _RESPONSES.decode(advisory.response).error
    if error is None:
        return None
    return RecordedAdvisories(
        kind=AdvisoryKind.API_AUDIT,
        count=1,
        first_ns=stored_ns,
        last_ns=stored_ns,
        account=_shortened(client.acc),
        client=_shortened(client.name or client.user or client.host),
        subject=_shortened(advisory.subject),
        operation=api_operation(advisory.subject),
        err_code=error.err_code or error.code,
        reason=_shortened(error.description),
    )


def _shortened(text: str) -> str:
    return text[:_MAX_TEXT]
