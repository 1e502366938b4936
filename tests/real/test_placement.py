"""Streams piled on one server, and writes that a power cut can take back: on real clusters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from nats.aio.client import Client

from tests.real.outage import check, failures_of, with_client
from tests.servers import VERSIONS, ClusterFactory
from tests.support.deployment import add_stream
from tests.support.stored import store

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("placement")]

OLDEST, *BETWEEN, NEWEST = VERSIONS
EVERY_VERSION = pytest.mark.parametrize(
    "version", [OLDEST, *(pytest.param(version, marks=pytest.mark.nightly) for version in BETWEEN), NEWEST]
)
ONCE = ("--samples", "1")
"""None of these rules judges a rate."""


def _many(names: list[str], tag: str) -> Callable[[Client], Awaitable[None]]:
    async def work(client: Client) -> None:
        for name in names:
            placed = {"num_replicas": 1, "max_bytes": 1 << 16, "placement": {"tags": [tag]}}
            await add_stream(client, name, subjects=[name.lower()], **placed)

    return work


@EVERY_VERSION
def test_streams_piled_on_one_server_are_found(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 3, node_config=lambda node: f'server_tags: ["{node}"]\n')
    with_client(cluster, _many([f"PILED{number}" for number in range(32)], "n2"))
    for user in ("sys", "app"):
        code, report = check("--server", cluster.url(user), *ONCE)
        # A plain account does not know of servers that hold nothing for it.
        assert failures_of(report, "JSD712") == ({"n2": "info"} if user == "sys" else {})
        assert code == 0
    for other in ("n1", "n3"):
        with_client(cluster, _many([f"{other}_{number}" for number in range(24)], other))
    assert failures_of(check("--server", cluster.url("sys"), *ONCE)[1], "JSD712") == {}


@EVERY_VERSION
def test_writes_that_a_power_cut_can_take_are_reported_once(cluster_factory: ClusterFactory, version: str) -> None:
    async def fill(client: Client) -> None:
        for name in ("ONE", "TWO"):
            await add_stream(client, name, subjects=[name.lower()], num_replicas=1, max_bytes=1 << 24)
            await store(client, name.lower())
            for _ in range(1000):
                await client.publish(name.lower(), b"x")
            await store(client, name.lower())

    cluster = cluster_factory(version, 3)
    assert failures_of(check("--server", cluster.url("sys"), *ONCE)[1], "JSD813") == {}
    with_client(cluster, fill)
    code, report = check("--server", cluster.url("sys"), *ONCE)
    assert (code, failures_of(report, "JSD813")) == (0, {"cluster": "info"})
    for name in cluster.names:
        cluster.stop(name)
        cluster._configs[name] = cluster._configs[name].replace(
            "store_dir: store", "store_dir: store\n  sync_interval: always"
        )
    for name in cluster.names:
        cluster.start(name, wait=False)
    cluster.wait_ready()
    assert failures_of(check("--server", cluster.url("sys"), *ONCE)[1], "JSD813") == {}
