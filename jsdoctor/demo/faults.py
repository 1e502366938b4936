"""The faults of the demo: a small shop whose streams and consumers are ill in ways that real ones are."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import nats
from nats.aio.client import Client

HOUR_NS = 3_600_000_000_000

CONFIG = """
server_name: clinic
jetstream { store_dir: store, max_memory_store: 64M, max_file_store: 512M }
accounts {
  SYS { users: [{user: sys, password: sys}] }
  SHOP { jetstream: enabled, users: [{user: shop, password: shop}] }
}
system_account: SYS
"""
"""The demo's server. Its passwords protect nothing: it listens on this machine only and dies with the demo."""


class PlantedFault(msgspec.Struct, frozen=True):
    """One planted fault: the rule that must find it, on which subject, and what was done."""

    code: str
    subject: str
    story: str


FAULTS = (
    PlantedFault("JSD403", "SHOP > ORDERS > billing", "a worker fetched all it may have and died"),
    PlantedFault("JSD416", "SHOP > ORDERS > shipping", "its filter has a typo: orders.shiped"),
    PlantedFault("JSD603", "SHOP > PAYMENTS", "discard new, and full: every publish is refused"),
    PlantedFault("JSD601", "SHOP > AUDIT", "no limit of any kind"),
    PlantedFault("JSD604", "SHOP > EVENTS", "interest retention without a consumer: acknowledged and thrown away"),
    PlantedFault("JSD610", "SHOP > METRICS", "no_ack: publishers that wait for an acknowledgement time out"),
    PlantedFault("JSD612", "SHOP > THUMBNAILS", "max_bytes is smaller than one message may be"),
)


async def plant(url: str) -> None:
    """Make all faults on a server, with a client of account SHOP."""
    client = await nats.connect(url)
    try:
        bounded = {"max_age": 72 * HOUR_NS, "max_bytes": 16 << 20}
        await _stream(client, "ORDERS", subjects=["orders.new", "orders.paid", "orders.shipped"], **bounded)
        await _consumer(client, "ORDERS", "billing", max_ack_pending=10, ack_wait=1_000_000_000)
        await _consumer(client, "ORDERS", "shipping", filter_subject="orders.shiped")
        await _stream(client, "PAYMENTS", subjects=["payments.>"], max_msgs=25, discard="new")
        await _stream(client, "AUDIT", subjects=["audit.>"])
        await _stream(client, "EVENTS", subjects=["events.>"], retention="interest", **bounded)
        await _stream(client, "METRICS", subjects=["metrics.>"], no_ack=True, **bounded)
        await _stream(client, "THUMBNAILS", subjects=["thumbnails.>"], max_bytes=64 << 10)
        for number in range(25):
            for subject in ("orders.new", "payments.in", "audit.login", "events.click"):
                await client.request(subject, b"%d" % number, timeout=5)
        await _fetch_and_forget(client, "ORDERS", "billing", 10)
    finally:
        await client.close()


async def _stream(client: Client, name: str, **config: Any) -> None:
    await _api(client, f"STREAM.CREATE.{name}", {"name": name, **config})


async def _consumer(client: Client, stream: str, name: str, **config: Any) -> None:
    full = {"durable_name": name, "name": name, "ack_policy": "explicit", **config}
    await _api(client, f"CONSUMER.CREATE.{stream}.{name}", {"stream_name": stream, "config": full})


async def _api(client: Client, subject: str, body: dict[str, Any]) -> None:
    reply = await client.request(f"$JS.API.{subject}", json.dumps(body).encode(), timeout=5)
    answer = json.loads(reply.data)
    if "error" in answer:
        raise RuntimeError(f"the demo's server refused {subject}: {answer['error']['description']}")


async def _fetch_and_forget(client: Client, stream: str, consumer: str, count: int) -> None:
    inbox = client.new_inbox()
    subscription = await client.subscribe(inbox)
    await client.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", b"%d" % count, reply=inbox)
    for _ in range(count):
        await subscription.next_msg(timeout=5)


def plant_all(url: str) -> None:
    """`plant`, for callers that are not asynchronous."""
    asyncio.run(plant(url))
