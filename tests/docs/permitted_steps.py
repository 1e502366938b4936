"""One step of each operation of `fix`, with what has to be there before it: for the tests of docs/permissions.md."""

import asyncio
import contextlib
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import nats
from nats.aio.msg import Msg

from jsdoctor.remedy.backup.take import take
from tests.clock import ShiftClock
from tests.remedy.asking import PlainApi
from tests.servers import Cluster
from tests.support.deployment import HOUR_NS, add_consumer, add_stream

Json = dict[str, Any]
STREAM = {"kind": "stream", "name": "ORDERS"}
CONSUMER = {"kind": "consumer", "name": "worker", "stream": "ORDERS"}
CLUSTER = {"kind": "cluster"}


class Place:
    """Where a step is made ready: a cluster, a login that may do everything, a directory, a way to shift clocks."""

    def __init__(self, cluster: Cluster, to: PlainApi, directory: Path, shift: ShiftClock) -> None:
        self.cluster, self.to, self.directory, self.shift = cluster, to, directory, shift

    async def orders(self, count: int = 5, **config: Any) -> Json:
        """The stream and its consumer, anew; their INFO replies."""
        for name in ("ORDERS", "DEAD"):
            await self.to.request(f"$JS.API.STREAM.DELETE.{name}")
        replicas = len(self.cluster.names)
        whole = {"max_age": HOUR_NS, "num_replicas": replicas, **config}
        await add_stream(self.to.client, "ORDERS", subjects=["orders"], **whole)
        await add_consumer(self.to.client, "ORDERS", "worker")
        await self.publish(count)
        return await self.info()

    async def publish(self, count: int, size: int = 1) -> None:
        for _ in range(count):
            await self.to.client.request("orders", os.urandom(size), timeout=10)

    async def fetch(self, count: int) -> list[Msg]:
        """So many messages of the worker, not acknowledged. A request that nobody had interest in yet is repeated."""
        inbox = await self.to.client.subscribe(self.to.client.new_inbox())
        messages: list[Msg] = []
        while len(messages) < count:
            pull = json.dumps({"batch": count - len(messages), "expires": 2_000_000_000}).encode()
            await self.to.client.publish("$JS.API.CONSUMER.MSG.NEXT.ORDERS.worker", pull, reply=inbox.subject)
            with contextlib.suppress(nats.errors.TimeoutError):
                while len(messages) < count:
                    message = await inbox.next_msg(timeout=3)
                    messages += [] if (message.headers or {}).get("Status") else [message]
        await inbox.unsubscribe()
        return messages

    async def info(self) -> Json:
        """Both, once both have leaders."""
        while True:
            infos = {what: await self.to.ask(f"{what}.INFO.{name}") for what, name in _NAMES.items()}
            if len(self.cluster.names) == 1 or all(reply.get("cluster", {}).get("leader") for reply in infos.values()):
                return infos
            await asyncio.sleep(0.2)


_NAMES = {"STREAM": "ORDERS", "CONSUMER": "ORDERS.worker"}
Ready = Callable[[Place], Awaitable[Json]]


def step(operation: str, subject: Json, **more: Any) -> Json:
    """A step that no finding asks for, and that therefore needs no proof."""
    return {"id": "1", "action": operation, "operation": operation, "subject": subject, "risk": "safe", **more}


async def stream_update(place: Place) -> Json:
    config = (await place.orders())["STREAM"]["config"]
    change = {"key": "max_msgs", "before": -1, "after": 1000}
    return step("stream.update", STREAM, base={"config": config}, changes=[change])


async def consumer_update(place: Place) -> Json:
    config = (await place.orders())["CONSUMER"]["config"]
    change = {"key": "max_ack_pending", "before": 1000, "after": 2000}
    return step("consumer.update", CONSUMER, base={"config": config}, changes=[change])


async def pause(place: Place) -> Json:
    await place.orders()
    return step("consumer.pause", CONSUMER, values={"pause_until": "2199-01-01T00:00:00Z"}, base={"paused": False})


