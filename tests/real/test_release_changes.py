"""What `preflight --target` announces, and what happens when the servers really run the other release."""

import json
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from tests.cli.invoke import jsdoctor
from tests.servers import Cluster, ClusterFactory, wait_until
from tests.servers.binaries import VERSIONS, server_binary
from tests.support.deployment import add_consumer, add_stream, api
from tests.support.outage import with_client

pytestmark = pytest.mark.real
Json = dict[str, Any]
GO, NO_GO = "go", "no_go"
DEFECTS = ("--accept", "defects")
"""Those of releases that are older than others of their branch are not what is tested here."""


def preflight(cluster: Cluster, target: str, tmp_path: Path, *options: str) -> Json:
    logins = ("-s", f"{cluster.url('sys')},{cluster.url('app')}")
    words = ("preflight", "--target", target, "--isolated", "--format", "json", *logins, *DEFECTS, *options)
    return dict(json.loads(jsdoctor(*words, cwd=tmp_path).stdout)["results"][0])


def harms(result: Json) -> dict[str, str]:
    return {o["subject"]["name"]: o["harm"] for o in result["obstacles"] if not o["accepted"]}


def notes(result: Json) -> set[str]:
    return {effect["kind"] for effect in result["effects"]}


async def filled(client: Client, name: str, **config: Any) -> None:
    await add_stream(client, name, **{"subjects": [name.lower()], "num_replicas": 3, **config})
    for _ in range(20):
        await client.request(name.lower(), b"x", timeout=10)


async def plain(client: Client) -> None:
    await filled(client, "ORDERS")
    await filled(client, "CACHE", storage="memory")
    await filled(client, "JOBS", retention="workqueue")
    await add_stream(client, "COPY", mirror={"name": "ORDERS"}, num_replicas=3)
    await add_consumer(client, "ORDERS", "bill", ack_policy="explicit")


def rolled(cluster: Cluster, target: str, wait_s: float = 60.0) -> None:
    """One server after the other runs the release; each has as long to be healthy."""
    for name in cluster.names:
        cluster.stop(name)
        cluster.start(name, wait=False, through=lambda _: server_binary(target))
        try:
            cluster.wait_ready(wait_s)
        except TimeoutError:
            if wait_s > 30:
                raise


def stored(cluster: Cluster) -> dict[str, int]:
    async def ask(client: Client) -> dict[str, int]:
        listed = await api(client, "STREAM.LIST", {}, attempts=3)
        return {stream["config"]["name"]: stream["state"]["messages"] for stream in listed["streams"] or ()}

    return with_client(cluster, ask)


def of(*releases: str) -> list[Any]:
    """Pairs of releases to test on: `2.10.26 2.15.1`. Those between need all releases."""
    pairs = [tuple(pair.split()) for pair in releases]
    return [
        pytest.param(*pair, marks=pytest.mark.skipif(not set(pair) <= set(VERSIONS), reason="JSDOCTOR_VERSIONS=all"))
        for pair in pairs
    ]


GOES = ("2.10.26 2.15.1", "2.12.8 2.15.1", "2.15.1 2.14.6", "2.15.1 2.15.3", "2.15.3 2.15.1")


@pytest.mark.nightly
@pytest.mark.parametrize(("running", "target"), of(*GOES))
def test_a_go_loses_nothing(cluster_factory: ClusterFactory, running: str, target: str, tmp_path: Path) -> None:
    cluster = cluster_factory(running, 3)
    with_client(cluster, plain)
    result = preflight(cluster, target, tmp_path)
    assert (result["verdict"], harms(result)) == (GO, {}), result["unseen"]
    before = stored(cluster)
    rolled(cluster, target)
    wait_until(lambda: stored(cluster) == before, "every stream with all its messages", timeout=30)


async def batches(client: Client) -> None:
    await plain(client)
    await add_stream(client, "FAST", subjects=["fast"], num_replicas=3, allow_batched=True)


def test_a_stream_above_the_level_is_named_and_goes_out_of_service(
    cluster_factory: ClusterFactory, tmp_path: Path
) -> None:
    cluster = cluster_factory("2.15.1", 3)
    with_client(cluster, batches)
    result = preflight(cluster, "2.12.8", tmp_path)
    assert (result["verdict"], harms(result)) == (NO_GO, {"FAST": "unsupported"})
    assert preflight(cluster, "2.12.8", tmp_path, "--accept", "unavailable")["verdict"] == GO
    rolled(cluster, "2.12.8")

    async def asked(client: Client) -> Json:
        return dict(json.loads((await client.request("$JS.API.STREAM.INFO.FAST", b"", timeout=10)).data)["error"])

    assert "offline" in with_client(cluster, asked)["description"]


def test_the_upgrade_that_leaves_no_way_back_is_announced(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    cluster = cluster_factory("2.12.8", 3)

    async def plant(client: Client) -> None:
        await filled(client, "JOBS", retention="workqueue")
        await add_stream(client, "DONE", sources=[{"name": "JOBS"}], num_replicas=3)

    with_client(cluster, plant)
    result = preflight(cluster, "2.15.1", tmp_path)
    assert result["verdict"] == GO
    assert {"durable-sourcing", "desired-state", "write-errors", "order", "defects_fixed"} <= notes(result)
    assert "strict-requests" not in notes(result), "2.12 refuses them already"


@pytest.mark.nightly
@pytest.mark.parametrize(("running", "target"), of("2.15.1 2.15.3"))
def test_a_consumer_that_the_release_removes_is_named(
    cluster_factory: ClusterFactory, running: str, target: str, tmp_path: Path
) -> None:
    cluster = cluster_factory(running, 1)

    async def plant(client: Client) -> None:
        await add_stream(client, "ORDERS", subjects=["orders"])
        await add_consumer(client, "ORDERS", "purge", deliver_subject="$JS.API.STREAM.PURGE.ORDERS")
        await add_consumer(client, "ORDERS", "bill", deliver_subject="bills")

    with_client(cluster, plant)
    result = preflight(cluster, target, tmp_path)
    assert harms(result) == {"purge": "data_lost"}
    assert "lame-duck" in notes(result)
    rolled(cluster, target)

    async def left(client: Client) -> list[str]:
        return list((await api(client, "CONSUMER.NAMES.ORDERS", {}))["consumers"])

    assert with_client(cluster, left) == ["bill"]
