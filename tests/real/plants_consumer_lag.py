"""Faults of consumers: stalls, lag, redelivery. Those that take long to tell are in `test_consumer_lag.py`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import nats
from nats.aio.msg import Msg

from tests.real.ward import Site, plant
from tests.support.deployment import HOUR_NS

SECOND_NS = 1_000_000_000


async def work(site: Site, stream: str, consumer: str, *, done: int, arriving: float, tick_s: float) -> None:
    """A worker at a steady pace, and publishers: per tick so many messages acknowledged, so many published."""
    inbox = site.client.new_inbox()
    subscription = await site.client.subscribe(inbox)
    left, owed = 0, 0.0
    while not site.stopping:
        for _ in range(done):
            if left == 0:
                body, left = json.dumps({"batch": 50}).encode(), 50
                await site.client.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", body, reply=inbox)
            await (await subscription.next_msg(timeout=10)).respond(b"+ACK")
            left -= 1
        owed += arriving
        while owed >= 1:
            await site.client.publish(stream.lower(), b"x")
            owed -= 1
        await asyncio.sleep(tick_s)
    await subscription.unsubscribe()


async def until(true: Callable[[], bool]) -> None:
    """Wait for something that comes soon or never."""
    for _ in range(400):
        if true():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it never came")


async def delivered(site: Site, stream: str, consumer: str) -> None:
    """Wait until a consumer has nothing more to deliver."""
    for _ in range(400):
        if (await site.api(f"CONSUMER.INFO.{stream}.{consumer}"))["num_pending"] == 0:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{stream} > {consumer} did not deliver everything")


async def empty(site: Site, stream: str) -> None:
    """Take the backlog away."""
    await site.api(f"STREAM.PURGE.{stream}")


@plant("JSD401", "APP/P401/worker", severity="warning")
async def level_lag(site: Site) -> None:
    """A backlog of eleven thousand; as much arrives as is worked off."""
    await site.stream("P401", subjects=["p401"])
    await site.consumer("P401", "worker")
    await site.fill("p401", 11_000)
    # A little more than what is done, less than counts as growth: the lag must not seem to fall by chance.
    site.background(work(site, "P401", "worker", done=2, arriving=2.04, tick_s=0.02))


@level_lag.cure
async def no_lag(site: Site) -> None:
    await empty(site, "P401")


@plant("JSD402", "APP/P402/worker", severity="warning")
async def growing_lag(site: Site) -> None:
    """Four messages arrive for each that is acknowledged. The stream has room for days."""
    await site.stream("P402", subjects=["p402"], max_bytes=256 << 20)
    await site.consumer("P402", "worker", max_ack_pending=100)
    await site.fill("p402", 3_500)  # more than a minute of the growth: less would be information, as of a burst
    site.background(work(site, "P402", "worker", done=1, arriving=4, tick_s=0.1))


@growing_lag.cure
async def no_growing_lag(site: Site) -> None:
    await empty(site, "P402")


@plant("JSD413", "APP/P413/worker", severity="error", also={"JSD402"})
async def limit_is_near(site: Site) -> None:
    """Half of what the stream may hold lies behind the consumer, and thirty messages more each second."""
    await site.stream("P413", subjects=["p413"], max_msgs=3_000)
    await site.consumer("P413", "worker", max_ack_pending=100)
    await site.fill("p413", 1_500)
    site.background(work(site, "P413", "worker", done=1, arriving=4, tick_s=0.1))


@limit_is_near.cure
async def limit_is_far(site: Site) -> None:
    await empty(site, "P413")


@plant("JSD403", "APP/P403/worker", severity="error")
async def slots_taken(site: Site) -> None:
    """A worker fetched all it may have and died longer ago than `ack_wait`."""
    await site.stream("P403", subjects=["p403"])
    await site.consumer("P403", "worker", max_ack_pending=5, ack_wait=SECOND_NS)
    await site.publish("p403", 20)
    await site.fetch("P403", "worker", 5, ack=False)


@slots_taken.cure
async def more_slots(site: Site) -> None:
    await site.consumer("P403", "worker", max_ack_pending=100, ack_wait=SECOND_NS)


@plant("JSD403", "APP/P403B/worker", severity="error")
async def poisoned_slots(site: Site) -> None:
    """Every message that takes a place fails, again and again: no repeats are reported beside it."""
    await site.stream("P403B", subjects=["p403b"])
    await site.consumer("P403B", "worker", max_ack_pending=3, ack_wait=SECOND_NS)
    await site.publish("p403b", 20)
    await refuse(site, "P403B", "worker", 3, rounds=3)
    site.background(refusing(site, "P403B", "worker", 3))


@poisoned_slots.cure
async def poison_taken(site: Site) -> None:
    await site.fetch("P403B", "worker", 20)


@plant("JSD403", "APP/P403C/worker", severity="warning")
async def slots_taken_for_an_hour(site: Site) -> None:
    """All slots are taken, `ack_wait` allows that for an hour, and requests of workers wait meanwhile."""
    await site.stream("P403C", subjects=["p403c"])
    await site.consumer("P403C", "worker", max_ack_pending=5, ack_wait=HOUR_NS)
    await site.publish("p403c", 20)
    await site.fetch("P403C", "worker", 5, ack=False)
    inbox = site.client.new_inbox()
    await site.client.subscribe(inbox)
    body = json.dumps({"batch": 1, "expires": 120 * SECOND_NS}).encode()
    await site.client.publish("$JS.API.CONSUMER.MSG.NEXT.P403C.worker", body, reply=inbox)


@slots_taken_for_an_hour.cure
async def slots_for_more(site: Site) -> None:
    await site.consumer("P403C", "worker", max_ack_pending=100, ack_wait=HOUR_NS)


@plant("JSD404", "APP/P404/worker", severity="error")
async def unreadable_store(site: Site) -> None:
    """The server that leads the consumer cannot read the messages: a directory lies where a block of them was."""
    # So small that the store uses small blocks: what is in finished ones is read from disk.
    await site.stream("P404", subjects=["p404"], max_bytes=120_000)
    await site.consumer("P404", "worker")
    await site.publish("p404", 80, size=1_000)
    block = await first_block(site, "P404", "worker")
    # This server may apply the last messages a little later than the others; only then the first block is finished.
    third = block.with_name("3.blk")
    await until(lambda: third.exists() and third.stat().st_size > 0)
    block.rename(block.with_suffix(".kept"))
    block.mkdir()
    for _ in range(5):
        if not await still_delivers(site, "P404", "worker"):
            break
        # A busy server may keep what it wrote in memory, until nobody has asked for it for ten seconds.
        await asyncio.sleep(11)
    # With the time between the samples, longer than the rule wants to see nothing delivered.
    await asyncio.sleep(3)


@unreadable_store.cure
async def readable_store(site: Site) -> None:
    block = await first_block(site, "P404", "worker")
    block.rmdir()
    block.with_suffix(".kept").rename(block)
    assert await site.fetch("P404", "worker", 70)


async def still_delivers(site: Site, stream: str, consumer: str) -> bool:
    """Whether the server delivers one message; if not, the request for it stays open."""
    inbox = site.client.new_inbox()
    subscription = await site.client.subscribe(inbox)
    body = json.dumps({"batch": 1, "expires": 120 * SECOND_NS}).encode()
    await site.client.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", body, reply=inbox)
    try:
        await subscription.next_msg(timeout=2)
    except nats.errors.TimeoutError:
        return False
    return True


async def first_block(site: Site, stream: str, consumer: str) -> Path:
    """The file with a stream's first messages on the server that leads the consumer."""
    info = await site.api(f"CONSUMER.INFO.{stream}.{consumer}")
    leader = info.get("cluster", {}).get("leader") or site.cluster.names[0]
    return next(site.cluster.store_dir(leader).glob(f"**/APP/streams/{stream}/msgs")) / "1.blk"


