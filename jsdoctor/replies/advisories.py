"""Advisories, as streams record them, counted by what they are about."""

from __future__ import annotations

import msgspec

from jsdoctor.model.advisories import MAX_KEPT, MAX_SEQUENCES, AdvisoryKind, RecordedAdvisories
from jsdoctor.model.subjects import api_operation
from jsdoctor.replies.decoding import ErrorReply

RECENT_NS = 24 * 3_600 * 1_000_000_000
"""Events count that are not older. A message that ran out of attempts stays so."""
_MAX_TEXT = 200
_OWN = "jsdoctor"
_REFUSED = '"error"'
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
    """Takes stored messages in their order; what is no advisory of these kinds is left out, and so are requests of our
    own.
    """

    def __init__(self, now_ns: int) -> None:
        self._recent_ns = now_ns - RECENT_NS
        self._found: dict[tuple[str, ...], RecordedAdvisories] = {}

    def add(self, stored_ns: int, payload: bytes) -> None:
        """One message, stored at that time."""
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

    def _count(self, one: RecordedAdvisories) -> None:
        by_reason = one.reason if one.kind is AdvisoryKind.BATCH_ABANDONED else ""
        key = (one.kind, one.stream, one.consumer, by_reason, one.account, one.client, one.operation, str(one.err_code))
        known = self._found.get(key)
        if known is not None:
            one = msgspec.structs.replace(
                one,
                count=known.count + 1,
                first_ns=known.first_ns,
                sequences=(*known.sequences, *one.sequences)[-MAX_SEQUENCES:],
            )
        if known is not None or len(self._found) < MAX_KEPT:
            self._found[key] = one

    def all(self) -> tuple[RecordedAdvisories, ...]:
        """All of them, in the order of the first of each."""
        return tuple(self._found.values())


def _event(kind: AdvisoryKind, advisory: _Advisory, stored_ns: int) -> RecordedAdvisories:
    return RecordedAdvisories(
        kind=kind,
        count=1,
        first_ns=stored_ns,
        last_ns=stored_ns,
        stream=_cut(advisory.stream),
        consumer=_cut(advisory.consumer),
        sequences=(advisory.stream_seq,) if advisory.stream_seq > 0 else (),
        reason=_cut(advisory.reason),
    )


def _request(advisory: _Advisory, stored_ns: int) -> RecordedAdvisories | None:
    """A request that was refused; None for one that was not."""
    client = advisory.client or _Client()
    if _REFUSED not in advisory.response or client.name.startswith(_OWN):
        return None
    error = _RESPONSES.decode(advisory.response).error
    if error is None:
        return None
    return RecordedAdvisories(
        kind=AdvisoryKind.API_AUDIT,
        count=1,
        first_ns=stored_ns,
        last_ns=stored_ns,
        account=_cut(client.acc),
        client=_cut(client.name or client.user or client.host),
        subject=_cut(advisory.subject),
        operation=api_operation(advisory.subject),
        err_code=error.err_code or error.code,
        reason=_cut(error.description),
    )


def _cut(text: str) -> str:
    return text[:_MAX_TEXT]
