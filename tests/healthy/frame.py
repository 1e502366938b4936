"""Healthy habits of applications and healthy deployments, and what `jsdoctor check` reports of them.

A habit furnishes its streams, and may go on with them while jsdoctor looks. Those of a module fit beside each other on
one deployment, so that one check judges them all; findings name the stream, whose name begins with that of the habit:

    @habit("QUEUE", works("QUEUE", "workers"), publishes("queue.jobs"))
    async def work_queue(site: Site) -> None: ...

A state is a deployment of its own, with the applications that work there and the logins that judge it:

    @state()
    def fresh_cluster(land: Landscape) -> Setting: ...

`test_healthy.py` checks all of them while their clients work and after they have stopped.
"""

import asyncio
import contextlib
import importlib
import itertools
import os
import pkgutil
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import nats

import jsdoctor
import tests.healthy
from jsdoctor import ConnectionOptions
from tests.servers.deployments import HUB
from tests.servers.landscape import Landscape
from tests.support.applications import acknowledge
from tests.support.reports import Json, requested, run_check
from tests.support.site import Site, Work

SAMPLES = int(os.environ.get("JSDOCTOR_LOOKS", "2"))
"""Checks of each state; for the figures of a release, 20."""
COMMON = ("QUEUE", "INTEREST", "ORIGIN", "KV_plain")
PATIENCE_S = 30.0
"""For each request: whether the machine of a test is busy is no property of the deployment."""
PACES = ((2, 2.0), (2, 0.5), (3, 1.0), (2, 5.0), (1, 1.0))
"""Samples, and the seconds between them."""
_AT_ONCE = 4
_CONNECT_S = 10


# Habits


@dataclass
class Habit:
    """One habit: how it is set up, what goes on while jsdoctor looks, and the first version that has it."""

    name: str
    furnish: Work
    busy: tuple[Work, ...] = ()
    since: tuple[int, int] = (2, 10)
    apart: bool = False
    """Whether only some deployments have what it needs."""

    @property
    def table(self) -> str:
        """Its module."""
        return self.furnish.__module__.rpartition(".")[2]

    def fits(self, version: str) -> bool:
        """Whether that version has what the habit needs."""
        return _release(version) >= self.since


_HABITS: list[Habit] = []


def habit(name: str, *busy: Work, **options: Any) -> Callable[[Work], Work]:
    """Register a habit. `options` are the last fields of `Habit`."""

    def register(furnish: Work) -> Work:
        _HABITS.append(Habit(name, furnish, busy, **options))
        return furnish

    return register


def habits() -> list[Habit]:
    """All habits."""
    _load()
    return _HABITS


def of_habits(*names: str) -> list[Habit]:
    """The habits of those names."""
    chosen = [one_of for one_of in habits() if one_of.name in names]
    assert len(chosen) == len(set(names)), names
    return chosen


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def _load() -> None:
    for module in pkgutil.iter_modules(tests.healthy.__path__):
        if module.name != "frame" and not module.name.startswith("test_"):
            importlib.import_module(f"tests.healthy.{module.name}")


async def furnish(url: str, servers: int, chosen: list[Habit], **login: Any) -> None:
    """Set the habits up."""
    client = await nats.connect(url.split(","), connect_timeout=_CONNECT_S, **login)
    try:
        for one_of in chosen:
            await one_of.furnish(Site(client, servers))
    finally:
        await client.close()


@contextlib.asynccontextmanager
async def at_work(url: str, servers: int, chosen: list[Habit], **login: Any) -> AsyncIterator[Callable[[], Any]]:
    """The clients of the habits work until what is yielded is awaited; subscribers stay for the whole context."""
    client = await nats.connect(url.split(","), connect_timeout=_CONNECT_S, **login)
    site = Site(client, servers)
    for one_of in chosen:
        for work in one_of.busy:
            site.background(work(site))
    try:
        # Subscribers of what `furnish` left behind: consumers that push have their clients, busy and idle.
        for subject, queue in (("deliver.acknone", ""), ("deliver.ackall", ""), ("deliver.group", "workers")):
            await client.subscribe(subject, queue=queue, cb=acknowledge)
        await asyncio.sleep(3)
        yield site.rest
    finally:
        await site.rest()
        await client.close()


