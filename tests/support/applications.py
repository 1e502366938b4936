"""What applications do with streams and consumers: each goes on until it is cancelled."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import nats
from nats.aio.msg import Msg

from tests.support.site import SECOND_NS, Site, Work

TIMEOUTS = (TimeoutError, nats.errors.TimeoutError)


def again(work: Work, pause_s: float) -> Work:
    """Do that for ever."""

    async def for_ever(site: Site) -> None:
        while True:
            with contextlib.suppress(*TIMEOUTS):
                await work(site)
            await asyncio.sleep(pause_s)

    return for_ever


@contextlib.asynccontextmanager
async def raw_client(site: Site, name: str, **options: Any) -> AsyncIterator[socket.socket]:
    """A client of its own making, logged in, on a socket that its user reads and writes."""
    url = site.client.connected_url
    assert url is not None
    with contextlib.closing(socket.socket()) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(connection, (url.hostname, url.port))
        hello = {"verbose": False, "user": "app", "pass": "app", "name": name, "lang": "own", "version": "1"}
        await loop.sock_sendall(connection, f"CONNECT {json.dumps({**hello, **options})}\r\nPING\r\n".encode())
        received = b""
        while b"PONG" not in received:
            chunk = await loop.sock_recv(connection, 4096)
            if not chunk or b"-ERR" in chunk:
                raise ConnectionError(chunk)
            received += chunk
        yield connection


# Publishers


def publishes(subject: str, count: int = 1, pause_s: float = 0.02, size: int = 64) -> Work:
    """A steady publisher."""
    return again(lambda site: site.publish(subject, count, size), pause_s)


def stores(subject: str, body: bytes = b"x", pause_s: float = 0.05, headers: dict[str, str] | None = None) -> Work:
    """A publisher with headers."""
    return again(lambda site: site.store(subject, body, headers), pause_s)


def slowly(subject: str, pause_s: float) -> Work:
    """A publisher of now and then."""
    return publishes(subject, 1, pause_s)


# Workers


async def acknowledge(message: Msg) -> None:
    """Acknowledge a delivery; status messages have no reply subject."""
    if message.reply:
        await message.respond(b"+ACK")


async def ignore(_: Msg) -> None:
    """Take a delivery, and be silent."""


def works(stream: str, consumer: str) -> Work:
    """A worker that fetches and acknowledges."""
    return lambda site: site.work(stream, consumer)


def answers(
    stream: str,
    consumer: str,
    answer: Callable[[Msg], bytes],
    batch: int = 10,
    *,
    pause_s: float = 0.05,
    hold_s: float = 0,
) -> Work:
    """A worker that answers each delivery of a batch with what `answer` makes of it; with nothing, it is silent."""

    async def work(site: Site) -> None:
        subscription = await site.client.jetstream().pull_subscribe_bind(consumer, stream)
        while True:
            with contextlib.suppress(*TIMEOUTS):
                messages = await subscription.fetch(batch, timeout=1)
                await asyncio.sleep(hold_s)
                for message in messages:
                    if reply := answer(message):
                        await message.respond(reply)
            await asyncio.sleep(pause_s)

    return work


def fetches(stream: str, consumer: str, reply: bytes, batch: int = 10, pause_s: float = 0.05) -> Work:
    """A worker that answers every message with `reply`; with none it stays silent."""
    return answers(stream, consumer, lambda _: reply, batch, pause_s=pause_s)


def acknowledges(stream: str, consumer: str, *, rare: bytes = b"+ACK", every: int = 10, batch: int = 10) -> Work:
    """A worker that answers each `every`th delivery, but no second delivery of a message, with `rare`."""
    number = 0

    def answer(message: Msg) -> bytes:
        nonlocal number
        number += 1
        return rare if message.metadata.num_delivered == 1 and number % every == 0 else b"+ACK"

    return answers(stream, consumer, answer, batch, pause_s=0)


def pulls(stream: str, consumer: str, batch: int = 10, pause_s: float = 2.5, **request: Any) -> Work:
    """A client that keeps a pull request open, with more fields of the request, and acknowledges what comes."""

    async def pull(site: Site) -> None:
        subscription = await site.client.subscribe(site.client.new_inbox(), cb=acknowledge)
        body = {"batch": batch, "expires": 3 * SECOND_NS, **request}
        while True:
            await site.ask(stream, consumer, subscription.subject, **body)
            await asyncio.sleep(pause_s)

    return pull


def subscribes(subject: str, answer: Callable[[Msg], Awaitable[None]] = acknowledge, queue: str = "") -> Work:
    """A subscriber of a push consumer, who stays after the publishers have stopped."""

    async def subscribe(site: Site) -> None:
        await site.client.subscribe(subject, queue=queue, cb=answer)
        await asyncio.sleep(3600)

    return subscribe


async def take(site: Site, stream: str, consumer: str, count: int, skip: int = 0) -> None:
    """Fetch `count` messages and acknowledge all but the one with stream sequence `skip`."""
    subscription = await site.client.jetstream().pull_subscribe_bind(consumer, stream)
    got = 0
    while got < count:
        for message in await subscription.fetch(min(100, count - got), timeout=5):
            got += 1
            if message.metadata.sequence.stream != skip:
                await message.ack()
    await site.client.flush()
    await subscription.unsubscribe()
