"""JSD203, JSD204, JSD408, JSD411 and JSD421 on real servers: what happens between two samples."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from tests.real.outage import with_client
from tests.real.two_samples import NAME, Samples, call, made, once, publish, settled, severities, version_of
from tests.servers import ClusterFactory
from tests.support.deployment import add_consumer, api

pytestmark = [pytest.mark.real, pytest.mark.every_version]
NEWEST = (2, 15)
SECOND_NS = 1_000_000_000
AT_ONCE = {"settled": "0s"}
"""However young an asset is, it may not go."""


@pytest.mark.parametrize("nodes", [1, pytest.param(3, marks=pytest.mark.nightly)])
def test_recreated(cluster_factory: ClusterFactory, server_version: str, nodes: int) -> None:
    cluster = cluster_factory(server_version, nodes)
    made(cluster)
    publish(cluster, 10)
    before = settled(cluster) + once(cluster)
    assert severities("JSD203", before) == severities("JSD204", before) == {}
    call(cluster, f"STREAM.DELETE.{NAME}")
    made(cluster)
    after = settled(cluster)
    assert severities("JSD203", before + after) == {}, "a stream some seconds old may be a job's"
    assert severities("JSD203", before + after, AT_ONCE) == {f"APP/{NAME}": "warning"}
    assert severities("JSD204", before + after) == {}
    assert severities("JSD411", before + after) == {}
    assert severities("JSD203", after) == {}, "one look does not show it"


@pytest.mark.parametrize("nodes", [1, pytest.param(3, marks=pytest.mark.nightly)])
def test_restored_from_an_older_backup(
    cluster_factory: ClusterFactory, server_version: str, nodes: int, nats_cli: Path, tmp_path: Path
) -> None:
    cluster = cluster_factory(server_version, nodes)
    made(cluster)
    publish(cluster, 10)
    run = [str(nats_cli), "--server", cluster.url("app"), "stream"]
    subprocess.run([*run, "backup", NAME, str(tmp_path / "backup")], check=True, capture_output=True, timeout=60)
    publish(cluster, 5)
    before = settled(cluster)
    call(cluster, f"STREAM.DELETE.{NAME}")
    subprocess.run([*run, "restore", str(tmp_path / "backup")], check=True, capture_output=True, timeout=60)
    after = settled(cluster)
    samples = before + after
    recreated, went_back = severities("JSD203", samples, AT_ONCE), severities("JSD204", samples, {"settle": "0s"})
    assert set(recreated | went_back) == {f"APP/{NAME}"}
    if nodes == 1 or version_of(cluster) >= NEWEST:  # in older clusters it depends on who leads
        assert bool(recreated) is (version_of(cluster) >= NEWEST)
        assert bool(went_back) is not bool(recreated)
    if version_of(cluster) >= NEWEST:
        assert severities("JSD203", after, {"clock_error": "1ms"}) == {f"APP/{NAME}": "info"}
        assert severities("JSD203", after) == {}, "less than clocks may differ by"


def test_cut_block(cluster_factory: ClusterFactory, server_version: str) -> None:
    cluster = cluster_factory(server_version)
    made(cluster)
    publish(cluster, 100)
    before = settled(cluster)
    cluster.stop("n1")
    messages = next(cluster.store_dir("n1").rglob(f"streams/{NAME}/msgs"))
    (messages / "index.db").unlink()
    os.truncate(messages / "1.blk", (messages / "1.blk").stat().st_size // 2)
    cluster.start("n1")
    after = settled(cluster)
    assert severities("JSD204", before + after) == {f"APP/{NAME}": "critical"}
    assert severities("JSD203", before + after) == {}
    assert severities("JSD204", after) == {}, "one look does not show it"
    publish(cluster, 5)
    assert severities("JSD204", after + settled(cluster)) == {}


def test_removed_block_contradicts_itself(cluster_factory: ClusterFactory) -> None:
    """2.10 shows more deleted messages than there ever were."""
    cluster = cluster_factory("2.10.26")
    made(cluster)
    publish(cluster, 100)
    cluster.stop("n1")
    next(cluster.store_dir("n1").rglob(f"streams/{NAME}/msgs/1.blk")).unlink()
    cluster.start("n1")
    assert severities("JSD204", settled(cluster)) == {f"APP/{NAME}": "critical"}


def test_restart_loses_nothing(cluster_factory: ClusterFactory, server_version: str) -> None:
    cluster = cluster_factory(server_version)
    made(cluster)
    publish(cluster, 100)
    before = settled(cluster)
    cluster.stop("n1")
    cluster.start("n1")
    samples = before + settled(cluster)
    assert [severities(code, samples) for code in ("JSD203", "JSD204", "JSD411")] == [{}, {}, {}]


@pytest.mark.parametrize("user", ["sys", "app"])
@pytest.mark.parametrize("nodes", [1, pytest.param(3, marks=pytest.mark.nightly)])
def test_deleted_consumer(cluster_factory: ClusterFactory, server_version: str, nodes: int, user: str) -> None:
    cluster = cluster_factory(server_version, nodes)
    made(cluster)
    settled(cluster)
    before = once(cluster, user)
    call(cluster, f"CONSUMER.DELETE.{NAME}.worker")
    after = once(cluster, user)
    assert severities("JSD411", before + after) == {}, "a consumer some seconds old may be a job's"
    assert severities("JSD411", before + after, AT_ONCE) == {f"APP/{NAME}/worker": "error"}
    made(cluster)
    settled(cluster)
    assert severities("JSD411", before + once(cluster, user)) == {}


@pytest.mark.parametrize("nodes", [1, pytest.param(3, marks=pytest.mark.nightly)])
def test_burst_of_repeats(cluster_factory: ClusterFactory, server_version: str, nodes: int) -> None:
    """A worker dies with 30 messages; another gets them again, and then acknowledges them."""
    cluster = cluster_factory(server_version, nodes)
    made(cluster)
    call(cluster, f"CONSUMER.DELETE.{NAME}.worker")

    async def fetched(client: Client) -> list[Msg]:
        subscription = await client.jetstream().pull_subscribe_bind("worker", NAME)
        return await subscription.fetch(30, timeout=5)

    async def hold(client: Client) -> None:
        assert len(await fetched(client)) == 30

    async def acknowledge(client: Client) -> None:
        for message in await fetched(client):
            await message.ack_sync(timeout=5)

    with_client(cluster, lambda client: add_consumer(client, NAME, "worker", ack_wait=SECOND_NS))
    publish(cluster, 30)
    with_client(cluster, hold)
    before = settled(cluster)
    with_client(cluster, hold)
    assert severities("JSD408", before + once(cluster)) == {f"APP/{NAME}/worker": "error"}
    with_client(cluster, acknowledge)
    assert severities("JSD408", before + once(cluster)) == {f"APP/{NAME}/worker": "info"}
    after = once(cluster) + once(cluster)
    assert severities("JSD408", after) == {}
    assert severities("JSD408", before + after) == {}, "none between the last two samples"


@pytest.mark.parametrize("nodes", [1, pytest.param(3, marks=pytest.mark.nightly)])
def test_ordered_consumers_replaced(cluster_factory: ClusterFactory, server_version: str, nodes: int) -> None:
    """Eight readers lose their consumers, miss heartbeats and go on with new ones; eight watchers are opened anew."""
    cluster = cluster_factory(server_version, nodes)

    async def names(client: Client, stream: str) -> set[str]:
        return set((await api(client, f"CONSUMER.NAMES.{stream}"))["consumers"])

    async def replace(client: Client) -> Samples:
        streams = client.jetstream()
        readers = [await streams.subscribe("p20", ordered_consumer=True) for _ in range(8)]
        await asyncio.gather(*(reader.next_msg(timeout=5) for reader in readers))
        before = await asyncio.to_thread(once, cluster)
        old = await names(client, NAME)
        assert severities("JSD421", before + await asyncio.to_thread(once, cluster)) == {}
        for name in old:
            await api(client, f"CONSUMER.DELETE.{NAME}.{name}")
        for _ in range(200):
            if len(await names(client, NAME) - old) == 8:
                return before + await asyncio.to_thread(once, cluster)
            await asyncio.sleep(0.1)
        raise AssertionError("the clients made no new consumers")

    async def watch(client: Client) -> Samples:
        bucket = await client.jetstream().create_key_value(bucket="P20", history=5)
        for _ in range(5):
            await bucket.put("key", b"x")
        samples: Samples = ()
        for _ in range(2):
            watchers = [await bucket.watchall() for _ in range(8)]
            samples += await asyncio.to_thread(once, cluster)
            await asyncio.gather(*(watcher.stop() for watcher in watchers))  # type: ignore[no-untyped-call]
        return samples

    made(cluster)
    publish(cluster, 10)
    call(cluster, f"CONSUMER.DELETE.{NAME}.worker")
    assert severities("JSD421", with_client(cluster, replace)) == {f"APP/{NAME}": "warning"}
    assert severities("JSD421", with_client(cluster, watch)) == {}
