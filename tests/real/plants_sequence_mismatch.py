"""Faults between the sequences of consumers and their streams. A stream without its tail: test_consumer_ahead."""

from __future__ import annotations

from tests.real.ward import Site, plant


async def overrun(site: Site, stream: str, **consumer: object) -> None:
    """Twenty messages in a stream that keeps five, and a consumer that was there before them."""
    await site.stream(stream, subjects=[f"{stream.lower()}.>"], max_msgs=5)
    await site.consumer(stream, "slow", **consumer)
    await site.publish(f"{stream.lower()}.a", 20)


@plant("JSD206", "APP/P206/slow", severity="error", also={"JSD618"})
async def removed_before_delivery(site: Site) -> None:
    """The limits removed fifteen messages that the consumer never got."""
    await overrun(site, "P206")


@removed_before_delivery.cure
async def went_on(site: Site) -> None:
    await site.fetch("P206", "slow", 5)


@plant("JSD206", "APP/P2060/slow", severity="info")
async def perhaps_removed_before_delivery(site: Site) -> None:
    """With a filter nothing is proven."""
    await overrun(site, "P2060", filter_subject="p2060.a")


@perhaps_removed_before_delivery.cure
async def filtered_went_on(site: Site) -> None:
    await site.fetch("P2060", "slow", 5)
