"""Outages and damage on real servers: `jsdoctor diagnose` names what broke, not what came with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from tests.diagnosis.run import Json, confirmed, diagnosed
from tests.servers import VERSIONS, Cluster, ClusterFactory, wait_until
from tests.support.deployment import add_stream, api
from tests.support.outage import peers_of, with_client
from tests.support.stored import store, store_again

pytestmark = [pytest.mark.real, pytest.mark.nightly]


def about(directory: Path, cluster: Cluster, symptom: str, *arguments: str) -> tuple[int, Json]:
    return diagnosed(directory, "--symptom", symptom, "-s", cluster.url("sys"), *arguments)


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
