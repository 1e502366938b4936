"""Faults of deduplication that lie in the configuration of streams."""

import asyncio

from tests.faults.planting import fault
from tests.support.deployment import HOUR_NS
from tests.support.site import SECOND_NS, Site


@fault(
    "JSD301", "APP/P301", severity="warning", cure=lambda site: site.update("P301", duplicate_window=120 * SECOND_NS)
)
async def shortest_window(site: Site) -> None:
    """100 ms, the least that servers accept."""
    await site.stream("P301", subjects=["p301"], duplicate_window=SECOND_NS // 10)


@fault(
    "JSD303",
    "APP/P303",
    severity="warning",
    cure=lambda site: site.update("P303", max_age=600 * SECOND_NS, duplicate_window=120 * SECOND_NS),
)
async def window_cut_by_max_age(site: Site) -> None:
    """Three seconds of max_age: the server makes the window fit."""
    await site.stream("P303", subjects=["p303"], max_age=3 * SECOND_NS)


@fault(
    "JSD307", "APP/P307", severity="warning", cure=lambda site: site.update("P307", duplicate_window=120 * SECOND_NS)
)
async def a_week_of_ids(site: Site) -> None:
    """Some hundred messages a second, and ids that are kept for a week."""
    week = 7 * 24 * HOUR_NS
    await site.stream("P307", subjects=["p307"], max_age=week, duplicate_window=week)

    async def publish() -> None:
        while not site.stopping:
            for _ in range(10):
                await site.client.publish("p307", b"x")
            await asyncio.sleep(0.05)

    site.background(publish())


@fault(
    "JSD309",
    "APP/P309",
    severity="warning",
    since=(2, 14),
    cure=lambda site: site.update("P309", duplicate_window=120 * SECOND_NS),
)
async def no_window(site: Site) -> None:
    """Subjects and sources, no window named. Servers before 2.14 set one."""
    await site.stream("P3090", subjects=["p3090"])
    await site.stream("P309", subjects=["p309"], sources=[{"name": "P3090"}])