async def unpin(place: Place) -> Json:
    await place.orders()
    await place.to.ask("CONSUMER.DELETE.ORDERS.worker")
    policy = {"priority_policy": "pinned_client", "priority_groups": ["jobs"], "priority_timeout": 120_000_000_000}
    await add_consumer(place.to.client, "ORDERS", "worker", **policy)  # type: ignore[arg-type]
    inbox = await place.to.client.subscribe(place.to.client.new_inbox())
    pull = json.dumps({"batch": 1, "expires": 60_000_000_000, "group": "jobs"}).encode()
    await place.info()
    await place.to.client.publish("$JS.API.CONSUMER.MSG.NEXT.ORDERS.worker", pull, reply=inbox.subject)
    await inbox.next_msg(timeout=10)
    held = (await place.info())["CONSUMER"]["priority_groups"]
    return step("consumer.unpin", CONSUMER, values={"group": "jobs"}, base={"priority_groups": held})


async def stream_step_down(place: Place) -> Json:
    leader = (await place.orders())["STREAM"]["cluster"]["leader"]
    return step("stream.step_down", STREAM, base={"cluster": {"leader": leader}})


async def consumer_step_down(place: Place) -> Json:
    leader = (await place.orders())["CONSUMER"]["cluster"]["leader"]
    return step("consumer.step_down", CONSUMER, base={"cluster": {"leader": leader}})


async def reset(place: Place) -> Json:
    info = (await place.orders())["CONSUMER"]
    return step("consumer.reset", CONSUMER, values={"seq": 3}, base=info)


async def recreate(place: Place) -> Json:
    info = (await place.orders())["CONSUMER"]
    changes = [
        {"key": "deliver_policy", "before": "all", "after": "by_start_sequence"},
        {"key": "opt_start_seq", "before": None, "after": 3},
    ]
    return step("consumer.recreate", CONSUMER, values={"seq": 3}, base=info, changes=changes)


async def backup(place: Place) -> Json:
    await place.orders(0)
    await place.publish(150, 2000)  # more than one chunk, and only whole chunks are acknowledged
    return step("stream.backup", STREAM)


async def delete_message(place: Place) -> Json:
    await place.orders(0)
    for name in place.cluster.names:
        place.shift(place.cluster.node(name).pid, 7200)
    await place.publish(2)
    for name in place.cluster.names:
        place.shift(place.cluster.node(name).pid, 0)
    await place.publish(2)
    return step("message.delete_head", STREAM, values={"at_most": 10}, base={"first_seq": 1})


async def restore(place: Place) -> Json:
    await place.orders(0)
    await place.publish(150, 2000)  # as for a backup
    good = place.directory / "good"
    good.mkdir()
    await take(place.to, "ORDERS", good)
    return step("stream.restore", STREAM, values={"backup": str(good)}, patience_s=60)


async def dead_letters(place: Place) -> Json:
    await place.orders(retention="workqueue")
    await add_stream(place.to.client, "DEAD", subjects=["dead.>"])
    await place.fetch(5)
    values = {"into": "DEAD", "seqs": [1, 2], "advisories": "", "move": True}
    return step("message.dead_letters", CONSUMER, values=values)


async def meta_step_down(place: Place) -> Json:
    return step("meta.step_down", CLUSTER, base={"cluster": {"leader": place.cluster.meta_leader()}})


async def remove_peer(place: Place) -> Json:
    """The stopped server is not that of the client: closing nats.py while it reconnects may raise CancelledError."""
    url = place.to.client.connected_url
    assert url is not None
    connected = next(name for name in place.cluster.names if place.cluster.node(name).url.endswith(f":{url.port}"))
    kept = {place.cluster.meta_leader(), connected}
    name = next(name for name in place.cluster.names if name not in kept)
    await asyncio.to_thread(place.cluster.stop, name)
    return step("server.remove_peer", {"kind": "server", "name": name})


STEPS: dict[str, Ready] = {
    "fix-stream-update": stream_update,
    "fix-consumer-update": consumer_update,
    "fix-pause": pause,
    "fix-unpin": unpin,
    "fix-stream-step-down": stream_step_down,
    "fix-consumer-step-down": consumer_step_down,
    "fix-reset": reset,
    "fix-recreate": recreate,
    "fix-backup": backup,
    "fix-delete-message": delete_message,
    "fix-restore": restore,
    "fix-dead-letters": dead_letters,
    "fix-meta-step-down-system": meta_step_down,
    "fix-remove-peer-system": remove_peer,
}
"""By the block of the page that it needs; the last one leaves a cluster with a server less."""
SINCE = {"fix-pause": (2, 11), "fix-unpin": (2, 11), "fix-reset": (2, 14)}
