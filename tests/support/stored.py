"""Messages that a stream has stored for certain: published until it says so."""

import asyncio
import json
from typing import Any

import nats
from nats.aio.client import Client

Json = dict[str, Any]


async def publish(client: Client, subject: str, body: bytes = b"x", headers: dict[str, str] | None = None) -> Json:
    """What the stream answered to one message, which may be an error.

    Tries again while our server does not know a stream that was made just now on another one.
    """
    for _ in range(100):
        try:
            answer: Json = json.loads((await client.request(subject, body, headers=headers, timeout=10)).data)
        except nats.errors.NoRespondersError:
            await asyncio.sleep(0.1)
        else:
            return answer
    raise AssertionError(f"no stream takes {subject}")


async def store(client: Client, subject: str, message_id: str | None = None, body: bytes = b"x") -> Json:
    """One acknowledged message; what the stream answered, which may be that it is a duplicate."""
    answer = await publish(client, subject, body, {"Nats-Msg-Id": message_id} if message_id else None)
    assert "error" not in answer, answer
    return answer


async def store_again(client: Client, subject: str, message_id: str, body: bytes = b"x") -> int:
    """A message whose id was there before: published until the window is over and it is stored; its sequence."""
    for _ in range(400):
        answer = await store(client, subject, message_id, body)
        if not answer.get("duplicate"):
            return int(answer["seq"])
        await asyncio.sleep(0.05)
    raise AssertionError(f"{message_id} is a duplicate for ever")
