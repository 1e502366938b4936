"""Reads by a consumer of our own: without acknowledgements, headers only, in memory, deleted when inactive.

The server keeps or changes no message because of it. The consumer is deleted at the end, also after an error or an
interrupt; if the request to delete it does not arrive, the server deletes it itself, soon after the last request. The
reading ends at the last wanted message; if that message is deleted, a request to the server shows what is left.
"""

from __future__ import annotations

import asyncio
import contextlib

import msgspec
from nats import errors

from jsdoctor.collect.connect.connection import Connection
from jsdoctor.collect.live.ask import NoReplyError, Why
from jsdoctor.collect.scan.message_recorder import MessageRecorder
from jsdoctor.collect.scan.rate import Rate
from jsdoctor.collect.scan.stream import StreamApi, UnreadableError, Wanted
from jsdoctor.model.jetstream import SequencePair
from jsdoctor.parse.replies import ApiRefusedError, ErrorReply, decode

INACTIVE_NS = 10_000_000_000
IN_FLIGHT = 10_000
_BATCH = 2_500
_WAIT_S = 0.1
_GOODBYE_S = 2.0
_EXPIRES_NS = 300_000_000_000
_QUIET_S = 1.0
_SHORT_REPLY = 9


class _BatchLimit(msgspec.Struct, frozen=True):
    max_batch: int = 0


class _ScanConsumerInfo(msgspec.Struct, frozen=True):
    num_pending: int = 0
    delivered: SequencePair = SequencePair()
    config: _BatchLimit = _BatchLimit()
    error: ErrorReply | None = None


async def read_by_consumer(api: StreamApi, wanted: Wanted, taker: MessageRecorder, rate: Rate) -> None:
    """Read what is wanted; what was read before an error is kept.

    Raises NoReplyError, ReplyError, ApiRefusedError and UnreadableError.
    """
    client, asker, prefix = api.connection.client, api.asker, api.prefix
    name = f"jsdoctor-{client.new_inbox().rsplit('.', 1)[-1]}"
    reading = _PullReader(api, f"{wanted.name}.{name}", wanted.last_seq, taker)
    inbox = await client.subscribe(client.new_inbox())
    client.tap(inbox, reading.on_message)
    try:
        request = msgspec.json.encode({"stream_name": wanted.name, "config": _config(name, wanted)})
        created = decode(
            (await asker.one(f"{prefix}.CONSUMER.CREATE.{wanted.name}.{name}", request)).body, _ScanConsumerInfo
        )
        if created.error:
            raise ApiRefusedError(created.error)
        if created.num_pending:
            await reading.run(inbox.subject, created.config.max_batch or _BATCH, rate)
    finally:
        await _leave(api.connection, f"{prefix}.CONSUMER.DELETE.{wanted.name}.{name}")
        with contextlib.suppress(errors.Error, OSError):
            await inbox.unsubscribe()
        client.untap(inbox)


def _config(name: str, wanted: Wanted) -> dict[str, object]:
    longest_ns = wanted.info.config.consumer_limits.inactive_threshold_ns or INACTIVE_NS
    return {
        "name": name,
        "description": "jsdoctor reads headers; it deletes this consumer itself",
        "deliver_policy": "by_start_sequence",
        "opt_start_seq": wanted.first_seq,
        "ack_policy": "none",
        "headers_only": True,
        "mem_storage": True,
        "num_replicas": 1,
        "inactive_threshold": min(INACTIVE_NS, longest_ns),
    }


async def _leave(connection: Connection, subject: str) -> None:
    """Delete the consumer, even during an interrupt. If it was never created, the server's error reply is ignored."""
    with contextlib.suppress(errors.Error, OSError):
        await asyncio.wait_for(connection.client.request(subject, b"", timeout=_GOODBYE_S), _GOODBYE_S)


