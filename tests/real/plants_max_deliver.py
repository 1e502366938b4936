"""Messages that were delivered as often as allowed (JSD409)."""

from __future__ import annotations

import asyncio

from tests.real.ward import Site, plant

SECOND_NS = 1_000_000_000


async def give_up(site: Site, stream: str, times: int) -> None:
    """Three messages, each delivered `times` times and never acknowledged, then one that is."""
    await site.stream(stream, subjects=[stream.lower()])
    await site.consumer(stream, "worker", max_deliver=times, ack_wait=SECOND_NS)
    await site.publish(stream.lower(), 3)
    for _ in range(times):
        await site.fetch(stream, "worker", 3, ack=False)
        await asyncio.sleep(1.3)


@plant("JSD409", "APP/P409/worker", severity="warning")
async def given_up_after_two(site: Site) -> None:
    """The worker goes on with the next message: only the count of redelivered ones tells."""
    await give_up(site, "P409", 2)
    await site.publish("p409", 1)
    await site.fetch("P409", "worker", 1)


@given_up_after_two.cure
async def deleted(site: Site) -> None:
    """Taken out of the stream; servers before 2.14 go on counting while other messages of the range are there."""
    await site.api("STREAM.PURGE.P409")


@plant("JSD409", "APP/P4090/worker", severity="warning")
async def exhausted_without_requests(site: Site) -> None:
    """All of them had their last delivery, and nobody asked for more since: they still count as pending."""
    await give_up(site, "P4090", 2)


@exhausted_without_requests.cure
async def purged(site: Site) -> None:
    await site.api("STREAM.PURGE.P4090")


@plant("JSD409", "APP/P4091/worker", severity="warning", since=(2, 11))
async def given_up_after_one(site: Site) -> None:
    """Nothing is counted with a limit of one; the ack floor stays behind until the next acknowledgement."""
    await give_up(site, "P4091", 1)


@given_up_after_one.cure
async def purged_too(site: Site) -> None:
    await site.api("STREAM.PURGE.P4091")
