"""Reads stored messages: a thousand at a time from servers since 2.11, else one by one.

The replies contain payloads, which are discarded. Any server that holds the stream may respond, and no state is kept
there.

Many requests run at once. If all their messages are deleted, a request to the server finds the next sequence.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping

import msgspec
from nats import errors
from nats.aio.msg import Msg
from nats.js.api import Header

from jsdoctor.replies.decoding import ApiRefusedError, ErrorReply, ReplyError, decode
from jsdoctor.sources.scan.stream import MessageRecorder, Rate, StreamApi, UnreadableError, Wanted, date_ns, headers_of
from jsdoctor.sources.servers.ask import Asker, NoReplyError, Why

_BATCH_MESSAGES = 1_000
_MAX_BYTES = 8 << 20
_WAIT_S = 0.1
_NUM_PENDING = "Nats-Num-Pending"
_END_OF_BATCH, _NOT_FOUND = "204", "404"


class OneByOneError(Exception):
    """The server does not support batches."""


async def read_by_batches(api: StreamApi, wanted: Wanted, taker: MessageRecorder, rate: Rate) -> None:
    """Read what is wanted. Raises NoReplyError, ReplyError, UnreadableError; OneByOneError at the very beginning."""
    batches = _Batches(f"{api.prefix}.DIRECT.GET.{wanted.name}", wanted, taker)
    client = api.connection.client
    inbox = await client.subscribe(client.new_inbox(), cb=batches.on_message, pending_bytes_limit=0)
    try:
        while batches.next_seq <= wanted.last_seq and not batches.ended:
            batches.begin()
            # Without next_by_subj, 2.10 and 2.11 respond 404 where a message of that sequence was deleted.
            place = {"seq": batches.next_seq, "next_by_subj": ">"}
            request = {**place, "batch": _BATCH_MESSAGES, "max_bytes": _MAX_BYTES}
            await client.publish(batches.subject, msgspec.json.encode(request), reply=inbox.subject)
            await _wait_for_batch(batches, api.asker, rate)
    finally:
        with contextlib.suppress(errors.Error, OSError):
            await inbox.unsubscribe()


async def _wait_for_batch(batches: _Batches, asker: Asker, rate: Rate) -> None:
    """Wait for the end of a batch. Raises its failure, or NoReplyError after a timeout without a message."""
    loop = asyncio.get_running_loop()
    received_at, counted = loop.time(), batches.messages
    while not batches.over.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(batches.over.wait(), _WAIT_S)
        rate.report(batches.messages)
        if batches.messages > counted:
            received_at, counted = loop.time(), batches.messages
        elif not batches.over.is_set():
            asker.raise_if_denied(batches.subject)
            if loop.time() - received_at > asker.timeout_s:
                raise NoReplyError(Why.LATE, batches.subject)
    if batches.failure:
        raise batches.failure


class _Batches:
    """Reads the messages of one batch after another."""

    def __init__(self, subject: str, wanted: Wanted, taker: MessageRecorder) -> None:
        self.subject = subject
        self.next_seq, self._last_seq = wanted.first_seq, wanted.last_seq
        self.over = asyncio.Event()
        self.ended = False
        self.failure: Exception | None = None
        self.messages = 0
        self._before = 0
        self._taker = taker

    def begin(self) -> None:
        """Reset before each batch is requested."""
        self.over.clear()
        self._before = self.messages

    async def on_message(self, message: Msg) -> None:
        """Take a message of the stream, or the end of the batch. An error ends the batch, as its `failure`."""
        if self.over.is_set():
            return
        try:
            self._take(message.headers or {}, message.data)
        except Exception as error:  # noqa: BLE001 - raised again by the loop, whose caller handles it
            self.failure = error
            self.over.set()

    def _take(self, headers: Mapping[str, str], payload: bytes) -> None:
        status = headers.get(Header.STATUS)
        if status is None:
            if _NUM_PENDING not in headers:
                raise OneByOneError
            stream_seq = take_direct(headers, payload, self._last_seq, self._taker)
            self.messages += 1
            self.next_seq = stream_seq + 1
            return
        if status == "503":
            raise NoReplyError(Why.NOBODY, self.subject)
        if status not in (_END_OF_BATCH, _NOT_FOUND):
            words = headers.get(Header.DESCRIPTION, "")
            raise UnreadableError(f"the server will not send it: {status} {words}".rstrip(), "run again")
        # An empty batch would be requested again and again.
        self.ended = status == _NOT_FOUND or self.messages == self._before or headers.get(_NUM_PENDING) == "0"
        self.over.set()


def take_direct(headers: Mapping[str, str], payload: bytes, last_seq: int, taker: MessageRecorder) -> int:
    """Take a message that DIRECT.GET describes in its headers; returns its sequence. Raises `ReplyError`."""
    try:
        stream_seq = int(headers["Nats-Sequence"])
        when, subject = headers["Nats-Time-Stamp"], headers["Nats-Subject"]
    except (KeyError, ValueError) as error:
        raise ReplyError(f"DIRECT.GET replied without {error}") from error
    if stream_seq <= last_seq:
        taker.take(stream_seq, date_ns(when), subject, headers, payload)
    return stream_seq


AT_ONCE = 64
_NO_MESSAGE = 10037

TakeMessage = Callable[[], int]
"""Takes a message and returns its sequence."""
Get = Callable[[bytes], Awaitable[TakeMessage | None]]


class _MessageHead(msgspec.Struct, frozen=True):
    seq: int
    time: str
    subject: str = ""
    hdrs: str = ""
    data: bytes = b""


class _MessageHeadReply(msgspec.Struct, frozen=True):
    message: _MessageHead | None = None
    error: ErrorReply | None = None


async def read_by_direct_gets(api: StreamApi, wanted: Wanted, taker: MessageRecorder, rate: Rate) -> None:
    """Read the wanted messages one by one. Raises NoReplyError, ReplyError and UnreadableError."""
    subject = f"{api.prefix}.DIRECT.GET.{wanted.name}"

    async def get(request: bytes) -> TakeMessage | None:
        message = await api.asker.message(subject, request)
        headers: Mapping[str, str] = message.headers or {}
        status = headers.get(Header.STATUS)
        if status is None:
            return lambda: take_direct(headers, message.data, wanted.last_seq, taker)
        if status == "404":
            return None
        words = headers.get(Header.DESCRIPTION, "")
        raise UnreadableError(f"the server will not send it: {status} {words}".rstrip(), "run again")

    await _read_one_by_one(get, wanted, rate)


async def read_by_gets(api: StreamApi, wanted: Wanted, taker: MessageRecorder, rate: Rate) -> None:
    """Read the wanted messages one by one. Raises NoReplyError, ReplyError, ApiRefusedError."""
    subject = f"{api.prefix}.STREAM.MSG.GET.{wanted.name}"

    async def get(request: bytes) -> TakeMessage | None:
        got = decode((await api.asker.one(subject, request)).body, _MessageHeadReply)
        if got.error and got.error.err_code == _NO_MESSAGE:
            return None
        if got.error or got.message is None:
            raise ApiRefusedError(got.error or ErrorReply(description="nothing"))
        message = got.message

        def take() -> int:
            if message.seq <= wanted.last_seq:
                headers = headers_of(message.hdrs)
                taker.take(message.seq, date_ns(message.time), message.subject, headers, message.data)
            return message.seq

        return take

    await _read_one_by_one(get, wanted, rate)


async def _read_one_by_one(get: Get, wanted: Wanted, rate: Rate) -> None:
    """Read `AT_ONCE` messages at a time. If all of them are deleted, continue at the next existing one."""
    count, next_seq = 0, wanted.first_seq
    while next_seq <= wanted.last_seq:
        until = min(next_seq + AT_ONCE, wanted.last_seq + 1)
        answers = await asyncio.gather(*(get(b'{"seq":%d}' % seq) for seq in range(next_seq, until)))
        result = [take for take in answers if take is not None]
        for take in result:
            take()
        count += len(result)
        rate.report(count)
        next_seq = until
        if not result and next_seq <= wanted.last_seq:
            take_next = await get(b'{"seq":%d,"next_by_subj":">"}' % next_seq)
            if take_next is None:
                return
            next_seq = take_next() + 1
            count += 1
