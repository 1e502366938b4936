"""The ward: a deployment with every fault of `plants_*.py` planted in it, and one check that must find them all.

A plant makes one fault on streams of its own (named after the rule), so that all of them fit beside each other on one
server; a cure takes it away again. A run of the ward costs two checks for all rules together.

    @plant("JSD403", "APP/P403/worker", severity="error")
    async def slots_taken(site: Site) -> None:
        await site.stream("P403", subjects=["p403"])
        ...

    @slots_taken.cure
    async def _(site: Site) -> None: ...
"""

from __future__ import annotations

import asyncio
import importlib
import json
import pkgutil
import subprocess
import sys
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import nats
from nats.aio.client import Client

import tests.real
from tests.servers import Cluster
from tests.support.deployment import HOUR_NS, add_consumer, add_stream, api
from tests.support.stored import publish
from tests.support.warm import jsdoctor_again

Json = dict[str, Any]
Work = Callable[["Site"], Awaitable[None]]
TOPOLOGIES = {"one-node": 1, "three-nodes": 3}


class Site:
    """Where a plant works: a client of account APP, the cluster, and tasks that run while the check looks."""

    def __init__(self, cluster: Cluster, version: str, client: Client) -> None:
        self.cluster, self.version, self.client = cluster, version, client
        self.replicas = min(3, len(cluster.names))
        self._tasks: list[asyncio.Task[None]] = []
        self.stopping = False

    async def stream(self, name: str, **config: Any) -> Json:
        """A stream that is healthy but for what is given: bounded, replicated everywhere."""
        healthy = {"num_replicas": self.replicas, "max_age": 72 * HOUR_NS, "max_bytes": 8 << 20}
        return await add_stream(self.client, name, **{**healthy, **config})

    async def consumer(self, stream: str, name: str, **config: Any) -> Json:
        """A durable pull consumer with explicit acknowledgements but for what is given."""
        return await add_consumer(self.client, stream, name, **config)

    async def api(self, subject: str, body: Json | None = None) -> Json:
        """A JetStream API request."""
        return await api(self.client, subject, body)

    async def publish(self, subject: str, count: int, size: int = 64) -> None:
        """`count` messages, each answered before the next."""
        for _ in range(count):
            await publish(self.client, subject, b"x" * size)

    async def fill(self, subject: str, count: int, size: int = 8) -> None:
        """`count` messages, many at a time: a backlog of thousands in a second or two."""
        for start in range(0, count, 500):
            some = range(start, min(start + 500, count))
            await asyncio.gather(*(self.client.request(subject, b"x" * size, timeout=30) for _ in some))

    async def fetch(self, stream: str, consumer: str, count: int, ack: bool = True) -> int:
        """Fetch up to `count` messages; acknowledges them unless told otherwise. Returns how many came."""
        inbox = self.client.new_inbox()
        subscription = await self.client.subscribe(inbox)
        body = json.dumps({"batch": count, "expires": 2_000_000_000}).encode()
        await self.client.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", body, reply=inbox)
        got = 0
        try:
            while got < count:
                msg = await subscription.next_msg(timeout=5)
                if msg.headers and "Status" in msg.headers:
                    break
                got += 1
                if ack:
                    await self.client.request(msg.reply, b"+ACK", timeout=5)
        finally:
            await subscription.unsubscribe()
        return got

    def background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run until the first check is over. Loops should look at `site.stopping`."""
        self._tasks.append(asyncio.create_task(work))

    async def rest(self) -> None:
        """End all background work."""
        self.stopping = True
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()


@dataclass
class Plant:
    """One fault: the rule that must find it, on which subject, how bad, and which other rules may speak of it too."""

    code: str
    subject: str
    severity: str
    work: Work
    also: frozenset[str] = frozenset()
    topologies: tuple[str, ...] = tuple(TOPOLOGIES)
    since: tuple[int, int] = (2, 10)
    before: tuple[int, int] = (99, 0)
    heal: Work | None = field(default=None)

    def cure(self, work: Work) -> Work:
        """Decorator: how the fault is taken away."""
        self.heal = work
        return work

    def fits(self, version: str, topology: str) -> bool:
        """Whether this fault can be made there."""
        major, minor = (int(part) for part in version.split(".")[:2])
        return topology in self.topologies and self.since <= (major, minor) < self.before


PLANTS: list[Plant] = []
_TIMEOUT_S = 120


def plant(code: str, subject: str, severity: str, **options: Any) -> Callable[[Work], Plant]:
    """Register a fault. `subject` is the label of the finding, joined by slashes."""

    def register(work: Work) -> Plant:
        made = Plant(code, subject, severity, work, **{**options, "also": frozenset(options.get("also", ()))})
        PLANTS.append(made)
        return made

    return register


for module in pkgutil.iter_modules(tests.real.__path__):
    if module.name.startswith("plants_"):
        importlib.import_module(f"tests.real.{module.name}")


def run_check(*arguments: str, again: bool = False) -> tuple[int, Json]:
    """`jsdoctor check … --format json` as a user runs it: exit code and report. *again* saves the imports."""
    command = ["check", "--format", "json", *arguments]
    if again:
        done = jsdoctor_again(command, _TIMEOUT_S)
    else:
        command = [sys.executable, "-m", "jsdoctor", *command]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.stdout, f"exit {done.returncode}: {done.stderr}"
    return done.returncode, json.loads(done.stdout)


@dataclass
class Visit:
    """What two checks said: with all faults planted, and after all cures."""

    sick: Json
    cured: Json


def visit(cluster: Cluster, version: str, topology: str) -> Visit:
    """Plant everything that fits, check, cure everything, check again."""
    return asyncio.run(_visit(cluster, version, [plant for plant in PLANTS if plant.fits(version, topology)]))


async def _visit(cluster: Cluster, version: str, plants: list[Plant]) -> Visit:
    client = await nats.connect(cluster.servers("app"))
    site = Site(cluster, version, client)
    try:
        await asyncio.gather(*(plant.work(site) for plant in plants))
        _, sick = await asyncio.to_thread(run_check, "--server", cluster.url("sys"), "--interval", "3s")
        await site.rest()
        await asyncio.gather(*(plant.heal(site) for plant in plants if plant.heal))
        _, cured = await asyncio.to_thread(run_check, "--server", cluster.url("sys"))
    finally:
        await site.rest()
        await client.close()
    return Visit(sick, cured)


def failures(report: Json, subject: str) -> dict[str, str]:
    """Codes and severities of what failed on a subject (its label joined by slashes)."""
    return {
        result["code"]: result["severity"]
        for result in report["results"]
        if result["outcome"] == "fail" and _label(result["subject"]) == subject
    }


def _label(subject: Json) -> str:
    parts = [subject.get("account"), subject.get("stream"), subject.get("name")]
    return "/".join(part for part in parts if part) or str(subject["kind"])
