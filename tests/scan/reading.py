"""Streams to be read, and reading them."""

import asyncio
from collections.abc import Iterable
from typing import Any

import msgspec
import nats
from nats.aio.client import Client

from jsdoctor.model.exchange import Endpoint, Sample
from jsdoctor.model.stored import ScanTarget, StoredMessages, StoredStream
from jsdoctor.replies.assemble import assemble
from tests.servers import Cluster
from tests.sources.looking import NOTHING, take_samples
from tests.support.deployment import add_stream, api
from tests.support.stored import publish as publish_acknowledged

MESSAGES = 300


def scan(cluster: Cluster, *targets: str | ScanTarget, user: str = "app", ids: bool = False) -> tuple[Sample, ...]:
    """Samples that read these streams and nothing else."""
    scans = tuple(target if isinstance(target, ScanTarget) else ScanTarget(target) for target in targets)
    plan = msgspec.structs.replace(NOTHING, scan=scans, scan_ids=ids, timeout_s=10.0)
    return take_samples(cluster.url(user), plan=plan)


def stored(samples: Iterable[Sample]) -> dict[str, StoredStream]:
    """What was read, by stream."""
    messages = assemble(list(samples)).get(StoredMessages)
    return {stream.stream: stream for stream in messages.streams} if isinstance(messages, StoredMessages) else {}


def ways(samples: Iterable[Sample]) -> dict[str, str]:
    """How each stream was read."""
    bodies = [e.body for sample in samples for e in sample.exchanges if e.endpoint is Endpoint.STORED_MESSAGES]
    return {body["stream"]: body["read_by"] for body in map(msgspec.json.decode, bodies)}


def consumers(cluster: Cluster) -> int:
    """How many consumers there are on all servers."""
    return sum(int(cluster.monitor(name, "/jsz")["consumers"]) for name in cluster.names)


async def publish(client: Client, subject: str, count: int = MESSAGES) -> None:
    """Of nine messages six have an id, and one a header that servers take for something else."""
    for number in range(count):
        headers = {"Nats-Msg-Id": f"secret-{subject}-{number}"} if number % 3 else None
        if number % 9 == 0:
            headers = {"nats-msg-id": f"secret-{number}", "Other": "x"}
        if number == 0:  # waits until the new stream takes messages
            await publish_acknowledged(client, f"{subject}.0", b"payload", headers)
        elif number % 100 == 99:
            await client.request(f"{subject}.{number % 4}", b"payload", headers=headers, timeout=10)
        else:
            await client.publish(f"{subject}.{number % 4}", b"payload", headers=headers)
    await client.flush(10)


async def furnish(cluster: Cluster, **streams: dict[str, Any]) -> None:
    """Create streams, each with its messages, except those that take none."""
    client = await nats.connect(cluster.servers("app"))
    try:
        for name, config in streams.items():
            subjects = {} if "mirror" in config else {"subjects": [f"{name}.>"]}
            await add_stream(client, name, **subjects, **config)
            if subjects and name != "EMPTY":
                await publish(client, name)
        for name, config in streams.items():
            if "mirror" in config:
                await _copied(client, name, config["mirror"]["name"])
    finally:
        await client.close()


async def _copied(client: Client, mirror: str, origin: str) -> None:
    """Wait until a mirror holds what its origin holds."""
    last = (await api(client, f"STREAM.INFO.{origin}"))["state"]["last_seq"]
    for _ in range(300):
        if (await api(client, f"STREAM.INFO.{mirror}"))["state"]["last_seq"] >= last:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"{mirror} does not hold what {origin} holds")


def furnished(cluster: Cluster, **streams: dict[str, Any]) -> Cluster:
    """The same, waited for; nothing where the first of them is there already."""
    listed = cluster.monitor("n1", "/jsz?streams=true&accounts=true")
    names = {s["name"] for account in listed.get("account_details") or [] for s in account.get("stream_detail") or []}
    if not names >= streams.keys():
        asyncio.run(furnish(cluster, **streams))
    return cluster
