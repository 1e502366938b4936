"""One stored message by its sequence, without its payload."""

from __future__ import annotations

import msgspec

from jsdoctor.collect.connect.connection import Connection
from jsdoctor.collect.live.ask import Asker, NoReplyError
from jsdoctor.collect.scan.message_recorder import headers_of
from jsdoctor.model.expectation import StoredMessage
from jsdoctor.parse.replies import ErrorReply, Instant, ReplyError, decode

MSG_ID = "Nats-Msg-Id"


class _StoredMessage(msgspec.Struct, frozen=True):
    seq: int
    time: Instant | None = None
    subject: str = ""
    hdrs: str = ""


class _StoredMessageReply(msgspec.Struct, frozen=True):
    message: _StoredMessage | None = None
    error: ErrorReply | None = None


async def stored_message(
    connection: Connection, prefix: str, stream: str, stream_seq: int, timeout_s: float
) -> StoredMessage | None:
    """The message, or None: it is not stored, or this login may not read it. Payloads are not kept."""
    request = b'{"seq":%d}' % stream_seq
    try:
        reply = await Asker(connection, timeout_s).one(f"{prefix}.STREAM.MSG.GET.{stream}", request)
        message = decode(reply.body, _StoredMessageReply).message
    except (NoReplyError, ReplyError):
        return None
    if message is None:
        return None
    return StoredMessage(message.seq, message.subject, headers_of(message.hdrs).get(MSG_ID, ""), message.time)
