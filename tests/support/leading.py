"""Streams and consumers that a certain server is to lead."""

import asyncio
import json
from collections.abc import Sequence

import nats
from nats.aio.client import Client

from tests.support.deployment import api


async def led_by(client: Client, stream: str, names: Sequence[str], consumer: str = "") -> str:
    """Move the leader of a stream, or of a consumer of it, until it is one of those servers; which one.

    The first of them is asked for, which leaders take from 2.11 on; others choose another one each time.
    """
    kind, asset = ("CONSUMER", f"{stream}.{consumer}") if consumer else ("STREAM", stream)
    for _ in range(100):
        leader = (await api(client, f"{kind}.INFO.{asset}"))["cluster"].get("leader")
        if leader in names:
            return str(leader)
        if leader:
            await step_down(client, f"{kind}.LEADER.STEPDOWN.{asset}", names[0])
        await asyncio.sleep(0.3)
    raise AssertionError(f"none of {names} leads {asset}")


async def step_down(client: Client, subject: str, preferred: str = "") -> None:
    """A leader that steps down may be gone before it has responded, and one that refuses to name the next is asked
    again without.
    """
    named = [json.dumps({"placement": {"preferred": preferred}}).encode()] if preferred else []
    for body in (*named, b""):
        try:
            reply = await client.request(f"$JS.API.{subject}", body, timeout=2)
        except nats.errors.TimeoutError:
            return
        if "error" not in json.loads(reply.data):
            return
