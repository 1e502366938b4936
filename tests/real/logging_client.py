"""Applications that log what goes wrong with their NATS client, for the tests of client logs.

Real nats-py against a real server, with Python's logging: the lines are what an operator finds in such a log.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any

import nats
from nats.aio.client import Client
from nats.errors import Error
from nats.js import api

from tests.support.deployment import add_stream


@contextlib.asynccontextmanager
async def application(url: str, path: Path) -> AsyncIterator[tuple[Client, logging.Logger]]:
    """A connected client and its log, in UTC; errors of the client's own tasks are logged as well."""
    log = logging.Logger(path.stem)  # noqa: LOG001  # one for each file, not shared by name
    handler = logging.FileHandler(path)
    formatter = logging.Formatter("%(asctime)s %(levelname)s %(message)s")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    log.addHandler(handler)

    async def on_error(error: Exception) -> None:
        log.error("%s: %s", type(error).__name__, error)

    client = await nats.connect(url, error_cb=on_error)
    try:
        log.info("connected")
        yield client, log
    finally:
        await client.close()
        handler.close()


async def refused(log: logging.Logger, what: str, attempt: Awaitable[Any]) -> None:
    """Something that must fail, logged in one line as applications do."""
    try:
        await attempt
    except Error as error:
        log.error("%s failed: %s", what, error)  # noqa: TRY400  # no traceback
        return
    raise AssertionError(f"{what} was to be refused")


async def record_advisories(client: Client, log: logging.Logger) -> None:
    """Write every advisory of the account as it comes."""

    async def write(message: Any) -> None:
        log.info("advisory %s", message.data.decode())

    await client.subscribe("$JS.EVENT.ADVISORY.>", cb=write)
    await client.flush()


async def stream(client: Client, name: str, **config: Any) -> None:
    """A stream on the subject of its name in lower case."""
    await add_stream(client, name, **{"subjects": [name.lower()], "max_bytes": 1 << 20, **config})


async def publish_expecting(client: Client, log: logging.Logger, name: str, expected: int) -> None:
    """A publisher that goes on with the sequence that it once knew."""
    for _ in range(4):
        headers = {"Nats-Expected-Last-Sequence": str(expected)}
        await refused(log, "publish", client.jetstream().publish(name.lower(), b"y", headers=headers))


async def publish_same_id(client: Client, log: logging.Logger, name: str, times: int) -> None:
    """One id again and again; the application logs each acknowledgement."""
    for number in range(times):
        headers = {"Nats-Msg-Id": "customer-7"}
        ack = await client.jetstream().publish(name.lower(), f"{number}".encode(), headers=headers)
        log.info("stored %s", ack)


async def recreate_under_reader(client: Client, name: str) -> None:
    """A push consumer is deleted and created while its reader runs; the client says so with each heartbeat."""
    js = client.jetstream()
    for _ in range(20):
        await js.publish(name.lower(), b"z")
    read = asyncio.Event()

    async def handle(message: Any) -> None:
        await message.ack()
        if message.metadata.sequence.stream == 20:
            read.set()

    config = api.ConsumerConfig(durable_name="push", ack_policy=api.AckPolicy.EXPLICIT, idle_heartbeat=0.3)
    reader = await js.subscribe(name.lower(), stream=name, durable="push", cb=handle, manual_ack=True, config=config)
    await asyncio.wait_for(read.wait(), 10)
    await js.delete_consumer(name, "push")
    again = api.ConsumerConfig(
        durable_name="push",
        ack_policy=api.AckPolicy.EXPLICIT,
        idle_heartbeat=0.3,
        deliver_policy=api.DeliverPolicy.NEW,
        deliver_subject=reader.subject,
    )
    await js.add_consumer(name, again)