# Deployments

Login = dict[str, Any]
"""What `jsdoctor.check` takes to look at a deployment."""


@dataclass
class Applications:
    """Clients that work with one account of a deployment."""

    url: str
    replicas: int = 1
    habits: tuple[str, ...] = COMMON
    login: dict[str, Any] = field(default_factory=dict)


@dataclass
class Setting:
    """A deployment that has been started."""

    applications: list[Applications]
    logins: list[Login]


Build = Callable[[Landscape], Setting]


@dataclass
class State:
    """One healthy deployment and the first version that has what it needs."""

    build: Build
    since: tuple[int, int] = (2, 10)

    def fits(self, version: str) -> bool:
        """Whether that version has what it needs."""
        return _release(version) >= self.since


_STATES: list[State] = []


def state(since: tuple[int, int] = (2, 10)) -> Callable[[Build], Build]:
    """Register a deployment."""

    def register(build: Build) -> Build:
        _STATES.append(State(build, since))
        return build

    return register


def states() -> list[State]:
    """All deployments."""
    _load()
    return _STATES


def connects(url: str, **options: Any) -> Login:
    """A client connection."""
    return {"deployment": ConnectionOptions(server=url, no_context=True, timeout=PATIENCE_S, **options)}


def monitors(land: Landscape, *keys: str) -> Login:
    """The monitoring ports of those servers."""
    patient = ConnectionOptions(no_context=True, timeout=PATIENCE_S)
    return {"deployment": patient, "monitor": [land.node(key).monitor_url for key in keys]}


def usual(land: Landscape, keys: list[str], habits: tuple[str, ...] = COMMON, replicas: int = 0) -> Setting:
    """Applications of the account APP, and all three kinds of access to these servers."""
    working = Applications(land.url(*keys), replicas or min(3, len(keys)), habits)
    logins = [connects(land.url(*keys, user="sys")), connects(land.url(*keys)), monitors(land, *keys)]
    return Setting([working], logins)


def at_the_hub(land: Landscape, *sites: str) -> Setting:
    """Applications at the hub; looks from the hub, and from each of the sites."""
    setting = usual(land, HUB)
    setting.logins += [connects(land.url(site, user=user)) for site in sites for user in ("sys", "app")]
    return setting


# What is reported


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
    for _ in range(times):
        code, report = run_check("--server", url, *options)
        problems += loud(report) or ([] if code == 0 else [f"exit {code}"])
    return problems


async def while_busy(url: str, servers: int, chosen: list[Habit], login: str, *options: str, **who: Any) -> list[str]:
    """What is wrong while the clients of the habits work."""
    async with at_work(url, servers, chosen, **who) as rest:
        problems = await asyncio.to_thread(problems_of, login, *options)
        await rest()
        return problems


def glances(logins: list[Login], times: int = SAMPLES) -> list[str]:
    """What so many checks report: every login in turn, with samples at several distances.

    Several run at a time in this process, as where a team and its pipelines run them.
    """
    planned = itertools.islice(itertools.cycle(itertools.product(PACES, logins)), times)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        done = [pool.submit(_glance, login, *pace) for pace, login in planned]
        return [problem for future in done for problem in future.result()]


def _glance(login: Login, samples: int, interval_s: float) -> list[str]:
    """What one check reports: at warning or above, failed checks, gaps, no connection."""
    result = jsdoctor.check(**login, samples=samples, interval=interval_s)
    problems = [f"no connection: {result.problem}"] if result.problem else loud(result.document)
    access = login["monitor"] if "monitor" in login else login["deployment"].server
    return [f"{samples} samples, {interval_s:g} s apart, {access}: {problem}" for problem in problems]