class _PullReader:
    """Requests messages as fast as they are read."""

    def __init__(self, api: StreamApi, consumer: str, last_seq: int, taker: MessageRecorder) -> None:
        self._client, self._asker = api.connection.client, api.asker
        self._subject, self._info = (f"{api.prefix}.CONSUMER.{what}.{consumer}" for what in ("MSG.NEXT", "INFO"))
        self._last_seq = last_seq
        self._taker = taker
        self._done = asyncio.Event()
        self._failure: Exception | None = None
        self._count = self._asked_for = self._unheard = 0
        self._inbox, self._batch, self._low = "", _BATCH, 0

    async def run(self, inbox: str, max_batch: int, rate: Rate) -> None:
        """Until the last message has come, or the server has no more."""
        self._inbox, self._batch = inbox, min(_BATCH, max_batch)
        self._low = 3 * self._batch
        loop = asyncio.get_running_loop()
        begun_at = heard_at = loop.time()
        received = 0
        while self._asked_for < min(IN_FLIGHT, 4 * self._batch):
            await self._ask()
        while not self._done.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._done.wait(), _WAIT_S)
            rate.tell(self._count)
            if self._unheard and not self._done.is_set():
                await self._ask_again(loop.time() - begun_at)
            if self._count > received:
                heard_at, received = loop.time(), self._count
            elif not self._done.is_set():
                self._asker.raise_if_denied(self._subject)
                quiet_s = loop.time() - heard_at
                if quiet_s > self._asker.timeout_s:
                    raise NoReplyError(Why.LATE, self._subject)
                if quiet_s > _QUIET_S and await self._is_all():
                    return
        if self._failure:
            raise self._failure

    async def _is_all(self) -> bool:
        """Whether the server has sent everything, and all of it has come."""
        info = decode((await self._asker.one(self._info)).body, _ScanConsumerInfo)
        if info.error:
            raise ApiRefusedError(info.error)
        return not info.num_pending and info.delivered.consumer_seq == self._count

    async def _ask_again(self, after_s: float) -> None:
        """Request again: until our server knows where the consumer is, it reports no responders."""
        if after_s > self._asker.timeout_s:
            raise NoReplyError(Why.NOBODY, self._subject)
        unheard, self._unheard = self._unheard, 0
        self._asked_for -= unheard * self._batch
        for _ in range(unheard):
            await self._ask()

    async def _ask(self) -> None:
        self._asked_for += self._batch
        request = b'{"batch":%d,"expires":%d}' % (self._batch, _EXPIRES_NS)
        await self._client.publish(self._subject, request, reply=self._inbox)

    async def on_message(self, subject: bytes, reply: bytes, headers: bytes) -> None:
        """A message of the stream, or a status of the server."""
        if self._done.is_set():
            return
        try:
            if not reply:
                self._told(headers)
                return
            self._take(subject, reply, headers)
            if (
                self._asked_for - self._count <= self._low and not self._done.is_set()
            ):  # in this order: it is seldom low
                await self._ask()
        except Exception as error:  # noqa: BLE001 - raised again by `run`, whose caller handles it
            self._failure = error
            self._done.set()

    def _take(self, subject: bytes, reply: bytes, headers: bytes) -> None:
        # $JS.ACK.STREAM.CONSUMER.DELIVERED.STREAM_SEQ.CONSUMER_SEQ.TIME.PENDING; with a domain it stands before STREAM.
        tokens = reply.split(b".")
        place = 5 if len(tokens) == _SHORT_REPLY else 7
        try:
            stream_seq, consumer_seq, date_ns = int(tokens[place]), int(tokens[place + 1]), int(tokens[place + 2])
        except (IndexError, ValueError):
            raise UnreadableError(
                f"messages come with the reply subject {reply[:80].decode(errors='replace')}, which has no date",
                "connect to the account and domain that the stream belongs to, without imports between",
            ) from None
        self._count += 1
        if consumer_seq != self._count:
            raise UnreadableError("messages were lost on the way", "run again, with less load on this machine")
        if stream_seq <= self._last_seq:
            self._taker.take_raw(stream_seq, date_ns, subject.decode(errors="replace"), headers)
        if stream_seq >= self._last_seq:
            self._done.set()

    def _told(self, headers: bytes) -> None:
        # NATS/1.0 409 Consumer Deleted
        _, _, status = headers.partition(b"\r\n")[0].decode(errors="replace").partition(" ")
        if status.startswith("503"):
            self._unheard += 1
        elif not status.startswith("100"):
            raise UnreadableError(f"the server stopped sending: {status}", "run again")
