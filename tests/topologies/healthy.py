"""Healthy deployments: habits that are set up and at work, and whatever `jsdoctor check` reports of them."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from typing import Any

import nats
from nats.aio.msg import Msg

from tests.real.outage import Json, requested
from tests.real.ward import run_check
from tests.topologies.habits import HABITS, Habit, Place
from tests.topologies.habits_commonest import COMMONEST_HABITS
from tests.topologies.habits_of_clients import CLIENT_HABITS
from tests.topologies.habits_of_consumers import CONSUMER_HABITS
from tests.topologies.habits_of_examples import EXAMPLE_HABITS
from tests.topologies.habits_of_projects import LAST_HABITS, PARTITIONS, PROJECT_HABITS
from tests.topologies.habits_of_streams import BRIDGES, STREAM_HABITS
from tests.topologies.habits_unusual import UNUSUAL_HABITS

SAMPLES = int(os.environ.get("JSDOCTOR_LOOKS", "2"))
"""Checks of each state; for the figures of a release, 20."""

_CONNECT_S = 10
TABLES = {
    "first": HABITS,
    "consumers": CONSUMER_HABITS,
    "streams": STREAM_HABITS,
    "projects": PROJECT_HABITS,
    "last": LAST_HABITS,
    "examples": EXAMPLE_HABITS,
    "clients": CLIENT_HABITS,
    "unusual": UNUSUAL_HABITS,
    "commonest": COMMONEST_HABITS,
}
"""All habits, in tables that fit on one deployment each."""


def loud(report: Json) -> list[str]:
    """Everything at warning or above, every check that failed to run, every gap."""
    problems = [
        f"{r['severity']} {r['code']} {'/'.join(v for v in r['subject'].values() if v)}: {r['message']}"
        for r in report["results"]
        if r["outcome"] == "error" or (r["outcome"] == "fail" and r["severity"] != "info")
    ]
    return [*problems, *(f"gap {gap}" for gap in requested(report))]


def problems_of(url: str, *options: str, times: int = SAMPLES) -> list[str]:
    """What so many checks report: findings above information, failed checks, gaps."""
    problems = []
    for number in range(times):
        code, report = run_check("--isolated", "--server", url, *options, again=number > 0)
        problems += loud(report) or ([] if code == 0 else [f"exit {code}"])
    return problems


def of_habits(*names: str) -> list[Habit]:
    """The habits of those names."""
    return [habit for table in (*TABLES.values(), BRIDGES, PARTITIONS) for habit in table if habit.name in names]


async def furnish(url: str, replicas: int, habits: list[Habit], **login: Any) -> None:
    """Set the habits up."""
    client = await nats.connect(url.split(","), connect_timeout=_CONNECT_S, **login)
    try:
        for habit in habits:
            await habit.furnish(Place(client, replicas))
    finally:
        await client.close()


@contextlib.asynccontextmanager
async def at_work(url: str, replicas: int, habits: list[Habit], **login: Any) -> AsyncIterator[Callable[[], Any]]:
    """The clients of the habits work until what is yielded is awaited; subscribers stay for the whole context."""
    client = await nats.connect(url.split(","), connect_timeout=_CONNECT_S, **login)
    place = Place(client, replicas)
    tasks: list[asyncio.Future[None]] = [asyncio.ensure_future(work(place)) for habit in habits for work in habit.busy]

    async def rest() -> None:
        failed = [task.exception() for task in tasks if task.done() and not task.cancelled()]
        assert not any(failed), failed
        await ended(tasks)
        tasks.clear()

    try:
        # Subscribers of what `furnish` left behind: consumers that push have their clients, busy and idle.
        for subject, queue in (("deliver.acknone", ""), ("deliver.ackall", ""), ("deliver.group", "workers")):
            await client.subscribe(subject, queue=queue, cb=_acknowledge)
        await asyncio.sleep(3)
        yield rest
    finally:
        await ended(tasks)
        await client.close()


async def while_busy(url: str, replicas: int, habits: list[Habit], login: str, *options: str, **who: Any) -> list[str]:
    """What is wrong while the clients of the habits work."""
    async with at_work(url, replicas, habits, **who) as rest:
        problems = await asyncio.to_thread(problems_of, login, *options)
        await rest()
        return problems


async def ended(tasks: list[asyncio.Future[None]]) -> None:
    """Cancel until all have ended: nats.py may take a cancellation for the timeout of a fetch and go on working."""
    left = set(tasks)
    for _ in range(30):
        for task in left:
            task.cancel()
        if left:
            _, left = await asyncio.wait(left, timeout=1)
    assert not left, f"{len(left)} habits do not end"


async def _acknowledge(message: Msg) -> None:
    if message.reply:
        with contextlib.suppress(nats.errors.Error):
            await message.respond(b"+ACK")
