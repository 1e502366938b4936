"""Outages and damage on real servers: `jsdoctor diagnose` names what broke, not what came with it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from tests.diagnosis.run import Json, confirmed, diagnosed
from tests.real.outage import SILENCE_NS, peers_of, with_client
from tests.real.test_cluster_health import _halt, _quiet_ns
from tests.real.test_consumer_ahead import consume_all, lose_the_tail, publish_five
from tests.servers import VERSIONS, Cluster, ClusterFactory, wait_until
from tests.support.deployment import add_stream, api
from tests.support.stored import store, store_again

pytestmark = [pytest.mark.real, pytest.mark.nightly]


def about(directory: Path, cluster: Cluster, symptom: str, *arguments: str) -> tuple[int, Json]:
    return diagnosed(directory, "--symptom", symptom, "-s", cluster.url("sys"), *arguments)


def test_halted_stream(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    """One wrong expected message id, and nobody can publish any more (2.14 and newer, replicated)."""
    cluster = cluster_factory("2.15.1", 3)
    with_client(cluster, _halt)
    wait_until(lambda: not peers_of(cluster, "P713"), "the stream to lose its leader", timeout=60)
    wait_until(lambda: _quiet_ns(cluster, "P713") > SILENCE_NS, "the members to be silent for ten seconds", timeout=30)
    for symptom in ("publish-not-acknowledged", "stream-offline", "healthcheck-failing"):
        code, document = about(tmp_path, cluster, symptom, "--stream", "P713")
        assert (code, list(confirmed(document))) == (1, ["JSD713"]), symptom
    _, document = about(tmp_path, cluster, "publish-not-acknowledged", "--stream", "HEALTHY")
    assert confirmed(document) == {}


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


@pytest.mark.parametrize("version", VERSIONS)
def test_stream_without_its_tail(cluster_factory: ClusterFactory, tmp_path: Path, version: str) -> None:
    """The consumer stands beyond the end of its stream and skips what is published; three replicas do so everywhere."""
    cluster = cluster_factory(version, 3)
    asyncio.run(consume_all(cluster, 3))
    lose_the_tail(cluster)
    consumer = asyncio.run(publish_five(cluster))
    assert consumer["num_pending"] == 0
    narrowing = ("--stream", "P205", "--consumer", "worker")
    for symptom in ("consumer-stalled", "messages-missing", "consumer-sequence-mismatch"):
        code, document = about(tmp_path, cluster, symptom, *narrowing)
        assert (code, list(confirmed(document))) == (1, ["JSD205"]), (symptom, confirmed(document))


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