@plant("JSD405", "APP/P405/push", severity="warning")
async def nobody_subscribed(site: Site) -> None:
    """A push consumer without a subscriber."""
    await site.stream("P405", subjects=["p405"])
    await site.consumer("P405", "push", deliver_subject="deliver.p405")
    await site.publish("p405", 5)


@nobody_subscribed.cure
async def somebody_subscribed(site: Site) -> None:
    await site.client.subscribe("deliver.p405", cb=acknowledge)
    await delivered(site, "P405", "push")


async def acknowledge(msg: Msg) -> None:
    """A subscriber that is done with each message at once."""
    await msg.respond(b"+ACK")


@plant("JSD406", "APP/P406/slow", severity="info", also={"JSD401"})
async def laggard(site: Site) -> None:
    """Two consumers of all messages: one keeps up, the other is eleven thousand behind."""
    await site.stream("P406", subjects=["p406"])
    await site.consumer("P406", "slow")
    await site.fill("p406", 11_000)
    await site.consumer("P406", "quick", deliver_policy="new")
    site.background(work(site, "P406", "slow", done=2, arriving=2.04, tick_s=0.02))
    site.background(keep_up(site, "P406", "quick"))


@laggard.cure
async def no_laggard(site: Site) -> None:
    await empty(site, "P406")


async def keep_up(site: Site, stream: str, consumer: str) -> None:
    """A worker that takes whatever comes."""
    while not site.stopping:
        await site.fetch(stream, consumer, 50)


@plant("JSD408", "APP/P408/worker", severity="error")
async def refused_messages(site: Site) -> None:
    """Five messages are refused again and again without a delay."""
    await site.stream("P408", subjects=["p408"])
    await site.consumer("P408", "worker")
    await site.publish("p408", 5)
    site.background(refusing(site, "P408", "worker", 5))


@refused_messages.cure
async def accepted_messages(site: Site) -> None:
    await site.fetch("P408", "worker", 5)


async def refusing(site: Site, stream: str, consumer: str, count: int) -> None:
    """A worker that refuses everything for as long as the check looks."""
    while not site.stopping:
        await refuse(site, stream, consumer, count, rounds=1)
        await asyncio.sleep(0.02)


async def refuse(site: Site, stream: str, consumer: str, count: int, rounds: int) -> None:
    """Fetch `count` messages and refuse them, so many times."""
    inbox = site.client.new_inbox()
    subscription = await site.client.subscribe(inbox)
    for _ in range(rounds):
        body = json.dumps({"batch": count, "expires": 5 * SECOND_NS}).encode()
        await site.client.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", body, reply=inbox)
        for _ in range(count):
            await (await subscription.next_msg(timeout=10)).respond(b"-NAK")
    await subscription.unsubscribe()
