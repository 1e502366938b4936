"""Streams and consumers that a certain server is to lead."""

import asyncio
import contextlib
import json
from collections.abc import Sequence

import nats
from nats.aio.client import Client

from tests.support.deployment import api


async def led_by(client: Client, stream: str, names: Sequence[str], consumer: str = "") -> str:
    """Move the leader of a stream, or of a consumer of it, until it is one of those servers; which one.

    From 2.11 on the first of them is asked for; before, no request can name a server.
    """
    kind, asset = ("CONSUMER", f"{stream}.{consumer}") if consumer else ("STREAM", stream)
    server = client.connected_server_version
    preferred = names[0] if (server.major, server.minor) >= (2, 11) else ""
    for _ in range(100):
        leader = (await api(client, f"{kind}.INFO.{asset}"))["cluster"].get("leader")
        if leader in names:
            return str(leader)
        if leader:
            await step_down(client, f"{kind}.LEADER.STEPDOWN.{asset}", preferred)
        await asyncio.sleep(0.3)
    raise AssertionError(f"none of {names} leads {asset}")


async def step_down(client: Client, subject: str, preferred: str = "") -> None:
    """A leader that steps down may be gone before it has responded."""
    body = json.dumps({"placement": {"preferred": preferred}}).encode() if preferred else b""
    with contextlib.suppress(nats.errors.TimeoutError):
        await client.request(f"$JS.API.{subject}", body, timeout=2)
