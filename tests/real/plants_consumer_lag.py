"""Faults of consumers: stalls, lag, redelivery."""

from __future__ import annotations

from tests.real.ward import Site, plant


@plant("JSD403", "APP/P403/worker", severity="error", also={"JSD405"})
async def slots_taken(site: Site) -> None:
    """A worker fetched all it may have and died."""
    await site.stream("P403", subjects=["p403"])
    await site.consumer("P403", "worker", max_ack_pending=5)
    await site.publish("p403", 20)
    await site.fetch("P403", "worker", 5, ack=False)


@slots_taken.cure
async def more_slots(site: Site) -> None:
    await site.consumer("P403", "worker", max_ack_pending=100)
