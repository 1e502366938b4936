"""Every planted fault is what `jsdoctor diagnose` confirms for the symptoms that it makes; of an outage, what broke."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client

from jsdoctor.cli.app import run
from tests.diagnosis.book import book
from tests.diagnosis.run import Json, confirmed, diagnosed, with_verdict
from tests.faults.planting import TOPOLOGIES, Fault, at_once
from tests.servers import DEFAULT_VERSION, VERSIONS, Cluster, ClusterFactory, wait_until
from tests.support.deployment import add_stream, api
from tests.support.once import once
from tests.support.outage import peers_of, with_client
from tests.support.site import Site
from tests.support.stored import store, store_again

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("diagnose")]


ONLY_POSSIBLE = {"perhaps_removed_before_delivery"}
"""Faults that no evidence of a deployment can prove."""
IN_CI = {"slots_taken", "nobody_subscribed", "full", "shortest_window"}


@dataclass(frozen=True)
class Scenario:
    """A fault, and a symptom that it makes."""

    version: str
    topology: str
    plant: Fault
    symptom: str

    @property
    def narrowing(self) -> list[str]:
        """The options that name what the fault is on."""
        _, stream, *consumer = self.plant.subject.split("/")
        return ["--stream", stream, *(("--consumer", consumer[0]) if consumer else ())]


def scenarios() -> list[Any]:
    made = [
        Scenario(version, topology, plant, symptom.slug)
        for version in VERSIONS
        for topology in TOPOLOGIES
        for plant in at_once()
        if plant.fits(version, topology)
        for symptom in book().caused_by(plant.code)
    ]
    return [
        pytest.param(
            scenario,
            id=f"{scenario.version}-{scenario.topology}-{scenario.plant.work.__name__}-{scenario.symptom}",
            marks=marks(scenario),
        )
        for scenario in made
    ]


def marks(scenario: Scenario) -> Any:
    quick = scenario.version == DEFAULT_VERSION and scenario.topology == "one-node"
    return () if quick and scenario.plant.work.__name__ in IN_CI else pytest.mark.nightly


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> object:
    """What was captured of a deployment with faults in it, once for each version, topology and choice of faults."""

    @once
    def captured(version: str, topology: str, few: bool) -> Path:
        home = tmp_path_factory.mktemp("captured")
        fitting = [plant for plant in at_once() if plant.fits(version, topology)]
        chosen = [plant for plant in fitting if not few or plant.work.__name__ in IN_CI]
        with Cluster.launch(home, version, TOPOLOGIES[topology]) as cluster:
            asyncio.run(capture(cluster, version, chosen, home / "captured.zip"))
        return home / "captured.zip"

    return captured


async def capture(cluster: Cluster, version: str, plants: list[Fault], path: Path) -> None:
    client = await nats.connect(cluster.servers("app"))
    site = Site.of(cluster, version, client)
    try:
        await asyncio.gather(*(plant.work(site) for plant in plants))
        arguments = ["capture", "-o", str(path), "--server", cluster.url("sys"), "--interval", "3s", "-q", "--isolated"]
        await asyncio.to_thread(run, arguments)
    finally:
        await site.rest()
        await client.close()


@pytest.mark.parametrize("scenario", scenarios())
def test_the_cause_is_confirmed_and_no_other(bundles, tmp_path: Path, scenario: Scenario) -> None:  # type: ignore[no-untyped-def]
    bundle = bundles(scenario.version, scenario.topology, marks(scenario) == ())
    code, document = diagnosed(tmp_path, "--symptom", scenario.symptom, "--bundle", str(bundle), *scenario.narrowing)
    confirmed_causes, possible = confirmed(document), with_verdict(document, "undecided")
    explained = with_verdict(document, "explained")
    assert scenario.plant.code not in with_verdict(document, "ruled_out"), document["causes"]
    if scenario.plant.work.__name__ in ONLY_POSSIBLE:
        assert (confirmed_causes, code) == ({}, 3)
        assert possible[scenario.plant.code].startswith("possible: ")
    else:
        # A cause that follows from another confirmed one is there, and no cause of its own.
        assert scenario.plant.code in {**confirmed_causes, **explained}, document["causes"]
        assert set(confirmed_causes) <= {scenario.plant.code} | scenario.plant.also, confirmed_causes
        assert code == 1
    assert with_verdict(document, "ruled_out")
    assert all(cause["next_step"] for cause in document["causes"] if cause["verdict"] == "undecided")


def about(directory: Path, cluster: Cluster, symptom: str, *arguments: str) -> tuple[int, Json]:
    return diagnosed(directory, "--symptom", symptom, "-s", cluster.url("sys"), *arguments)


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_servers_away(cluster_factory: ClusterFactory, tmp_path: Path, version: str) -> None:
    """Two of three servers killed: the stream has no leader *because* of that, and only that is the cause."""
    cluster = cluster_factory(version, 3)

    async def furnish(client: Client) -> None:
        await add_stream(client, "DOWN", subjects=["down"], num_replicas=3, max_bytes=1 << 20)
        await store(client, "down")

    with_client(cluster, furnish)
    for name in cluster.names[1:]:
        cluster.kill(name)
    wait_until(lambda: not peers_of(cluster, "DOWN"), "the stream to lose its leader", timeout=60)
    wait_until(lambda: not cluster.monitor("n1", "/jsz")["meta_cluster"].get("leader"), "no meta leader", timeout=60)
    wait_until(lambda: confirmed(about(tmp_path, cluster, "stream-offline")[1]), "something to be sure of", timeout=60)
    for symptom in ("stream-offline", "no-responders"):
        code, document = about(tmp_path, cluster, symptom, "--stream", "DOWN")
        assert code == 1
        stream = next(cause for cause in document["causes"] if cause["code"] == "JSD702")
        assert stream["verdict"] == "explained" if "JSD701" in confirmed(document) else "confirmed", stream
        assert "of its members 1 can be reached, 2 are needed" in stream["message"]


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_duplicates_beyond_the_window(cluster_factory: ClusterFactory, tmp_path: Path, version: str) -> None:
    """The stream that is meant is scanned unasked. The window is the cause, the stored pairs are its proof."""
    cluster = cluster_factory(version, 1)

    async def twice(client: Client) -> Any:
        settings = {"max_age": 3_600_000_000_000, "max_bytes": 1 << 20}
        await add_stream(client, "TWICE", subjects=["twice"], duplicate_window=100_000_000, **settings)
        await store(client, "twice", "same")
        await store_again(client, "twice", "same")
        return await api(client, "STREAM.INFO.TWICE")

    assert with_client(cluster, twice)["state"]["messages"] == 2
    there = ("duplicate orders since the restart", "-s", cluster.url("app"), "--stream", "TWICE")
    code, document = diagnosed(tmp_path, *there)
    assert (code, document["symptom"], list(confirmed(document))) == (1, "duplicate-messages", ["JSD301"])
    proof = next(cause for cause in document["causes"] if cause["code"] == "JSD305")
    assert proof["message"].startswith("explained by JSD301 (")
