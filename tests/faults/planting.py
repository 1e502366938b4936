"""The tables of faults, and how they are judged: the rule that must name each fault is declared with it.

A fault is made in one of two places. A coroutine plants it on streams of its own, so that all of them fit beside each
other on one deployment; what is given after the subject goes on meanwhile. A cure takes the fault away again:

    @fault("JSD603", "APP/P603", severity="error", cure=lambda site: site.api("STREAM.PURGE.P603"))
    async def full(site: Site) -> None: ...

A function plants it in servers of its own, and returns the login or the monitoring port to judge them by:

    @fault("JSD803", "n3")
    def jetstream_switched_off_on_one_server(land: Landscape) -> str: ...

`test_faults.py` plants them all.
"""

import asyncio
import importlib
import inspect
import pkgutil
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nats

import tests.faults
from tests.servers import Cluster
from tests.servers.landscape import Landscape
from tests.support.reports import Json, label, run_check
from tests.support.site import Site, Work

TOPOLOGIES = {"one-node": 1, "three-nodes": 3}
SETTLE_S = 35
"""Past the default `idle_for` of rules that judge activity."""
_ROOM = "max_memory_store: 256M\n  max_file_store: 8G"


@dataclass
class Fault:
    """One fault: the rule that must name it, and the label of the subject, joined by slashes.

    A subject that ends in a slash is any below it; an empty one is any, as of the log of an application.
    """

    code: str
    subject: str
    work: Callable[[Any], Any]
    busy: tuple[Work, ...] = ()
    severity: str = ""
    """Where it is declared, no other rule may report the subject at warning or above but those in `also`."""
    also: frozenset[str] = frozenset()
    mentions: str = ""
    """What the message contains, where the subject alone does not tell which fault it is about."""
    since: tuple[int, int] = (2, 10)
    before: tuple[int, int] = (99, 0)
    topologies: tuple[str, ...] = tuple(TOPOLOGIES)
    blurred: bool = False
    """Clusters of versions that count removals among the errors of the API do not show it."""
    options: tuple[str, ...] = ()
    """More options of the check, which must not matter to the other faults of the deployment."""
    config: str = ""
    """More configuration of the servers, likewise."""
    logs: bool = False
    """Whether the logs of the servers are judged as well."""
    always: bool = False
    """Whether `make test` plants it, although it has servers of its own."""
    cure: Callable[[Site], Awaitable[Any]] | None = None
    """How the fault is taken away."""

    def cured_by(self, work: Work) -> Work:
        """Decorator: a cure of several lines."""
        self.cure = work
        return work

    @property
    def alone(self) -> bool:
        """Whether it has servers of its own."""
        return not inspect.iscoroutinefunction(self.work)

    @property
    def table(self) -> str:
        """Its failure mode."""
        return self.work.__module__.rpartition(".")[2]

    @property
    def prompt(self) -> bool:
        """Whether it shows at once, beside all others that do; the others need time to show that they last."""
        return bool(self.severity)

    def fits(self, version: str, topology: str = "one-node") -> bool:
        """Whether this fault can be made there."""
        release = tuple(int(part) for part in version.split(".")[:2])
        shown = not (self.blurred and topology == "three-nodes" and (2, 11) <= release < (2, 15))
        return shown and topology in self.topologies and self.since <= release < self.before

    def named(self, results: Iterable[Json]) -> dict[str, str]:
        """The severities by which its rule reports it, by subject."""
        return {
            label(result["subject"]): result["severity"]
            for result in results
            if (result["code"], result["outcome"]) == (self.code, "fail")
            and self.mentions in result["message"]
            and (
                label(result["subject"]) == self.subject
                or (self.subject[-1:] in ("", "/") and label(result["subject"]).startswith(self.subject))
            )
        }


FAULTS: list[Fault] = []


def fault(code: str, subject: str, *busy: Work, **options: Any) -> Callable[[Callable[[Any], Any]], Fault]:
    """Register a fault. `options` are the other fields of `Fault`."""

    def register(work: Callable[[Any], Any]) -> Fault:
        planted = Fault(code, subject, work, busy, **{**options, "also": frozenset(options.get("also", ()))})
        FAULTS.append(planted)
        return planted

    return register


def at_once() -> list[Fault]:
    """The faults that show at once, on streams of their own."""
    return [planted for planted in _all() if planted.prompt and not planted.alone]


def lasting() -> list[Fault]:
    """The other faults on streams of their own."""
    return [planted for planted in _all() if not planted.prompt and not planted.alone]


def broken() -> list[Fault]:
    """The faults of servers of their own."""
    return [planted for planted in _all() if planted.alone]


def _all() -> list[Fault]:
    for module in pkgutil.iter_modules(tests.faults.__path__):
        if module.name != "planting" and not module.name.startswith("test_"):
            importlib.import_module(f"tests.faults.{module.name}")
    return FAULTS


@dataclass
class Visit:
    """The results of checks: with all faults planted, and after all cures."""

    sick: list[Json]
    cured: list[Json]


def visit(cluster: Cluster, version: str, faults: Sequence[Fault]) -> Visit:
    """Plant these faults beside each other, check, cure what can be cured, check again."""
    return asyncio.run(_visit(cluster, version, faults))


def deployment(directory: Path, version: str, topology: str, faults: Sequence[Fault]) -> Any:
    """The servers for a visit."""
    config = "".join(sorted({planted.config for planted in faults}))
    return Cluster.launch(directory, version, TOPOLOGIES[topology], jetstream=_ROOM, extra_config=config)


async def _visit(cluster: Cluster, version: str, faults: Sequence[Fault]) -> Visit:
    site = Site.of(cluster, version, await nats.connect(cluster.servers("app")))
    prompt = all(planted.prompt for planted in faults)
    options = [word for planted in faults for word in planted.options]
    try:
        await asyncio.gather(*(planted.work(site) for planted in faults))
        for planted in faults:
            for work in planted.busy:
                site.background(work(site))
        if not prompt:
            await asyncio.sleep(SETTLE_S)
            options += ["--samples", "3"]
        if site.logged:
            log = cluster.directory / "publisher.log"
            log.write_text("".join(f"{line}\n" for line in site.logged), "utf-8")
            options += ["--logs", str(log)]
        sick = await _results(cluster, ("sys",) if prompt else ("sys", "app"), "--interval", "3s", *options)
        await site.rest()
        await asyncio.gather(*(planted.cure(site) for planted in faults if planted.cure))
        cured = await _results(cluster, ("sys",)) if any(planted.cure for planted in faults) else []
    finally:
        await site.rest()
        await site.client.close()
    return Visit(sick, cured)


async def _results(cluster: Cluster, users: Sequence[str], *options: str) -> list[Json]:
    """What checks with the logins of those users report, at the same time."""
    checks = (asyncio.to_thread(run_check, "--server", cluster.url(user), *options) for user in users)
    return [result for _, report in await asyncio.gather(*checks) for result in report["results"]]


def report_on(directory: Path, version: str, planted: Fault) -> Json:
    """Build the servers of a fault below an empty directory and check them, with their logs if need be."""
    with Landscape(directory, version) as land:
        login = planted.work(land)
        access = "--monitor" if login.startswith("http") else "--server"
        logs = [f"--logs={path}" for path in directory.glob("*/*.log")] if planted.logs else []
        return run_check(access, login, *logs, *planted.options)[1]
