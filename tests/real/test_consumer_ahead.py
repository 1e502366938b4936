"""JSD205 on real servers: a stream that loses its tail under a consumer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import nats
import pytest

from tests.real.plants_consumer_config import recreate
from tests.real.ward import failures, run_check
from tests.servers import Cluster, ClusterFactory
from tests.support.deployment import HOUR_NS, add_consumer, add_stream, drain
from tests.support.stored import store

pytestmark = pytest.mark.real
CONSUMER = "APP/P205/worker"


async def consume_all(cluster: Cluster, replicas: int) -> None:
    """Thirty messages, all delivered and acknowledged."""
    client = await nats.connect(cluster.servers("app"))
    try:
        bounds = {"max_age": HOUR_NS, "max_bytes": 1 << 20}
        await add_stream(client, "P205", subjects=["p205"], num_replicas=replicas, **bounds)
        await add_consumer(client, "P205", "worker")
        for _ in range(30):
            await store(client, "p205", body=b"x" * 100)
        got = 0
        while got < 30:  # the consumer's leader may see the last ones a moment later
            got += await drain(client, "P205", "worker")
    finally:
        await client.close()


async def publish_five(cluster: Cluster) -> dict[str, Any]:
    """Five new messages; returns the consumer as it is then."""
    client = await nats.connect(cluster.servers("app"))
    try:
        for _ in range(5):
            await store(client, "p205", body=b"x" * 100)
        # Before its leader is elected a consumer answers with a follower's state, or not at all.
        for _ in range(60):
            with contextlib.suppress(nats.errors.TimeoutError):
                reply = await client.request("$JS.API.CONSUMER.INFO.P205.worker", b"", timeout=1)
                answer: dict[str, Any] = json.loads(reply.data)
                if "error" not in answer and (len(cluster.names) == 1 or "leader" in answer["cluster"]):
                    return answer
            await asyncio.sleep(0.2)
        raise AssertionError("the consumer has no leader")
    finally:
        await client.close()


async def put_back(cluster: Cluster) -> None:
    """The consumer again, from the first message that it has not worked on."""
    client = await nats.connect(cluster.servers("app"))
    try:
        await recreate(client, "P205", "worker", deliver_policy="by_start_sequence", opt_start_seq=16)
    finally:
        await client.close()


def lose_the_tail(cluster: Cluster) -> None:
    """Half of the only message block gone on every server, as after a damaged disk or an older copy of the store."""
    for node in cluster.names:
        cluster.stop(node)
    for node in cluster.names:
        messages = next(cluster.store_dir(node).rglob("streams/P205/msgs"))
        (messages / "index.db").unlink()
        block: Path = messages / "1.blk"
        os.truncate(block, block.stat().st_size // 2)
        for log in cluster.store_dir(node).rglob("_js_/S-*"):  # else replicas restore the messages from it
            shutil.rmtree(log)
    for node in cluster.names:
        cluster.start(node, wait=False)
    cluster.wait_ready()


@pytest.mark.parametrize("nodes", [1, 3])
def test_stream_without_its_tail(cluster_factory: ClusterFactory, server_version: str, nodes: int) -> None:
    cluster = cluster_factory(server_version, nodes=nodes)
    asyncio.run(consume_all(cluster, nodes))
    lose_the_tail(cluster)
    consumer = asyncio.run(publish_five(cluster))

    _, report = run_check("--server", cluster.url("sys"), "--interval", "1s")
    moved_back = nodes == 1 and tuple(map(int, server_version.split(".")[:2])) >= (2, 14)
    if moved_back:  # what servers do since 2.14 with consumers that have one replica
        assert consumer["num_pending"] == 5
        assert "JSD205" not in failures(report, CONSUMER)
        return
    assert consumer["num_pending"] == 0, "the five new messages are skipped"
    assert failures(report, CONSUMER).get("JSD205") == "critical"
    (message,) = [r["message"] for r in report["results"] if r["code"] == "JSD205" and r["outcome"] == "fail"]
    resets = tuple(map(int, server_version.split(".")[:2])) >= (2, 14)
    assert ("reset it to the first message not worked on" if resets else "that command waits in vain") in message

    asyncio.run(put_back(cluster))
    _, cured = run_check("--server", cluster.url("sys"), "--interval", "1s")
    assert "JSD205" not in failures(cured, CONSUMER)
