"""Every action of `fix` on real servers: the planted fault is planned for, mended, proved gone, and put back."""

import asyncio
import contextlib
import json
from pathlib import Path

import nats
import pytest

from tests.cli.invoke import jsdoctor
from tests.faults.planting import TOPOLOGIES, Fault, at_once
from tests.real.fixing import config_of, own, rollback
from tests.servers import VERSIONS, Cluster, ClusterFactory
from tests.support.deployment import Json
from tests.support.site import Site

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("fix")]

MENDED = {
    "P301": "stream.raise_duplicate_window",
    "P303": "stream.set_max_age",
    "P307": "stream.lower_duplicate_window",
    "P309": "stream.enable_deduplication",
    "P404/worker": "consumer.step_down",
    "P410/hasty": "consumer.raise_ack_wait",
    "P4100/backoff": "consumer.raise_ack_wait",
    "P414/fleeting": "consumer.raise_inactive_threshold",
    "P4140/paused": "consumer.resume",
    "P601": "stream.bound",
    "P602": "stream.raise_limits",
    "P603": "stream.set_discard",
    "P603_BYTES": "stream.raise_limits",
    "P605": "stream.set_replicas",
    "P605_EVEN": "stream.set_replicas",
    "P610": "stream.acknowledge",
    "P612": "stream.limit_message_size",
}
"""What mends the plant of that subject. One of each action that a rule's finding can ask for."""
PUBLISHED = {"p603", "p603_bytes"}
"""What is full: a step that makes room is verified by publishes that are stored again."""
CLUSTERED = {"P404/worker"}
"""What another server has to take over."""
CHOSEN = (
    *("--remedy", "JSD303=stream.set_max_age,max_age=10m,duplicate_window=2m"),
    *("--remedy", "JSD414@P4140/paused=consumer.resume"),
    *("--remedy", "JSD601=stream.bound,max_bytes=1048576"),
    *("--remedy", "JSD603@P603=stream.set_discard,discard=old"),
)
ALL = ("--allow", "disruptive", "--interval", "3s", "--patience", "90s")
CASES = [(version, topology) for version in VERSIONS for topology in TOPOLOGIES]


def fitting(version: str, topology: str) -> dict[str, Fault]:
    plants = {plant.subject.removeprefix("APP/"): plant for plant in at_once() if plant.fits(version, topology)}
    alone = TOPOLOGIES[topology] == 1
    return {name: plants[name] for name in MENDED if name in plants and not (alone and name in CLUSTERED)}


def configs(cluster: Cluster, names: list[str]) -> dict[str, Json]:
    return {name: own(config_of(cluster, *name.split("/"))) for name in names}


@pytest.mark.nightly
@pytest.mark.parametrize(("version", "topology"), CASES)
def test_every_fault_is_fixed_and_put_back(
    cluster_factory: ClusterFactory, tmp_path: Path, version: str, topology: str
) -> None:
    cluster = cluster_factory(version, TOPOLOGIES[topology])
    asyncio.run(_fix_all(cluster, tmp_path, version, fitting(version, topology)))


async def _fix_all(cluster: Cluster, cwd: Path, version: str, plants: dict[str, Fault]) -> None:
    client = await nats.connect(cluster.servers("app"))
    site = Site.of(cluster, version, client)
    codes = ",".join(sorted({plant.code for plant in plants.values()}))
    try:
        await asyncio.gather(*(plant.work(site) for plant in plants.values()))
        before = await asyncio.to_thread(configs, cluster, list(plants))
        for subject in PUBLISHED & {plant.subject.removeprefix("APP/").lower() for plant in plants.values()}:
            site.background(_trickle(site, subject.replace("_", ".")))
        if "P404/worker" in plants:
            site.background(_work(site, "P404", "worker"))
        await _until_all_are_planned(cluster, cwd, codes, set(plants))
        steps = await asyncio.to_thread(_run, cluster, cwd, codes)
        ended = {_name(step): (step["action"], step["ending"]) for step in steps if _name(step) in plants}
        assert ended == {name: (MENDED[name], "verified") for name in plants}, steps
        after = await asyncio.to_thread(configs, cluster, list(plants))
        moved = {name for name in plants if MENDED[name].endswith("step_down")}
        assert {name for name in plants if after[name] != before[name]} == set(plants) - moved
        await site.rest()
        done = await asyncio.to_thread(rollback, cluster, cwd)
        assert done.returncode == 0, done.stdout
        assert await asyncio.to_thread(configs, cluster, list(plants)) == before
    finally:
        await site.rest()
        await client.close()


async def _work(site: Site, stream: str, consumer: str) -> None:
    """A worker that acknowledges what it gets: deliveries that nobody acknowledges are no improvement."""
    while not site.stopping:
        with contextlib.suppress(nats.errors.Error, TimeoutError, AssertionError):
            await site.fetch(stream, consumer, 5)
        await asyncio.sleep(0.2)


async def _trickle(site: Site, subject: str) -> None:
    """A publisher so slow that twice the room lasts: a faster one fills it again, and the step is taken back."""
    while not site.stopping:
        await site.publish(subject, 1, 8)
        await asyncio.sleep(2)


async def _until_all_are_planned(cluster: Cluster, cwd: Path, codes: str, wanted: set[str]) -> None:
    """On a busy machine some faults show a little later."""
    where = ("--isolated", "--server", cluster.url("app"), "--interval", "3s", "--format", "json")
    planned: set[str] = set()
    for _ in range(10):
        done = await asyncio.to_thread(jsdoctor, "fix", "--select", codes, *CHOSEN, *where, cwd=cwd, timeout=240)
        planned = {_name(step) for step in json.loads(done.stdout)["steps"]}
        if wanted <= planned:
            return
    raise AssertionError(f"not planned for: {wanted - planned}")


def _run(cluster: Cluster, cwd: Path, codes: str) -> list[Json]:
    where = ("--isolated", "--server", cluster.url("app"), "--journal", "j.jsonl", "--format", "json")
    done = jsdoctor("fix", "--apply", "--yes", "--select", codes, *CHOSEN, *ALL, *where, cwd=cwd, timeout=900)
    assert done.stdout, done.stderr
    steps: list[Json] = json.loads(done.stdout)["steps"]
    return steps


def _name(step: Json) -> str:
    subject = step["subject"]
    return "/".join(part for part in (subject.get("stream"), subject.get("name")) if part)
