"""Requests over NATS: one request for one reply, or one for a reply from every server; and why a reply is missing.

A server whose reply waits for a slow client longer than it keeps 64 MB for it drops the connection, and so do we for a
longer message. JSON of many streams and consumers is a twentieth of its size when it is compressed.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import random
import zlib
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from time import monotonic_ns

from nats import errors
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js.api import Header

from jsdoctor.engine.planner import CollectionPlan
from jsdoctor.model.exchange import Access, Endpoint, Exchange
from jsdoctor.replies.decoding import ReplyError
from jsdoctor.replies.jsz import read_consumers, read_jsz, read_streams
from jsdoctor.replies.opening import sender_of
from jsdoctor.sources.connect.connection import Connection

REQUEST_HEADERS = {"Accept-Encoding": "gzip"}
"""Makes servers compress their replies to system requests (server: events.go getAcceptEncoding)."""
MAX_UNPACKED_BYTES = 160_000_000
"""Maximum size of one unpacked reply: some 200,000 consumers of one server."""
_UNPACK_BYTES = 1 << 20
_GZIP = 31  # wbits: with the header and the checksum of gzip


class UnpacksTooLongError(Exception):
    """A reply that unpacks to more than is kept of one."""


def unpacked(message: Msg) -> bytes:
    """The body of a reply. One that is damaged stays as it is: what cannot be read becomes a gap where it is parsed.

    Raises UnpacksTooLongError.
    """
    if not message.headers or message.headers.get("Content-Encoding") != "gzip":
        return message.data
    inflate, packed, body = zlib.decompressobj(_GZIP), message.data, io.BytesIO()
    try:
        while packed and not inflate.eof:
            body.write(inflate.decompress(packed, _UNPACK_BYTES))
            packed = inflate.unconsumed_tail
            if body.tell() > MAX_UNPACKED_BYTES:
                raise UnpacksTooLongError
    except zlib.error:
        return message.data
    return body.getvalue() if inflate.eof else message.data


_CHECK_S = 0.05
"""Interval in seconds at which a wait checks whether the server denied the request or the connection was lost."""
_NO_RESPONDERS = "503"
_QUIET_FACTOR = 3
_MAX_STALLED = 3
"""Maximum factor by which a wait is extended while this process is not scheduled."""
_MAX_RETRIES = 32
"""Maximum number of retries in one run: if more requests are late, retries increase the load."""
_PAUSE_S = (0.1, 0.6)
MAX_UNAWAITED_BYTES = 100_000_000
"""Maximum size of replies from unknown servers in all concurrent requests: some may have just started."""
_REPLY_BYTES = 1024
"""Estimated memory of a reply without its body."""
_MAX_PENDING = 20_000
"""Maximum number of replies that have arrived and are not read yet. Each server sends one."""
_EVENT_SUBJECTS = '"$js.event.'
"""Subjects that are only subscribed to: a denied subscription to them delays no reply."""
_SUBSCRIPTION_DENIED = "permissions violation for subscription"


class Why(Enum):
    """Why a request got no reply."""

    LATE = "no reply in time"
    NOBODY = "no responder listens on the subject"
    DENIED = "the login may not publish there"
    NO_INBOX = "the login may not subscribe to where replies go"
    LOST = "the connection is gone"
    FLOODED = "far more replies than servers"


class NoReplyError(Exception):
    """A request to `subject` got no reply. `words` is the server's error text, if it sent one."""

    def __init__(self, why: Why, subject: str, words: str = "") -> None:
        super().__init__(why, subject, words)
        self.why = why
        self.subject = subject
        self.words = words


@dataclass(frozen=True, slots=True)
class TimedReply:
    """One reply: our clock at the request, the time until it came, the bytes. `too_long`: the bytes were not kept."""

    asked_at: datetime
    round_trip_ns: int
    body: bytes = field(repr=False)
    too_long: bool = False

    def exchange(self, access: Access, endpoint: Endpoint, target: str) -> Exchange:
        """This reply as evidence."""
        return Exchange(access, endpoint, target, self.asked_at, self.round_trip_ns, self.body)


