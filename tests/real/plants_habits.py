"""Faults of habits: one message that nobody acknowledges, subjects that nobody hears, a reader that is overrun."""

from __future__ import annotations

import asyncio

from tests.real.ward import Site, plant

SECOND_NS = 1_000_000_000


async def pull(site: Site, stream: str, consumer: str, count: int, skip: int = 0) -> None:
    """Fetch `count` messages and acknowledge all but the one with stream sequence `skip`."""
    subscription = await site.client.jetstream().pull_subscribe_bind(consumer, stream)
    got = 0
    while got < count:
        for message in await subscription.fetch(min(100, count - got), timeout=5):
            got += 1
            if message.metadata.sequence.stream != skip:
                await message.ack()
    await site.client.flush()
    await subscription.unsubscribe()


@plant("JSD419", "APP/P419/worker", severity="warning", also={"JSD408", "JSD410", "JSD405"})
async def one_message_is_never_acknowledged(site: Site) -> None:
    """Of 1,200 messages all but the first are acknowledged, and the first is delivered again."""
    await site.stream("P419", subjects=["p419"])
    await site.consumer("P419", "worker", ack_wait=SECOND_NS)
    await site.fill("p419", 1200)
    await pull(site, "P419", "worker", 1200, skip=1)
    await asyncio.sleep(1.2)
    await pull(site, "P419", "worker", 1, skip=1)


@one_message_is_never_acknowledged.cure
async def it_is_acknowledged(site: Site) -> None:
    await pull(site, "P419", "worker", 1)


@plant("JSD617", "APP/P617", severity="warning")
async def one_subject_has_no_listener(site: Site) -> None:
    """An interest stream of two subjects and a consumer of one of them."""
    await site.stream("P617", subjects=["p617.paid", "p617.new"], retention="interest")
    await site.consumer("P617", "billing", filter_subject="p617.paid")


@one_subject_has_no_listener.cure
async def both_have_one(site: Site) -> None:
    await site.consumer("P617", "intake", filter_subject="p617.new")


@plant("JSD618", "APP/P618/late", severity="warning", also={"JSD206", "JSD405", "JSD413"})
async def reader_is_overrun(site: Site) -> None:
    """A stream of a hundred messages took 150, and its only reader has not begun."""
    await site.stream("P618", subjects=["p618"], max_msgs=100)
    await site.consumer("P618", "late")
    await site.fill("p618", 150)


@reader_is_overrun.cure
async def reader_has_read(site: Site) -> None:
    await pull(site, "P618", "late", 100)
