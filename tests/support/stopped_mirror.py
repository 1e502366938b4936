"""A mirror that a repeated message id of its origin stopped, which is what servers before 2.12.8 do."""

import asyncio
from typing import Any

from nats.aio.client import Client

from tests.support.deployment import add_stream, api

_WATCHED_S = 2
"""What gets past the repeat does so with its first messages: of 300 mirrors none moved between 8 and 24 seconds."""


async def add_stopped_mirror(client: Client, name: str, origin: str, **config: Any) -> None:
    """A mirror of one replica that holds one message; the second one of its origin repeats the id of the first.

    A mirror has no window, so its server may forget an id before the next message arrives: 7 of 300 on 2.10.26 stored
    the repeated one. Such a mirror is recreated.
    """
    for _ in range(5):
        await add_stream(client, name, mirror={"name": origin}, num_replicas=1, **config)
        if await _stops(client, name):
            return
        await api(client, f"STREAM.DELETE.{name}")
    raise AssertionError(f"no repeated id stops {name}")


async def _stops(client: Client, name: str) -> bool:
    for _ in range(100):
        if await _messages(client, name):
            await asyncio.sleep(_WATCHED_S)
            return await _messages(client, name) == 1
        await asyncio.sleep(0.2)
    raise AssertionError(f"{name} gets nothing of its origin")


async def _messages(client: Client, name: str) -> int:
    return int((await api(client, f"STREAM.INFO.{name}"))["state"]["messages"])
