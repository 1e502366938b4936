"""A three-node cluster with as many streams and consumers as are wanted, not all of them in good health.

Of every ten streams one has three replicas, and so have its consumers; one is stuck: all its consumers are at their
limit of unacknowledged messages; one is nearly full. The others have one replica and no fault. All is stored in files.
"""

import asyncio
import contextlib
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import nats
import nats.errors
from nats.aio.client import Client
from nats.js.errors import NoStreamResponseError, ServiceUnavailableError

from tests.servers import Cluster, wait_until
from tests.support.deployment import HOUR_NS, add_consumer, add_stream

NODES = 3
_PARALLEL = 32
_REPLICATED, _STUCK, _NEARLY_FULL = 0, 3, 5
_HELD_BACK = 3
_SECOND_NS = 1_000_000_000
_ATTEMPTS = 50
_PATIENCE_S = 5


@dataclass(slots=True)
class Deployment:
    """A running cluster and what has been created in it."""

    cluster: Cluster
    scratch: Path
    consumers_per_stream: int
    streams: int = 0

    @classmethod
    @contextlib.contextmanager
    def launch(cls, consumers_per_stream: int) -> Iterator[Self]:
        """An empty cluster, taken down with its data at the end."""
        with tempfile.TemporaryDirectory(prefix="jsdoctor-bench-") as directory:
            scratch = Path(directory)
            with Cluster.launch(scratch, nodes=NODES) as cluster:
                yield cls(cluster, scratch, consumers_per_stream)

    @property
    def consumers(self) -> int:
        """How many consumers there are."""
        return self.streams * self.consumers_per_stream

    @property
    def stream_copies(self) -> int:
        """How many streams the servers hold, each replica counted."""
        return sum(_replicas(number) for number in range(self.streams))

    def grow_to(self, streams: int) -> None:
        """Create what is missing of *streams* streams, and wait until every server has what it is to hold."""
        if streams > self.streams:
            print(f"creating {streams - self.streams} streams ...", file=sys.stderr)
            asyncio.run(self._create(range(self.streams, streams)))
            self.streams = streams
            wait_until(self._is_complete, "all servers to hold their streams and consumers", timeout=120)
            self.cluster.wait_ready()

    async def _create(self, numbers: range) -> None:
        client = await nats.connect(self.cluster.servers("app"))
        slots = asyncio.Semaphore(_PARALLEL)

        async def create(number: int) -> None:
            async with slots:
                await _create_stream(client, number, self.consumers_per_stream)

        try:
            await asyncio.gather(*(create(number) for number in numbers))
        finally:
            await client.close()

    def _is_complete(self) -> bool:
        held = [self.cluster.monitor(node, "/jsz") for node in self.cluster.names]
        copies = self.stream_copies
        return (sum(jsz["streams"] for jsz in held), sum(jsz["consumers"] for jsz in held)) == (
            copies,
            copies * self.consumers_per_stream,
        )


def _replicas(number: int) -> int:
    return NODES if number % 10 == _REPLICATED else 1


async def _create_stream(client: Client, number: int, consumers: int) -> None:
    name, kind = f"S{number:04d}", number % 10
    limits: dict[str, Any] = {"max_msgs": 20, "discard": "new"} if kind == _NEARLY_FULL else {"max_msgs": 1000}
    await add_stream(
        client, name, subjects=[f"{name}.>"], num_replicas=_replicas(number), max_age=72 * HOUR_NS, **limits
    )
    jetstream = client.jetstream(timeout=_PATIENCE_S)
    messages = 19 if kind == _NEARLY_FULL else 5
    for count in range(messages):
        once = {"Nats-Msg-Id": str(count)}
        await _when_known(partial(jetstream.publish, f"{name}.a", b"x" * 100, headers=once))
    for index in range(consumers):
        await _create_consumer(client, name, f"C{index}", messages, stuck=kind == _STUCK)


async def _create_consumer(client: Client, stream: str, name: str, messages: int, *, stuck: bool) -> None:
    """A consumer that has acknowledged all messages, or holds on to the first few silently."""
    config: dict[str, Any] = {"max_ack_pending": _HELD_BACK, "ack_wait": _SECOND_NS} if stuck else {}
    await add_consumer(client, stream, name, **config)
    pulling = await client.jetstream().pull_subscribe_bind(consumer=name, stream=stream)
    left = _HELD_BACK if stuck else messages

    async def take() -> None:
        nonlocal left
        for message in await pulling.fetch(left, timeout=_PATIENCE_S):
            left -= 1
            if not stuck:
                await message.ack()

    while left:
        await _when_known(take)
    await pulling.unsubscribe()


async def _when_known(request: Callable[[], Awaitable[object]]) -> None:
    """Ask until it is done: our server, or the leader, may not have heard yet of what was created a moment ago."""
    for attempt in range(_ATTEMPTS):
        try:
            await request()
        except (NoStreamResponseError, ServiceUnavailableError, nats.errors.TimeoutError):
            if attempt == _ATTEMPTS - 1:
                raise
            await asyncio.sleep(0.1)
        else:
            return
