"""Where faults are planted and healthy applications live: a client of account APP, and what goes on meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import nats
from nats.aio.client import Client
from nats.js.errors import ServiceUnavailableError

from tests.servers import Cluster
from tests.support.deployment import HOUR_NS, add_consumer, add_stream, api

Json = dict[str, Any]
SECOND_NS = 1_000_000_000
BOUNDED: Json = {"max_bytes": 32 << 20, "max_age": 72 * HOUR_NS, "max_msg_size": 1 << 20}
"""Limits of a healthy stream."""
_ATTEMPTS = 50


class Site:
    """A place in a deployment. Streams have as many copies as it has servers, but three at most."""

    def __init__(self, client: Client, servers: int = 1, *, cluster: Cluster | None = None, version: str = "") -> None:
        self.client, self.replicas, self.version = client, min(3, servers), version
        self.logged: list[str] = []
        """What applications log."""
        self.stopping = False
        self._cluster = cluster
        self._tasks: list[asyncio.Future[None]] = []

    @classmethod
    def of(cls, cluster: Cluster, version: str, client: Client) -> Site:
        """The place in a cluster whose servers and files are at hand."""
        return cls(client, len(cluster.names), cluster=cluster, version=version)

    @property
    def cluster(self) -> Cluster:
        """Its servers, where they are at hand."""
        assert self._cluster is not None
        return self._cluster

    async def stream(self, name: str, **config: Any) -> Json:
        """A bounded, replicated stream but for what is given; its subjects are its name in lower case and below."""
        copy = "mirror" in config or "sources" in config
        subjects: Json = {} if copy else {"subjects": [name.lower(), f"{name.lower()}.>"]}
        bounds = BOUNDED if self._cluster is None else {**BOUNDED, "max_bytes": 8 << 20}
        return await add_stream(self.client, name, **{**subjects, "num_replicas": self.replicas, **bounds, **config})

    async def bucket(self, name: str, history: int = 1, **config: Any) -> None:
        """A key-value bucket as `nats kv add` makes it, but for what is given."""
        own = {"discard": "new", "allow_rollup_hdrs": True, "deny_delete": True, "allow_direct": True}
        await self.stream(f"KV_{name}", subjects=[f"$KV.{name}.>"], max_msgs_per_subject=history, **{**own, **config})

    async def consumer(self, stream: str, name: str, **config: Any) -> Json:
        """A durable pull consumer with explicit acknowledgements but for what is given."""
        return await add_consumer(self.client, stream, name, **config)

    async def api(self, subject: str, body: Json | None = None) -> Json:
        """A JetStream API request."""
        return await api(self.client, subject, body)

    async def update(self, stream: str, **changes: Any) -> None:
        """Change some keys of a stream's configuration, as an operator would."""
        config = (await self.api(f"STREAM.INFO.{stream}"))["config"]
        await self.api(f"STREAM.UPDATE.{stream}", {**config, **changes})

    async def publish(
        self,
        subject: str,
        count: int = 20,
        size: int = 64,
        *,
        refusable: bool = False,
        headers: dict[str, str] | None = None,
    ) -> None:
        """So many messages, each acknowledged before the next; or refused, where that may be."""
        for _ in range(count):
            await self.store(subject, b"x" * size, headers, refusable=refusable)

    async def store(
        self, subject: str, body: bytes, headers: dict[str, str] | None = None, *, refusable: bool = False
    ) -> None:
        """One message. Tries again while no server knows the stream, and while one that is scaled refuses (503: 2.10
        with `expected stream sequence does not match`).
        """
        for attempt in range(_ATTEMPTS):
            last = attempt == _ATTEMPTS - 1
            try:
                reply = await self.client.request(subject, body, timeout=10, headers=headers)
            except nats.errors.NoRespondersError:  # our server does not know a new stream yet
                if last:
                    raise
            else:
                if b'"code":503' not in reply.data or refusable or last:
                    assert refusable or b'"error"' not in reply.data, reply.data
                    return
            await asyncio.sleep(0.1)

    async def fill(self, subject: str, count: int, size: int = 8) -> None:
        """`count` messages, many at a time: a backlog of thousands in a second or two."""
        for start in range(0, count, 500):
            some = range(start, min(start + 500, count))
            await asyncio.gather(*(self.client.request(subject, b"x" * size, timeout=30) for _ in some))

    async def holds(self, stream: str, count: int) -> None:
        """Wait until a stream has so many messages."""
        for _ in range(100):
            if (await self.api(f"STREAM.INFO.{stream}"))["state"]["messages"] >= count:
                return
            await asyncio.sleep(0.2)
        raise AssertionError(f"{stream} does not have {count} messages")

    async def fetch(self, stream: str, consumer: str, count: int, ack: bool = True) -> int:
        """Fetch up to `count` messages; acknowledges them unless told otherwise. Returns how many came."""
        inbox = self.client.new_inbox()
        subscription = await self.client.subscribe(inbox)
        await self.ask(stream, consumer, inbox, batch=count, expires=2 * SECOND_NS)
        got = 0
        try:
            while got < count:
                msg = await subscription.next_msg(timeout=5)
                if msg.headers and "Status" in msg.headers:
                    break
                got += 1
                if ack:
                    await self.client.request(msg.reply, b"+ACK", timeout=5)
        finally:
            await subscription.unsubscribe()
        return got

    async def ask(self, stream: str, consumer: str, inbox: str, **request: Any) -> None:
        """Request messages; they come to `inbox`."""
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        await self.client.publish(subject, json.dumps(request).encode(), reply=inbox)

    async def work(self, stream: str, consumer: str, pause_s: float = 0.05) -> None:
        """A worker that fetches and acknowledges until it is cancelled."""
        subscription = await self.client.jetstream().pull_subscribe_bind(consumer, stream)
        while True:
            # While a stream changes its replicas, requests time out or find no leader; clients try again.
            with contextlib.suppress(TimeoutError, nats.errors.TimeoutError, ServiceUnavailableError):
                for message in await subscription.fetch(10, timeout=1):
                    await message.ack()
            await asyncio.sleep(pause_s)

    async def keep_publishing(self, subject: str, pause_s: float = 0.02) -> None:
        """A steady publisher until it is cancelled."""
        while True:
            with contextlib.suppress(TimeoutError, nats.errors.TimeoutError):
                await self.store(subject, b"x" * 64)
            await asyncio.sleep(pause_s)

    def background(self, work: Coroutine[Any, Any, None] | Awaitable[None]) -> None:
        """Run until `rest`. What must not be cut off half-way ends by itself once `stopping` is set."""
        self._tasks.append(asyncio.ensure_future(work))

    async def rest(self) -> None:
        """End all background work, none of which may have failed before."""
        failed = [task.exception() for task in self._tasks if task.done() and not task.cancelled()]
        self.stopping = True
        await ended(self._tasks)
        self._tasks.clear()
        assert not any(failed), failed


async def ended(tasks: list[asyncio.Future[None]]) -> None:
    """Cancel until all have ended: nats.py may take a cancellation for the timeout of a fetch and go on working."""
    left = set(tasks)
    for _ in range(30):
        if left:
            _, left = await asyncio.wait(left, timeout=1)
        for task in left:
            task.cancel()
    assert not left, f"{len(left)} applications do not end"


Work = Callable[[Site], Awaitable[None]]
