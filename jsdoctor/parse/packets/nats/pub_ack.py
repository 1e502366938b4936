"""Replies of JetStream to a publish (server: stream.go JSPubAckResponse)."""

from __future__ import annotations

import msgspec


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
