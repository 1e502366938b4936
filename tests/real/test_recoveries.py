"""Recoveries that a finding proposes for one version and warns of on another: they work, and the others do not."""

from __future__ import annotations

import asyncio
import json
import shutil

import nats
import pytest
from nats.aio.client import Client

from tests.servers import Cluster, ClusterFactory
from tests.support.deployment import HOUR_NS, add_stream, api
from tests.support.reports import Json, failures, run_check
from tests.support.stopped_mirror import add_stopped_mirror
from tests.support.stored import store, store_again

pytestmark = [pytest.mark.real, pytest.mark.nightly]

BOUNDS = {"max_age": HOUR_NS, "max_bytes": 1 << 20}
SECOND_NS = 1_000_000_000


async def messages(client: Client, stream: str) -> int:
    return int((await api(client, f"STREAM.INFO.{stream}"))["state"]["messages"])


async def holds(client: Client, stream: str, count: int) -> None:
    for _ in range(300):
        if await messages(client, stream) == count:
            return
        await asyncio.sleep(0.2)
    raise AssertionError(f"{stream} never holds {count} messages, but {await messages(client, stream)}")


def message(report: Json, code: str, name: str) -> str:
    return str(next(r["message"] for r in report["results"] if r["code"] == code and r["subject"]["name"] == name))


async def repeat_ids(cluster: Cluster) -> None:
    """An origin with one id twice, a mirror of it, and a stream that sources it."""
    client = await nats.connect(cluster.servers("app"))
    await add_stream(client, "ORIGIN", subjects=["origin"], duplicate_window=SECOND_NS // 10, **BOUNDS)
    await store(client, "origin", "1")
    await store_again(client, "origin", "1")
    for message_id in ("2", "3"):
        await store(client, "origin", message_id)
    await add_stopped_mirror(client, "MIRROR", "ORIGIN", **BOUNDS)
    await add_stream(client, "SOURCED", sources=[{"name": "ORIGIN"}], **BOUNDS)
    await holds(client, "SOURCED", 1)
    # A stall is told when messages have been missing for ten seconds.
    await asyncio.sleep(11)
    await client.close()


async def recover(cluster: Cluster) -> None:
    client = await nats.connect(cluster.servers("app"))
    config = (await api(client, "STREAM.INFO.SOURCED"))["config"]
    await api(client, "STREAM.UPDATE.SOURCED", config | {"duplicate_window": SECOND_NS // 10})
    await holds(client, "SOURCED", 4)
    assert await messages(client, "MIRROR") == 1
    await api(client, "STREAM.DELETE.MIRROR")
    await add_stopped_mirror(client, "MIRROR", "ORIGIN", **BOUNDS)
    await asyncio.sleep(5)
    assert await messages(client, "MIRROR") == 1, "made anew it stops at the same message"
    await client.close()
    cluster.stop("n1")
    cluster.start("n1")
    client = await nats.connect(cluster.servers("app"))
    await holds(client, "MIRROR", 4)
    await client.close()


def test_copies_that_a_repeated_id_stopped(cluster_factory: ClusterFactory) -> None:
    cluster = cluster_factory("2.10.26")
    asyncio.run(repeat_ids(cluster))
    _, report = run_check("--server", cluster.url("sys"), "--select=JSD607")
    assert failures(report, "APP/MIRROR") == failures(report, "APP/SOURCED") == {"JSD607": "error"}
    assert "restart its server" in message(report, "JSD607", "MIRROR")
    assert "window of 100ms lets it go on" in message(report, "JSD607", "SOURCED")
    asyncio.run(recover(cluster))
    _, cured = run_check("--server", cluster.url("sys"), "--select=JSD607")
    assert failures(cured, "APP/MIRROR") == failures(cured, "APP/SOURCED") == {}


async def halt(cluster: Cluster) -> None:
    client = await nats.connect(cluster.servers("app"))
    await add_stream(client, "P713", subjects=["p713"], num_replicas=3, **BOUNDS)
    for number in range(5):
        await store(client, "p713", f"m{number}")
    reply = await client.request("p713", b"x", timeout=10, headers={"Nats-Expected-Last-Msg-Id": "zz"})
    assert json.loads(reply.data)["error"]["err_code"] == 10070
    for _ in range(100):
        if not (await api(client, "STREAM.INFO.P713"))["cluster"].get("leader"):
            break
        await asyncio.sleep(0.2)
    else:
        raise AssertionError("the stream keeps its leader")
    await client.close()


async def publishes(cluster: Cluster) -> None:
    client = await nats.connect(cluster.servers("app"))
    for _ in range(100):
        try:
            reply = json.loads((await client.request("p713", b"x", timeout=2)).data)
        except nats.errors.Error:
            await asyncio.sleep(0.2)
        else:
            assert reply["seq"] == 6, "all five are kept"
            await client.close()
            return
    raise AssertionError("the stream stays halted")


def test_a_halted_stream_lives_again_without_its_raft_log(cluster_factory: ClusterFactory) -> None:
    """What 2.15 needs; that the edit which helps on 2.14 hangs there was seen, and is not done to this cluster."""
    cluster = cluster_factory("2.15.1", nodes=3)
    asyncio.run(halt(cluster))
    _, report = run_check("--server", cluster.url("sys"), "--select=JSD713")
    assert failures(report, "APP/P713") == {"JSD713": "critical"}
    assert "that edit hangs on 2.15.1" in message(report, "JSD713", "P713")
    for name in cluster.names:
        cluster.stop(name)
    for name in cluster.names:
        (group,) = [path for path in cluster.store_dir(name).rglob("_js_/S-R3F-*") if path.is_dir()]
        shutil.rmtree(group)
    for name in cluster.names:
        cluster.start(name, wait=False)
    cluster.wait_ready()
    asyncio.run(publishes(cluster))
    _, cured = run_check("--server", cluster.url("sys"), "--select=JSD713")
    assert failures(cured, "APP/P713") == {}