class Asker:
    """Sends requests on one connection. No request takes longer than `timeout_s`, except for stalls of this process."""

    def __init__(self, connection: Connection, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._connection = connection
        self._last_reply_s = 0.0
        self._retries = _MAX_RETRIES
        self._unawaited_bytes = 0

    def now_s(self) -> float:
        """Time for timeouts, in seconds: it stops while this process is not scheduled."""
        return self._connection.stalls.now_s()

    async def one(self, subject: str, payload: bytes = b"", *, again: bool = False) -> TimedReply:
        """The first reply. Raises NoReplyError.

        With `again`, a request without a reply in time is sent once more after a short pause of random length, if other
        requests got replies meanwhile: that server is busy, and more than one jsdoctor may be waiting for it.
        """
        try:
            return await self._one(subject, payload)
        except NoReplyError as error:
            is_alive = self.now_s() - self._last_reply_s < self.timeout_s
            if not (again and error.why is Why.LATE and is_alive and self._retries > 0):
                raise
        self._retries -= 1
        await asyncio.sleep(random.uniform(*_PAUSE_S))  # noqa: S311 - only spreads requests
        return await self._one(subject, payload)

    async def _one(self, subject: str, payload: bytes) -> TimedReply:
        await self._connection.budget.wait()
        started, asked_at = monotonic_ns(), datetime.now(UTC)
        message = await self.message(subject, payload)
        self._last_reply_s = self.now_s()
        return TimedReply(asked_at, monotonic_ns() - started, message.data)

    async def message(self, subject: str, payload: bytes = b"") -> Msg:
        """The first reply with its headers. Raises NoReplyError."""
        longest_s = _MAX_STALLED * self.timeout_s
        deadline = self.now_s() + self.timeout_s
        request = asyncio.ensure_future(self._connection.client.request(subject, payload, timeout=longest_s))
        request.add_done_callback(_retrieve_error)
        try:
            while not (await asyncio.wait({request}, timeout=_CHECK_S))[0]:
                self.raise_if_denied(subject)
                if self.now_s() >= deadline:
                    raise NoReplyError(Why.LATE, subject)
            return await request
        except errors.NoRespondersError:
            raise NoReplyError(Why.NOBODY, subject) from None
        except errors.TimeoutError:
            self.raise_if_denied(subject)
            raise NoReplyError(Why.LATE, subject) from None
        except (errors.Error, OSError) as error:
            self.raise_if_denied(subject)
            raise NoReplyError(Why.LOST, subject, str(error)) from None
        finally:
            request.cancel()

    async def everyone(
        self,
        subject: str,
        payload: bytes,
        is_last: Callable[[TimedReply], bool],
        quiet_s: float | None = None,
        *,
        awaited: set[str] | None = None,
        packed: bool = False,
    ) -> list[TimedReply]:
        """The replies of all servers, until `is_last`, called once with each, returns True; at most `timeout_s`.

        With `quiet_s`, also until no reply has come for that long, or for three times the longest time any took
        (replies of distant servers come late). `awaited` are the ids of the servers that may respond: each is removed
        with its reply, and other replies are few. With `packed`, servers are requested to compress their
        replies. Raises NoReplyError if there is no reply at all, or if replies do not end.
        """
        client = self._connection.client
        replies: list[TimedReply] = []
        unawaited_bytes = 0
        try:
            inbox = await client.subscribe(client.new_inbox(), pending_bytes_limit=0)
            try:
                await self._connection.budget.wait()
                started, asked_at = monotonic_ns(), datetime.now(UTC)
                headers = REQUEST_HEADERS if packed and self._connection.server_info.get("headers") else None
                await client.publish(subject, payload, reply=inbox.subject, headers=headers)
                async with contextlib.aclosing(self._messages(inbox, subject, quiet_s)) as messages:
                    async for message in messages:
                        replies.append(reply := _timed_reply(message, asked_at, monotonic_ns() - started))
                        if awaited and (sender := sender_of(reply.body).id) in awaited:
                            awaited.remove(sender)
                        else:
                            unawaited_bytes += (size := len(reply.body) + _REPLY_BYTES)
                            self._unawaited_bytes += size
                        if is_last(reply):
                            break
                        if self._unawaited_bytes > MAX_UNAWAITED_BYTES or inbox.pending_msgs > _MAX_PENDING:
                            raise NoReplyError(Why.FLOODED, subject)
            finally:
                self._unawaited_bytes -= unawaited_bytes
                await inbox.unsubscribe()
        except (errors.Error, OSError) as error:
            self.raise_if_denied(subject)
            if not replies:
                raise NoReplyError(Why.LOST, subject, str(error)) from None
        if not replies:
            raise NoReplyError(Why.LATE, subject)
        return replies

    async def _messages(self, inbox: Subscription, subject: str, quiet_s: float | None) -> AsyncGenerator[Msg, None]:
        """What arrives in the inbox until the time is over."""
        started = self.now_s()
        deadline = quiet_at = started + self.timeout_s
        while (left_s := min(deadline, quiet_at) - self.now_s()) > 0:
            try:
                message = await inbox.next_msg(timeout=min(left_s, _CHECK_S))
            except errors.TimeoutError:
                self.raise_if_denied(subject)
                continue
            if message.headers and message.headers.get(Header.STATUS) == _NO_RESPONDERS:
                raise NoReplyError(Why.NOBODY, subject)
            yield message
            now = self.now_s()
            if quiet_s is not None:
                quiet_at = now + max(quiet_s, _QUIET_FACTOR * (now - started))

    def raise_if_denied(self, subject: str) -> None:
        """Raise NoReplyError when it is known already that no reply will come."""
        if words := self._connection.denial(subject):
            raise NoReplyError(Why.DENIED, subject, words)
        for words in self._connection.permission_errors:
            if words.lower().startswith(_SUBSCRIPTION_DENIED) and _EVENT_SUBJECTS not in words.lower():
                raise NoReplyError(Why.NO_INBOX, subject, words)
        if not self._connection.client.is_connected:
            raise NoReplyError(Why.LOST, subject)


def _retrieve_error(request: asyncio.Future[Msg]) -> None:
    """Retrieve the error of a request that nothing awaits any more: otherwise asyncio prints its traceback."""
    if not request.cancelled():
        request.exception()


def _timed_reply(message: Msg, asked_at: datetime, round_trip_ns: int) -> TimedReply:
    try:
        return TimedReply(asked_at, round_trip_ns, unpacked(message))
    except UnpacksTooLongError:
        return TimedReply(asked_at, round_trip_ns, b"", too_long=True)


_LARGE_REPLIES: dict[Endpoint, Callable[[Exchange], object]] = {
    Endpoint.JSZ: read_jsz,
    Endpoint.JSZ_AGAIN: read_jsz,
    Endpoint.STREAM_LIST: read_streams,
    Endpoint.CONSUMER_LIST: read_consumers,
    Endpoint.CONSUMER_LIST_AGAIN: read_consumers,
}
"""Replies that grow with streams and consumers (61 MB for 100,000 consumers), and what decodes them."""


def decoded(exchange: Exchange, plan: CollectionPlan) -> Exchange:
    """The exchange. A large reply is decoded and its body dropped, unless the plan keeps it or it cannot be decoded."""
    if plan.keep_bodies or exchange.endpoint not in _LARGE_REPLIES:
        return exchange
    try:
        _LARGE_REPLIES[exchange.endpoint](exchange)
    except ReplyError:  # a gap where it is parsed
        return exchange
    return exchange.without_body()
