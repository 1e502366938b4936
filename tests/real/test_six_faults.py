"""Six faults on a cluster of three, in each pair and all together: each is named with its own cause."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from nats.aio.client import Client

from tests.cli.invoke import jsdoctor
from tests.real.contexts import contexts
from tests.real.fixing import info_of, with_client
from tests.real.test_printed_logins import run_all
from tests.servers import DEFAULT_VERSION, VERSIONS, Cluster, ClusterFactory, wait_until
from tests.support.deployment import Json, add_consumer, add_stream, api

pytestmark = pytest.mark.real

SECOND_NS = 1_000_000_000
SMALL: dict[str, Any] = {"max_bytes": 1 << 20, "max_age": 3600 * SECOND_NS}
DEAD = "dead server"
"""Stands for the server on which AUDIT was placed."""


async def only_copy(client: Client) -> None:
    """AUDIT has its only copy on the server that will be killed."""
    await add_stream(client, "AUDIT", subjects=["audit"], num_replicas=1, **SMALL)


async def dead_worker(client: Client) -> None:
    await add_stream(client, "ORDERS", subjects=["orders"], num_replicas=3, **SMALL)
    await add_consumer(client, "ORDERS", "billing", max_ack_pending=50, ack_wait=SECOND_NS)
    for _ in range(400):
        await client.publish("orders", b"x")
    await client.flush()
    subscription = await client.jetstream().pull_subscribe_bind("billing", "ORDERS")
    held = 0
    while held < 50:
        held += len(await subscription.fetch(50 - held, timeout=10))
    await subscription.unsubscribe()


async def subject_nobody_takes(client: Client) -> None:
    await add_stream(client, "JOBS", subjects=["jobs.*"], num_replicas=3, retention="workqueue", **SMALL)
    await add_consumer(client, "JOBS", "mailer", filter_subject="jobs.mail")
    for _ in range(5):
        await client.request("jobs.print", b"x", timeout=10)


async def full(client: Client) -> None:
    await add_stream(client, "PAYMENTS", subjects=["payments"], num_replicas=3, max_msgs=10, discard="new", **SMALL)
    for _ in range(10):
        await client.request("payments", b"x", timeout=10)


async def origin_deleted(client: Client) -> None:
    await add_stream(client, "ORIGIN", subjects=["origin"], num_replicas=3, **SMALL)
    await client.request("origin", b"x", timeout=10)
    await api(client, "STREAM.CREATE.COPY", {"name": "COPY", "mirror": {"name": "ORIGIN"}, "num_replicas": 3, **SMALL})
    for _ in range(100):
        if (await api(client, "STREAM.INFO.COPY"))["state"]["messages"]:
            break
        await asyncio.sleep(0.1)
    await api(client, "STREAM.DELETE.ORIGIN")


async def short_window(client: Client) -> None:
    window = {"duplicate_window": SECOND_NS // 10}
    await add_stream(client, "EVENTS", subjects=["events"], num_replicas=3, **SMALL, **window)
    for _ in range(2):
        for number in range(20):
            await client.request("events", b"x", headers={"Nats-Msg-Id": f"id-{number}"}, timeout=10)
        await asyncio.sleep(0.5)


class Fault(NamedTuple):
    """How it is made, the finding that names it, and words of its message."""

    plant: Callable[[Client], Awaitable[None]]
    code: str
    subject: str
    words: str = ""


FAULTS = {
    DEAD: Fault(only_copy, "JSD703", "", "has not been seen"),
    "dead worker": Fault(dead_worker, "JSD403", "APP/ORDERS/billing", "no worker requesting more"),
    "unclaimed subject": Fault(subject_nobody_takes, "JSD604", "APP/JOBS", "no consumer's filter matches them"),
    "full stream": Fault(full, "JSD603", "APP/PAYMENTS", "10 of 10 messages"),
    "deleted origin": Fault(origin_deleted, "JSD607", "APP/COPY", "deleted or never there"),
    "short window": Fault(short_window, "JSD301", "APP/EVENTS"),
}
PAIRS = sorted(combinations(FAULTS, 2), key=lambda pair: DEAD in pair)


@pytest.fixture(params=[pytest.param(v, marks=() if v == DEFAULT_VERSION else pytest.mark.nightly) for v in VERSIONS])
def cluster(request: pytest.FixtureRequest, cluster_factory: ClusterFactory) -> Cluster:
    return cluster_factory(request.param, 3)


async def _clear(client: Client) -> None:
    for name in (await api(client, "STREAM.NAMES"))["streams"] or ():
        await api(client, f"STREAM.DELETE.{name}")


def _subject(result: Json) -> str:
    subject = result["subject"]
    return "/".join(subject[part] for part in ("account", "stream", "name") if subject.get(part))


def _judged(cluster: Cluster, directory: Path) -> tuple[list[Json], dict[str, Json]]:
    """The incidents of a check with both logins, and the findings by their fingerprints."""
    options = ("--samples", "3", "--interval", "1s", "--scan", "EVENTS:100", "--format", "json", "--isolated")
    with contexts(cluster, "sys", "app", at=directory / "config") as where:
        done = jsdoctor("check", *where, *options, cwd=directory, timeout=180)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    return report["incidents"], {result["fingerprint"]: result for result in report["results"]}


def _complaints(chosen: Mapping[str, str], incidents: list[Json], findings: dict[str, Json]) -> Iterator[str]:
    """What is wrong about a report of these faults, given with the subject of each."""
    causes = {(cause["code"], _subject(cause)): cause for incident in incidents for cause in incident["causes"]}
    for name, subject in chosen.items():
        cause = causes.get((FAULTS[name].code, subject))
        if cause is None:
            yield f"{name} is no cause of its own"
        elif FAULTS[name].words not in (message := findings[cause["fingerprint"]]["message"]):
            yield f"{name}: {message}"
    if DEAD not in chosen:
        return
    first, consequences = incidents[0]["causes"][0], incidents[0]["consequences"]
    if (first["code"], _subject(first)) != ("JSD703", chosen[DEAD]):
        yield f"{first['code']} {_subject(first)} is first"
    explained = {_subject(each) for each in consequences}
    if "APP/AUDIT" not in explained:
        yield "the dead server does not explain AUDIT"
    if wrong := explained & {subject for name, subject in chosen.items() if name != DEAD}:
        yield f"the dead server explains {wrong}"


def test_all_together(cluster: Cluster, tmp_path: Path, nats_cli: Path) -> None:
    """The commands of the report work then, and once more when they and the start of the server have fixed things."""
    commands: list[str] = []

    def while_faulty() -> None:
        _, findings = _judged(cluster, tmp_path)
        remedies = [result["remedy"] for result in findings.values() if result["remedy"]]
        printed = [c for remedy in remedies for c in remedy["commands"] if not remedy["logins"].get(c)]
        commands[:] = dict.fromkeys(c for c in printed if c.startswith("nats ") and " events " not in c)
        assert len(commands) >= 6, printed
        run_all(nats_cli, tmp_path, commands)

    when_back = partial(run_all, nats_cli, tmp_path, commands)
    _each_has_its_own_cause(cluster, tmp_path, tuple(FAULTS), while_faulty, when_back)


@pytest.mark.nightly
def test_in_pairs(cluster: Cluster, tmp_path: Path) -> None:
    """Those without the dead server first."""
    for chosen in PAIRS:
        _each_has_its_own_cause(cluster, tmp_path, chosen)


def _each_has_its_own_cause(
    cluster: Cluster,
    directory: Path,
    chosen: tuple[str, ...],
    while_faulty: Callable[[], None] = lambda: None,
    when_back: Callable[[], None] = lambda: None,
) -> None:
    with_client(cluster, partial(_plant, chosen=chosen))
    subjects = {name: FAULTS[name].subject for name in chosen}
    if DEAD in chosen:
        victim = subjects[DEAD] = info_of(cluster, "AUDIT")["cluster"]["leader"]
        cluster.kill(victim)
        wait_until(lambda: cluster.meta_leader() not in (None, victim), "another meta leader", timeout=60)
    assert _settled(cluster, directory, subjects) == [], chosen
    while_faulty()
    if DEAD in chosen:
        cluster.start(subjects[DEAD])
        cluster.wait_ready()
    when_back()
    with_client(cluster, _clear)


def _settled(cluster: Cluster, directory: Path, chosen: Mapping[str, str]) -> list[str]:
    """What is wrong once elections and the first silence of a server are over."""
    complaints: list[str] = []
    for _ in range(15):
        complaints = list(_complaints(chosen, *_judged(cluster, directory)))
        if not complaints:
            break
    return complaints


async def _plant(client: Client, chosen: tuple[str, ...]) -> None:
    for name in chosen:
        await FAULTS[name].plant(client)
    await asyncio.sleep(1)
