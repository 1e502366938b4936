"""Reading whole messages, few of them: those whose ids came more than once, to see whether one id was two messages'.

Each keeps a salted digest of its subject and its content, nothing else.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Iterable

import msgspec

from jsdoctor.collect.scan.message_recorder import Digest
from jsdoctor.collect.scan.rate import Rate
from jsdoctor.collect.scan.single import AT_ONCE
from jsdoctor.collect.scan.stream import StreamApi
from jsdoctor.parse.replies import ErrorReply, ReplyError, decode


class _MessageBody(msgspec.Struct, frozen=True):
    subject: str = ""
    data: str = ""


class _MessageBodyReply(msgspec.Struct, frozen=True):
    message: _MessageBody | None = None
    error: ErrorReply | None = None


async def contents_of(
    api: StreamApi, stream: str, sequences: Iterable[int], digest: Digest, rate: Rate
) -> dict[int, str]:
    """Digests by sequence; a message that is gone meanwhile is left out. Raises NoReplyError and ReplyError."""
    subject, wanted = f"{api.prefix}.STREAM.MSG.GET.{stream}", list(sequences)
    contents: dict[int, str] = {}

    async def get(stream_seq: int) -> None:
        got = decode((await api.asker.one(subject, b'{"seq":%d}' % stream_seq)).body, _MessageBodyReply)
        if got.message is not None:
            contents[stream_seq] = digest(f"{got.message.subject}\0{_text(got.message.data)}").hex()

    for start in range(0, len(wanted), AT_ONCE):
        await asyncio.gather(*map(get, wanted[start : start + AT_ONCE]))
        rate.tell(len(contents))
    return contents


def _text(data: str) -> str:
    try:
        return base64.b64decode(data, validate=True).decode("latin-1")
    except binascii.Error as error:
        raise ReplyError(f"a stored message's content is no base64: {error}") from error
