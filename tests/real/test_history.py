"""`--history`: what only shows over a longer time, from bundles of a real deployment."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import nats
import pytest

from jsdoctor.model.problems import UsageProblem
from jsdoctor.sources.bundle.read import MAX_BUNDLES, read_history, thinned
from tests.clients.mqtt import mqtt_session
from tests.servers import VERSIONS, Cluster, ClusterFactory
from tests.servers.deployments import single
from tests.servers.landscape import Landscape
from tests.support.deployment import HOUR_NS, add_consumer, add_stream, api
from tests.support.reports import failures, failures_of, run_capture, run_check
from tests.support.site import Site

pytestmark = pytest.mark.real

BOUNDS = {"max_age": 72 * HOUR_NS, "max_bytes": 64 << 20}


FEW = ("--set=JSD402.min_pending=100", "--set=JSD402.burst=0s")


def with_site(cluster: Cluster, version: str, work: object) -> None:
    async def run() -> None:
        client = await nats.connect(cluster.servers("app"))
        try:
            await work(Site.of(cluster, version, client))  # type: ignore[operator]
        finally:
            await client.close()

    asyncio.run(run())


async def furnish(site: Site) -> None:
    for name in ("LAGS", "LOSES", "REMADE", "KEPT", "FORGETS"):
        limits = {"max_msgs": 400} if name == "LOSES" else {}
        await add_stream(site.client, name, subjects=[name.lower()], num_replicas=site.replicas, **BOUNDS, **limits)
        await add_consumer(site.client, name, "worker", max_ack_pending=20)
    await site.fill("kept", 10)
    await site.fill("remade", 10)
    await step(site)


async def step(site: Site) -> None:
    """Far more comes in than is worked off."""
    for name in ("LAGS", "LOSES"):
        await site.fill(name.lower(), 120)
        assert await site.fetch(name, "worker", 5) == 5


async def change(site: Site) -> None:
    await step(site)
    await api(site.client, "CONSUMER.DELETE.FORGETS.worker")
    await api(site.client, "STREAM.DELETE.REMADE")
    await add_stream(site.client, "REMADE", subjects=["remade"], num_replicas=site.replicas, **BOUNDS)


@pytest.mark.parametrize("server_version", VERSIONS)
@pytest.mark.parametrize("nodes", [1, pytest.param(3, marks=pytest.mark.nightly)])
def test_earlier_bundles_are_earlier_samples(
    cluster_factory: ClusterFactory, server_version: str, nodes: int, tmp_path: Path
) -> None:
    cluster = cluster_factory(server_version, nodes=nodes)
    earlier = tmp_path / "bundles"
    earlier.mkdir()
    with_site(cluster, server_version, furnish)
    run_capture(earlier / "b.zip", "--samples=1", "--server", cluster.url("sys"))
    with_site(cluster, server_version, step)
    run_capture(earlier / "a.zip", "--samples=1", "--server", cluster.url("sys"))
    with_site(cluster, server_version, change)

    arguments = ("--server", cluster.url("sys"), "--interval=1s", "--select=JSD402,JSD411,JSD413,JSD203,JSD204", *FEW)
    _, without = run_check(*arguments)
    expected = {
        "APP/LAGS/worker": {"JSD402": "warning"},
        "APP/LOSES/worker": {"JSD402": "warning", "JSD413": "error"},
        "APP/FORGETS/worker": {"JSD411": "warning"},
        "APP/REMADE": {"JSD203": "warning"},
        "APP/KEPT": {},
        "APP/KEPT/worker": {},
    }
    assert {name: failures(without, name) for name in expected} == {name: {} for name in expected}
    _, report = run_check(*arguments, "--history", str(earlier))
    reported = {name: failures(report, name) for name in expected}
    # It has messages and no client, which is information as soon as the samples span long enough.
    assert reported["APP/KEPT/worker"].pop("JSD405", "info") == "info"
    assert reported == expected
    messages = {(r["code"], r["subject"].get("stream")): r["message"] for r in report["results"]}
    assert "3 looks in" in messages["JSD402", "LAGS"]
    assert ": 115, 230, 345 not done" in messages["JSD402", "LAGS"]
    assert "max_msgs leaves room for 400 messages" in messages["JSD413", "LOSES"]
    assert {source["name"] for source in report["sources"] if source["kind"] == "bundle"} == {
        str(earlier / name) for name in ("a.zip", "b.zip")
    }

    if nodes == 1:
        return
    # The last look may be a bundle, too; what is in the directory and not older than it does not count.
    newest = earlier / "now.zip"
    run_capture(newest, "--samples=1", "--server", cluster.url("sys"))
    _, captured = run_check("--bundle", str(newest), *arguments[-2:], "--history", str(earlier))
    reported = {name: failures(captured, name) for name in expected}
    assert reported["APP/KEPT/worker"].pop("JSD405", "info") == "info"
    assert reported == expected


@pytest.mark.parametrize("directory", ["missing", "empty"])
def test_a_directory_without_bundles_is_a_mistake(directory: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageProblem):
        read_history(tmp_path / directory, datetime.now(UTC))


def test_of_many_bundles_the_first_and_the_last_are_read() -> None:
    paths = [Path(f"{number}.zip") for number in range(1_000)]
    assert thinned(paths[:MAX_BUNDLES]) == paths[:MAX_BUNDLES]
    few = thinned(paths)
    assert (len(set(few)), few[0], few[-1]) == (MAX_BUNDLES, paths[0], paths[-1])


async def acknowledge(site: Site) -> None:
    """A consumer in memory, one on disk, and one that acknowledges nothing: all messages are done."""
    memory = {"mem_storage": True, "num_replicas": 1}
    for name, ack_policy, more in (("MEMORY", "explicit", memory), ("DISK", "explicit", {}), ("NONE", "none", memory)):
        await site.stream(name)
        await site.consumer(name, "worker", ack_policy=ack_policy, **more)
        await site.publish(f"{name.lower()}.x", 10)
        assert await site.fetch(name, "worker", 10, ack=ack_policy == "explicit") == 10


@pytest.mark.nightly
@pytest.mark.parametrize("server_version", VERSIONS)
def test_a_consumer_that_goes_back(cluster_factory: ClusterFactory, server_version: str, tmp_path: Path) -> None:
    """In a cluster, a consumer in memory begins at its start with its server, and keeps its date of creation."""
    cluster = cluster_factory(server_version, nodes=3)
    with_site(cluster, server_version, acknowledge)
    (tmp_path / "bundles").mkdir()
    run_capture(tmp_path / "bundles" / "a.zip", "--samples=1", "--server", cluster.url("sys"))
    arguments = ("--server", cluster.url("sys"), "--select=JSD210", "--history", str(tmp_path / "bundles"))
    assert failures_of(run_check(*arguments)[1], "JSD210") == {}
    for name in cluster.names:
        cluster.stop(name)
        cluster.start(name)
        cluster.wait_ready()
    _, report = run_check(*arguments, "--set=JSD210.settle=0s")
    assert failures_of(report, "JSD210") == {"APP/MEMORY/worker": "warning"}
    (message,) = [result["message"] for result in report["results"] if result["outcome"] == "fail"]
    assert "all up to message 10 was acknowledged, and now all up to 0: up to 10 messages come again" in message
    assert "its state was in the memory of" in message
    with_site(cluster, server_version, work_again)
    assert failures_of(run_check(*arguments, "--set=JSD210.settle=0s")[1], "JSD210") == {}


async def work_again(site: Site) -> None:
    assert await site.fetch("MEMORY", "worker", 10) == 10


def test_a_consumer_that_was_reset_is_information(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    cluster = cluster_factory(nodes=1)
    with_site(cluster, VERSIONS[-1], acknowledge)
    (tmp_path / "bundles").mkdir()
    run_capture(tmp_path / "bundles" / "a.zip", "--samples=1", "--server", cluster.url("app"))

    async def reset(site: Site) -> None:
        await site.api("CONSUMER.RESET.DISK.worker", {"seq": 4})

    with_site(cluster, VERSIONS[-1], reset)
    history = ("--select=JSD210", "--history", str(tmp_path / "bundles"))
    for user in ("sys", "app"):
        _, report = run_check("--server", cluster.url(user), *history)
        assert failures_of(report, "JSD210") == {"APP/DISK/worker": "info"}
        assert "a client reset it, or" in next(r["message"] for r in report["results"] if r["outcome"] == "fail")


@pytest.mark.parametrize("server_version", VERSIONS)
def test_sessions_that_mqtt_clients_leave_behind(server_version: str, tmp_path: Path) -> None:
    """Each connects with a new client ID; a device that returns with its own leaves nothing."""
    (tmp_path / "bundles").mkdir()
    with Landscape(tmp_path / "servers", server_version) as land:
        port = land.port("mqtt")
        single(land, f'mqtt {{ listen: "127.0.0.1:{port}" }}\n')
        land.keep(mqtt_session(port, subscribe=True))

        def judged(client_id: str) -> dict[str, str]:
            for looks in range(3):
                for number in range(6):
                    mqtt_session(port, subscribe=True, client_id=client_id.format(number, looks)).close()
                if looks < 2:
                    bundle = tmp_path / "bundles" / f"{client_id[:4]}{looks}.zip"
                    run_capture(bundle, "--samples=1", "--server", land.url(user="sys"))
            history = ("--history", str(tmp_path / "bundles"), "--select=JSD420", "--set=JSD420.many=10")
            return failures_of(run_check("--server", land.url(user="sys"), *history)[1], "JSD420")

        assert judged("same-{0}") == {}
        for bundle in (tmp_path / "bundles").iterdir():
            bundle.unlink()
        assert judged("new-{0}-{1}") == {"APP/$MQTT_msgs": "warning"}
