"""Healthy consumers that push, and those that live for a moment."""

import asyncio
import contextlib
from typing import Any

from nats.aio.msg import Msg
from nats.js.api import ConsumerConfig
from nats.js.errors import NotFoundError

from tests.healthy.frame import habit
from tests.support.applications import TIMEOUTS, acknowledge, publishes, slowly, subscribes, works
from tests.support.deployment import HOUR_NS
from tests.support.site import SECOND_NS, Site


@habit("ACKNONE", publishes("acknone.x"))
async def push_without_acknowledgements(site: Site) -> None:
    await site.stream("ACKNONE")
    await site.client.subscribe("deliver.acknone")
    await site.consumer("ACKNONE", "tail", ack_policy="none", deliver_subject="deliver.acknone")


@habit("ACKALL", publishes("ackall.x"))
async def acknowledges_all_at_once(site: Site) -> None:
    await site.stream("ACKALL")

    async def acknowledge(message: Any) -> None:
        await message.respond(b"+ACK")

    await site.client.subscribe("deliver.ackall", cb=acknowledge)
    await site.consumer("ACKALL", "batches", ack_policy="all", deliver_subject="deliver.ackall")


@habit("GROUP", publishes("group.x"))
async def queue_group(site: Site) -> None:
    await site.stream("GROUP")

    async def acknowledge(message: Any) -> None:
        await message.respond(b"+ACK")

    for _ in range(3):
        await site.client.subscribe("deliver.group", queue="workers", cb=acknowledge)
    await site.consumer(
        "GROUP", "workers", deliver_subject="deliver.group", deliver_group="workers", ack_policy="explicit"
    )


async def read_in_order(site: Site) -> None:
    await site.client.jetstream().subscribe("ordered.>", stream="ORDERED", ordered_consumer=True)
    await asyncio.sleep(3600)


@habit("ORDERED", read_in_order, publishes("ordered.x"))
async def ordered_consumer_that_lasts(site: Site) -> None:
    await site.stream("ORDERED")


@habit("SESSIONS")
async def devices_that_are_away(site: Site) -> None:
    """Durables of devices, most of them offline, with an inactivity threshold of a day."""
    await site.stream("SESSIONS", subjects=["sessions.*"], retention="interest")
    for number in range(20):
        name = f"device{number}"
        await site.consumer("SESSIONS", name, filter_subject=f"sessions.{number}", inactive_threshold=24 * HOUR_NS)
    for number in range(20):
        await site.publish(f"sessions.{number}", 1)


async def receive_with_flow_control(site: Site) -> None:
    """Answers flow control; heartbeats come while nothing is published."""

    async def receive(message: Msg) -> None:
        if (message.headers or {}).get("Status"):
            stalled = (message.headers or {}).get("Nats-Consumer-Stalled")
            if message.reply or stalled:
                await site.client.publish(message.reply or str(stalled))
        elif message.reply:
            await message.respond(b"+ACK")

    await site.client.subscribe("deliver.flow", cb=receive)
    await asyncio.sleep(3600)


@habit("FLOW", receive_with_flow_control, publishes("flow.x"))
async def push_with_flow_control(site: Site) -> None:
    await site.stream("FLOW")
    push: dict[str, Any] = {"deliver_subject": "deliver.flow", "flow_control": True, "idle_heartbeat": SECOND_NS}
    await site.consumer("FLOW", "mirror", **push)


async def live_with_ephemeral_consumers(site: Site) -> None:
    """As `consume()` of the clients makes them."""
    context = site.client.jetstream()
    subscriptions = [
        await context.pull_subscribe("live.>", stream="LIVE", config=ConsumerConfig(inactive_threshold=300.0))
        for _ in range(4)
    ]
    while True:
        for subscription in subscriptions:
            with contextlib.suppress(*TIMEOUTS):
                for message in await subscription.fetch(20, timeout=0.5):
                    await message.ack()


@habit("LIVE", live_with_ephemeral_consumers, publishes("live.x"))
async def ephemeral_consumers_of_clients_that_live(site: Site) -> None:
    await site.stream("LIVE")


async def read_for_each_request(site: Site) -> None:
    """A web application: each request reads the newest messages with an ordered consumer, and drops it."""
    while True:
        with contextlib.suppress(*TIMEOUTS, NotFoundError):
            subscription = await site.client.jetstream().subscribe("perrequest.>", ordered_consumer=True)
            await subscription.next_msg(timeout=2)
            await subscription.unsubscribe()
        await asyncio.sleep(1)


@habit("PERREQUEST", read_for_each_request, slowly("perrequest.x", 0.3))
async def ordered_consumer_for_each_request(site: Site) -> None:
    await site.stream("PERREQUEST")
    await site.publish("perrequest.x", 10)


@habit("METERED", publishes("metered.x"), subscribes("deliver.metered"))
async def push_with_a_rate_that_suffices(site: Site) -> None:
    await site.stream("METERED")
    push: dict[str, Any] = {"deliver_subject": "deliver.metered", "rate_limit_bps": 8_000_000}
    await site.consumer("METERED", "sink", **push)


@habit("MIXED", publishes("mixed.x"), works("MIXED", "pull"), subscribes("deliver.mixed", queue="hosts"))
async def interest_of_pull_and_push_consumers(site: Site) -> None:
    await site.stream("MIXED", retention="interest")
    await site.consumer("MIXED", "pull")
    await site.consumer("MIXED", "push", deliver_subject="deliver.mixed", deliver_group="hosts")


async def listen_without_a_durable(site: Site) -> None:
    """As a client subscribes with flow control and heartbeats."""
    await site.client.jetstream().subscribe(
        "listen.>", stream="LISTEN", cb=acknowledge, flow_control=True, idle_heartbeat=2.0, manual_ack=True
    )
    await asyncio.sleep(3600)


@habit("LISTEN", publishes("listen.x"), listen_without_a_durable)
async def ephemeral_push_with_flow_control(site: Site) -> None:
    await site.stream("LISTEN")


@habit("REPLAYED", slowly("replayed.x", 0.2), subscribes("out.original", acknowledge))
async def replay_at_the_original_speed(site: Site) -> None:
    """https://docs.nats.io/using-nats/jetstream/model_deep_dive: as fast as it was once published."""
    await site.stream("REPLAYED")
    for _ in range(20):
        await site.publish("replayed.x", 1)
        await asyncio.sleep(0.2)
    replay: dict[str, Any] = {"deliver_subject": "out.original", "ack_policy": "none", "replay_policy": "original"}
    await site.consumer("REPLAYED", "REPLAY", deliver_policy="all", **replay)
