"""Reads message by message: by DIRECT.GET from servers before 2.11, else by STREAM.MSG.GET, which any stream allows.

Many requests run at once. If all their messages are deleted, a request to the server finds the next sequence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import msgspec
from nats.js.api import Header

from jsdoctor.collect.scan.direct import take_direct
from jsdoctor.collect.scan.message_recorder import MessageRecorder, date_ns, headers_of
from jsdoctor.collect.scan.rate import Rate
from jsdoctor.collect.scan.stream import StreamApi, UnreadableError, Wanted
from jsdoctor.parse.replies import ApiRefusedError, ErrorReply, decode

AT_ONCE = 64
_NO_MESSAGE = 10037

Found = Callable[[], int]
"""Takes a message and returns its sequence."""
Get = Callable[[bytes], Awaitable[Found | None]]


class _MessageHead(msgspec.Struct, frozen=True):
    seq: int
    time: str
    subject: str = ""
    hdrs: str = ""


class _MessageHeadReply(msgspec.Struct, frozen=True):
    message: _MessageHead | None = None
    error: ErrorReply | None = None


async def read_by_direct_gets(api: StreamApi, wanted: Wanted, taker: MessageRecorder, rate: Rate) -> None:
    """Raises NoReplyError, ReplyError and UnreadableError."""
    subject = f"{api.prefix}.DIRECT.GET.{wanted.name}"

    async def get(request: bytes) -> Found | None:
        headers: Mapping[str, str] = (await api.asker.message(subject, request)).headers or {}
        status = headers.get(Header.STATUS)
        if status is None:
            return lambda: take_direct(headers, wanted.last_seq, taker)
        if status == "404":
            return None
        words = headers.get(Header.DESCRIPTION, "")
        raise UnreadableError(f"the server will not send it: {status} {words}".rstrip(), "run again")

    await _read(get, wanted, rate)


async def read_by_gets(api: StreamApi, wanted: Wanted, taker: MessageRecorder, rate: Rate) -> None:
    """Raises NoReplyError, ReplyError, ApiRefusedError."""
    subject = f"{api.prefix}.STREAM.MSG.GET.{wanted.name}"

    async def get(request: bytes) -> Found | None:
        got = decode((await api.asker.one(subject, request)).body, _MessageHeadReply)
        if got.error and got.error.err_code == _NO_MESSAGE:
            return None
        if got.error or got.message is None:
            raise ApiRefusedError(got.error or ErrorReply(description="nothing"))
        message = got.message

        def take() -> int:
            if message.seq <= wanted.last_seq:
                taker.take(message.seq, date_ns(message.time), message.subject, headers_of(message.hdrs))
            return message.seq

        return take

    await _read(get, wanted, rate)


async def _read(get: Get, wanted: Wanted, rate: Rate) -> None:
    count, next_seq = 0, wanted.first_seq
    while next_seq <= wanted.last_seq:
        until = min(next_seq + AT_ONCE, wanted.last_seq + 1)
        answers = await asyncio.gather(*(get(b'{"seq":%d}' % seq) for seq in range(next_seq, until)))
        result = [take for take in answers if take is not None]
        for take in result:
            take()
        count += len(result)
        rate.tell(count)
        next_seq = until
        if not result and next_seq <= wanted.last_seq:
            following = await get(b'{"seq":%d,"next_by_subj":">"}' % next_seq)
            if following is None:
                return
            next_seq = following() + 1
            count += 1
