"""JSD702 on servers that list assets as their own and run no Raft group for them: alone, or while they are scaled."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import threading
import time
from collections.abc import Iterator

import nats
import pytest
from nats.aio.client import Client
from nats.errors import Error, NoRespondersError
from nats.js.errors import APIError

from tests.real.outage import Json, check, failures_of, with_client
from tests.servers import VERSIONS, Cluster, ClusterFactory, wait_until
from tests.support.deployment import add_consumer, add_stream, api
from tests.support.stored import store

pytestmark = [pytest.mark.real, pytest.mark.nightly]

CHECKS = 8
"""While scaling goes on. The meta leader goes in between, by turns stepped down and killed."""


async def _furnish(client: Client) -> None:
    await add_stream(client, "ALL", subjects=["all"], num_replicas=3, max_bytes=1 << 20)
    await add_consumer(client, "ALL", "worker")
    for _ in range(5):
        await store(client, "all")


def _streams(cluster: Cluster, node: str) -> dict[str, Json]:
    """What a server shows of the placement of each stream of APP."""
    accounts = cluster.monitor(node, "/jsz?accounts=true&streams=true").get("account_details") or []
    return {s["name"]: s["cluster"] for account in accounts for s in account.get("stream_detail") or []}


def _outcomes(report: Json) -> dict[str, str]:
    """What JSD702 reports of streams: passes are not listed one by one."""
    return {
        result["subject"]["name"]: result["outcome"]
        for result in report["results"]
        if result["code"] == "JSD702" and result["subject"]["kind"] == "stream"
    }


async def _is_refused(url: str, subject: str) -> bool:
    """Whether no server responds to a publish."""
    client = await nats.connect(url)
    try:
        await client.request(subject, b"x", timeout=5)
    except NoRespondersError:
        return True
    finally:
        await client.close()
    return False


@pytest.mark.parametrize("version", VERSIONS)
def test_a_server_that_is_alone_leads_nothing(cluster_factory: ClusterFactory, version: str) -> None:
    """From 2.12 on, the first server to come back names itself as the leader of what it stored."""
    cluster = cluster_factory(version, 3)
    with_client(cluster, _furnish)
    for name in cluster.names:
        cluster.stop(name)
    cluster.start("n1", wait=False)
    wait_until(lambda: _streams(cluster, "n1"), "n1 to load the stream", timeout=60)
    is_named = not version.startswith("2.10.")
    assert _streams(cluster, "n1")["ALL"].get("leader", "") == ("n1" if is_named else "")
    assert asyncio.run(_is_refused(cluster.servers()[0], "all"))
    for access in (("--monitor", cluster.node("n1").monitor_url), ("--server", cluster.servers("sys")[0])):
        assert _outcomes(check(*access, "--set", "JSD702.settle=10m")[1]) == {
            "ALL": "not_evaluated" if is_named else "fail"
        }
        assert failures_of(check(*access, "--set", "JSD702.settle=1s")[1], "JSD702") == {"APP/ALL": "critical"}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_one_replica_on_a_server_that_is_alone(cluster_factory: ClusterFactory, version: str) -> None:
    """2.10 serves it, newer servers do not, and the replies show no difference that counts: never a pass."""
    cluster = cluster_factory(version, 3)
    with_client(cluster, lambda client: add_stream(client, "ONE", subjects=["one"], num_replicas=1))
    owner = next(name for name in cluster.names if "ONE" in _streams(cluster, name))
    others = [name for name in cluster.names if name != owner]
    for name in others:
        cluster.stop(name)
    access = ("--monitor", cluster.node(owner).monitor_url)
    wait_until(lambda: not cluster.monitor(owner, "/jsz")["meta_cluster"].get("leader"), "no meta leader", timeout=60)
    # The server had a meta leader until now: it goes on serving the stream.
    url = cluster.servers()[cluster.names.index(owner)]
    assert _outcomes(check(*access)[1]) == {}
    assert not asyncio.run(_is_refused(url, "one"))
    cluster.stop(owner)
    cluster.start(owner, wait=False)
    wait_until(lambda: _streams(cluster, owner), "the stream to be loaded", timeout=60)
    assert _outcomes(check(*access, "--set", "JSD702.settle=1s")[1]) == {"ONE": "not_evaluated"}
    assert asyncio.run(_is_refused(url, "one")) == (not version.startswith("2.10."))


@pytest.mark.parametrize("version", ["2.12.8", "2.15.1"])
def test_a_group_that_does_not_run_beside_a_meta_leader(cluster_factory: ClusterFactory, version: str) -> None:
    """The directory of the group cannot be read on two of three servers, which report the stream as their own."""
    cluster = cluster_factory(version, 3)
    with_client(cluster, _furnish)
    group = _streams(cluster, "n1")["ALL"]["raft_group"]
    for name in cluster.names:
        cluster.stop(name)
    for name in ("n1", "n2"):
        directory = next(cluster.store_dir(name).rglob(f"_js_/{group}"))
        shutil.rmtree(directory)
        directory.write_text("no directory")
    for name in cluster.names:
        cluster.start(name, wait=False)
    wait_until(lambda: "replicas" in _streams(cluster, "n3").get("ALL", {}), "n3 to run the group", timeout=60)
    wait_until(cluster.meta_leader, "a meta leader", timeout=60)
    assert {_streams(cluster, name)["ALL"]["leader"] for name in ("n1", "n2")} == {"n1", "n2"}
    assert _outcomes(check("--server", cluster.url("sys"), "--set", "JSD702.settle=0s")[1]) == {"ALL": "not_evaluated"}


@contextlib.contextmanager
def _scaling(cluster: Cluster) -> Iterator[list[int]]:
    """Scale a stream with a consumer, and three consumers, from one replica to three and back until the block ends.

    What is yielded counts the changes that the servers made.
    """
    over, changes = threading.Event(), [0]

    async def change(client: Client, replicas: int, turn: int) -> None:
        subject, key = (
            ("STREAM.INFO.SCALED", "STREAM.UPDATE.SCALED") if turn == 3 else (f"CONSUMER.INFO.ALL.c{turn}", "")
        )
        config = (await api(client, subject))["config"] | {"num_replicas": replicas}
        if key:
            await api(client, key, config)
        else:
            wanted = {"stream_name": "ALL", "config": config}
            await api(client, f"CONSUMER.CREATE.ALL.c{turn}", wanted)
        changes[0] += 1

    async def scale(client: Client, turn: int) -> None:
        replicas = 3
        while not over.is_set():
            replicas = 4 - replicas
            with contextlib.suppress(Error, APIError, AssertionError, asyncio.TimeoutError):
                await change(client, replicas, turn)
            await asyncio.sleep(0.2 + 0.1 * turn)

    async def publish(client: Client) -> None:
        while not over.is_set():
            with contextlib.suppress(Error, asyncio.TimeoutError):
                await asyncio.gather(*(client.request(s, b"x" * 200, timeout=2) for s in ("all", "scaled") * 10))

    async def work() -> None:
        client = await nats.connect(cluster.servers(), max_reconnect_attempts=-1)
        try:
            await asyncio.gather(publish(client), *(scale(client, turn) for turn in range(4)))
        finally:
            await client.close()

    async def prepare(client: Client) -> None:
        await _furnish(client)
        await add_stream(client, "SCALED", subjects=["scaled"], num_replicas=1, max_bytes=1 << 22)
        await add_consumer(client, "SCALED", "worker")
        for turn in range(3):
            await add_consumer(client, "ALL", f"c{turn}")

    with_client(cluster, prepare)
    worker = threading.Thread(target=lambda: asyncio.run(work()))
    worker.start()
    try:
        yield changes
    finally:
        over.set()
        worker.join()


def _leaders(cluster: Cluster, subject: str) -> set[str]:
    """The running servers that lead a stream or consumer (`APP/ALL/c1`) and run its group."""
    _, stream, *consumer = subject.split("/")
    leaders = set()
    for name in cluster.names:
        if not cluster.node(name).running:
            continue
        reply = cluster.monitor(name, "/jsz?accounts=true&streams=true&consumers=true")
        for account in reply.get("account_details") or []:
            for shown in account.get("stream_detail") or []:
                consumers = [c for c in shown.get("consumer_detail") or [] if c["name"] in consumer]
                assets = consumers if consumer else [shown]
                if shown["name"] == stream and any(
                    (asset.get("cluster") or {}).get("leader") == name and "raft_group" in asset["cluster"]
                    for asset in assets
                ):
                    leaders.add(name)
    return leaders


@pytest.mark.parametrize("version", VERSIONS)
def test_scaling_while_the_meta_leader_changes(cluster_factory: ClusterFactory, version: str) -> None:
    """A server shows no group for what is being scaled, for seconds on 2.15.1, and may have lost its meta leader."""
    cluster = cluster_factory(version, 3)
    with _scaling(cluster) as changes:
        for number in range(CHECKS):
            leader, is_killing = cluster.meta_leader(), number % 4 == 3
            if leader and is_killing:
                cluster.kill(leader)
            elif leader and number % 2:
                with contextlib.suppress(Error, AssertionError, asyncio.TimeoutError):
                    with_client(cluster, lambda client: api(client, "META.LEADER.STEPDOWN"), "sys")
            _, report = check("--server", cluster.url("sys"))
            failures = failures_of(report, "JSD702")
            if leader and is_killing:
                # What had its one replica on the server that was killed has no leader until that server is back.
                time.sleep(10 if failures else 0)
                failures = {subject: severity for subject, severity in failures.items() if _leaders(cluster, subject)}
                cluster.start(leader, wait=False)
                wait_until(cluster.meta_leader, "a meta leader", timeout=60)
            assert failures == {}, number
    assert changes[0] > CHECKS
