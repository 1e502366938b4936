"""Streams and consumers that a certain server is to lead."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from nats.aio.client import Client

from tests.support.deployment import api


async def led_by(client: Client, stream: str, names: Collection[str], consumer: str = "") -> str:
    """Move the leader of a stream, or of a consumer of it, until it is one of those servers; which one."""
    kind, asset = ("CONSUMER", f"{stream}.{consumer}") if consumer else ("STREAM", stream)
    for _ in range(100):
        leader = (await api(client, f"{kind}.INFO.{asset}"))["cluster"].get("leader")
        if leader in names:
            return str(leader)
        if leader:
            await api(client, f"{kind}.LEADER.STEPDOWN.{asset}")
        await asyncio.sleep(0.3)
    raise AssertionError(f"none of {names} leads {asset}")
