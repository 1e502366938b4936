"""Scenarios of `tools.record_captures`: everything that JetStream says when something is refused, repeated or late."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine

from nats.aio.client import Client
from nats.errors import Error
from nats.js.api import AckPolicy, ConsumerConfig, DiscardPolicy, StreamConfig
from nats.js.client import JetStreamContext
from nats.js.errors import APIError

from tests.servers import Cluster

Connect = Callable[[Cluster, str], contextlib.AbstractAsyncContextManager[Client]]
_IDLE_S = 0.2


async def _stream(js: JetStreamContext, messages: int) -> None:
    await js.add_stream(StreamConfig(name="WORK", subjects=["WORK.>"]))
    for number in range(messages):
        await js.publish("WORK.new", b"%d" % number)


async def rejected(client: Client) -> None:
    """40 messages refused by a worker, 20 of them given up, and some that reach max_deliver."""
    js = client.jetstream()
    await client.subscribe("$JS.EVENT.ADVISORY.>")
    await _stream(js, 60)
    await js.add_consumer("WORK", ConsumerConfig(durable_name="REFUSES", ack_policy=AckPolicy.EXPLICIT, max_deliver=3))
    worker = await js.pull_subscribe_bind("REFUSES", "WORK")
    for message in await worker.fetch(60):
        if message.metadata.sequence.stream <= 40:
            await message.nak()
        else:
            await message.term()
    for _ in range(2):
        for message in await worker.fetch(40):
            await message.nak()
    with contextlib.suppress(Error):
        await worker.fetch(1, timeout=0.5)
    await client.flush()
    await asyncio.sleep(0.5)


async def refused(client: Client) -> None:
    """Publishes to a full stream, too large ones, ones that nobody takes, and API requests that fail."""
    js = client.jetstream()
    full = StreamConfig(name="FULL", subjects=["FULL.>"], max_msgs=5, discard=DiscardPolicy.NEW, max_msg_size=100)
    await js.add_stream(full)
    for number in range(25):
        with contextlib.suppress(APIError):
            await js.publish("FULL.new", b"%d" % number)
    for _ in range(4):
        with contextlib.suppress(APIError):
            await js.publish("FULL.new", b"x" * 200)
    for _ in range(15):
        with contextlib.suppress(Error):
            await js.publish("nobody.listens", b"x")
    for _ in range(12):
        with contextlib.suppress(APIError):
            await js.stream_info("MISSING")


async def pulls_ended(client: Client) -> None:
    """Pulls that the server ends: too many at once, and a consumer that is deleted under them."""
    js = client.jetstream()
    await _stream(js, 1)
    await js.add_consumer(
        "WORK",
        ConsumerConfig(durable_name="SMALL", ack_policy=AckPolicy.EXPLICIT, max_waiting=2, filter_subject="WORK.x"),
    )
    inbox = client.new_inbox()
    await client.subscribe(inbox)
    for _ in range(12):
        await client.publish("$JS.API.CONSUMER.MSG.NEXT.WORK.SMALL", b'{"batch":1,"expires":5000000000}', reply=inbox)
    await client.flush()
    await asyncio.sleep(0.2)
    await js.delete_consumer("WORK", "SMALL")
    await client.flush()
    await asyncio.sleep(0.2)


async def silent(client: Client, cluster: Cluster) -> None:
    """A push consumer whose heartbeats stop for a while."""
    js = client.jetstream()
    await _stream(js, 3)
    await js.subscribe("WORK.>", durable="IDLE", idle_heartbeat=_IDLE_S)
    await asyncio.sleep(1.2)
    cluster.pause("n1")
    await asyncio.sleep(1.5)
    cluster.resume("n1")
    await asyncio.sleep(0.6)


async def stalled(client: Client) -> None:
    """A push consumer with flow control whose client does not answer it."""
    js = client.jetstream()
    await js.add_stream(StreamConfig(name="WORK", subjects=["WORK.>"]))
    await client.subscribe("deliver.flow")
    config = ConsumerConfig(durable_name="FLOW", deliver_subject="deliver.flow", ack_policy=AckPolicy.NONE)
    config.flow_control, config.idle_heartbeat = True, 0.5
    await js.add_consumer("WORK", config)
    for _ in range(60):
        await js.publish("WORK.new", b"x" * 50_000)
    await client.flush()
    await asyncio.sleep(2.5)


async def healthy(client: Client) -> None:
    """The same features where everything works: heartbeats, flow control, pulls, acknowledgements."""
    js = client.jetstream()
    await _stream(js, 40)
    await js.subscribe("WORK.>", durable="PUSH", idle_heartbeat=_IDLE_S, flow_control=True)
    await js.add_consumer("WORK", ConsumerConfig(durable_name="PULL", ack_policy=AckPolicy.EXPLICIT))
    worker = await js.pull_subscribe_bind("PULL", "WORK")
    for _ in range(4):
        for message in await worker.fetch(10):
            await message.ack()
    with contextlib.suppress(Error):
        await worker.fetch(1, timeout=0.3)
    await js.stream_info("WORK")
    for _ in range(60):
        await js.publish("WORK.large", b"x" * 50_000)
    for _ in range(6):
        for message in await worker.fetch(10):
            await message.ack()
    await client.flush()
    await asyncio.sleep(1.2)


def scenario(
    connect: Connect, name: str, play: Callable[[Client], Coroutine[None, None, None]]
) -> Callable[[Cluster], Coroutine[None, None, None]]:
    """One of these with a client of that name."""

    async def run(cluster: Cluster) -> None:
        async with connect(cluster, name) as client:
            await play(client)

    return run


def silenced(connect: Connect) -> Callable[[Cluster], Coroutine[None, None, None]]:
    """The one that also stops the server."""

    async def run(cluster: Cluster) -> None:
        async with connect(cluster, "listening") as client:
            await silent(client, cluster)

    return run
