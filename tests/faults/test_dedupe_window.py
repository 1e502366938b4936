"""What stored messages prove of deduplication, on real servers: every fault planted, told, and cured."""

import asyncio
import zipfile
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client

from jsdoctor.model.wording import span
from jsdoctor.sources.scan.stream import date_ns
from tests.servers import VERSIONS, Cluster, ClusterFactory
from tests.servers.natscli import typed
from tests.support.deployment import HOUR_NS, add_consumer, add_stream, api, drain
from tests.support.reports import failures, run_capture, run_check
from tests.support.stored import store, store_again

pytestmark = pytest.mark.real

SECOND_NS = 1_000_000_000
BOUNDS = {"max_age": HOUR_NS, "max_bytes": 8 << 20}
SCANS = tuple(f"--scan={name}" for name in ("P301", "P302", "P302B", "P304", "P306", "P307", "CLEAN"))
SETTINGS = ("--set=JSD302.min_messages=10", "--set=JSD307.info_ids=20", "--set=JSD307.max_ids=50")


async def plant(cluster: Cluster) -> None:
    client = await nats.connect(cluster.servers("app"))
    replicas = len(cluster.names)

    async def stream(name: str, **more: Any) -> None:
        await add_stream(client, name, subjects=[f"{name.lower()}.>"], num_replicas=replicas, **BOUNDS, **more)

    try:
        for name in ("P301", "P304"):
            await stream(name, duplicate_window=SECOND_NS)
        for name in ("P302", "P302B", "CLEAN"):
            await stream(name)
        await stream("P306", retention="workqueue")
        await stream("P307", duplicate_window=HOUR_NS)
        await store(client, "p301.a", "order-1")
        await store(client, "p304.a", "customer-7", b"first order")
        assert await store_again(client, "p301.a", "order-1") == 2
        assert await store_again(client, "p304.a", "customer-7", b"second order") == 2
        for number in range(6):
            await store(client, "p302.good", f"id-{number}")
            await store(client, "p302.bad")
            await client.request("p302b.a", b"x", headers={"nats-msg-id": f"id-{number}"}, timeout=10)
            await store(client, "clean.a", f"id-{number}")
            # Within the window a retry is not stored, and not to be seen.
            assert (await store(client, "clean.a", f"id-{number}")).get("duplicate")
        await store(client, "p306.a", "job-1")
        for number in range(25):
            await store(client, "p307.a", f"id-{number}")
    finally:
        await client.close()


async def fix(cluster: Cluster) -> None:
    client = await nats.connect(cluster.servers("app"))
    try:
        for name in ("P301", "P304", "P307"):
            config = (await api(client, f"STREAM.INFO.{name}"))["config"]
            await api(client, f"STREAM.UPDATE.{name}", config | {"duplicate_window": 120 * SECOND_NS})
        for name, first in (("P301", 2), ("P304", 2), ("P307", 10)):
            for seq in range(first, 26 if name == "P307" else 3):
                await api(client, f"STREAM.MSG.DELETE.{name}", {"seq": seq})
        for name in ("P302", "P302B"):
            await api(client, f"STREAM.PURGE.{name}")
        for number in range(12):
            await store(client, "p302.good", f"new-{number}")
        await add_consumer(client, "P306", "worker")
        await drain(client, "P306", "worker")
        await holds(client, "P306", 0)
    finally:
        await client.close()


async def between(cluster: Cluster) -> int:
    """Nanoseconds from message 1 of P301 to message 2, by the dates that the stream has of them."""
    client = await nats.connect(cluster.servers("app"))
    try:
        asked = [await api(client, "STREAM.MSG.GET.P301", {"seq": number}) for number in (1, 2)]
    finally:
        await client.close()
    first, second = (date_ns(answer["message"]["time"]) for answer in asked)
    return second - first


def members(bundle: Path) -> list[bytes]:
    """What is in a bundle, unpacked."""
    with zipfile.ZipFile(bundle) as container:
        return [container.read(name) for name in container.namelist()]


@pytest.mark.parametrize("server_version", VERSIONS)
@pytest.mark.parametrize("nodes", [1, pytest.param(3, marks=pytest.mark.nightly)])
def test_faults_of_deduplication_are_in_the_messages(
    cluster_factory: ClusterFactory, server_version: str, nodes: int, nats_cli: Path, tmp_path: Path
) -> None:
    cluster = cluster_factory(server_version, nodes=nodes)
    asyncio.run(plant(cluster))
    arguments = ("--server", cluster.url("app"), "--select=JSD2,JSD3", *SCANS, *SETTINGS)
    _, sick = run_check(*arguments, "--digests")
    expected = {
        "P301": {"JSD301": "warning", "JSD305": "warning"},
        "P302": {"JSD302": "warning"},
        "P302B": {"JSD302": "error"},
        "P304": {"JSD304": "error"},
        "P306": {"JSD306": "info"},
        "P307": {"JSD307": "info"},
        "CLEAN": {},
    }
    # A window of a second is too short for any client, whatever is stored.
    expected["P304"] |= {"JSD301": "warning"}
    assert {name: failures(sick, f"APP/{name}") for name in expected} == expected
    (proof,) = [r for r in sick["results"] if r["code"] == "JSD305" and r["outcome"] == "fail"]
    assert f"message 2 repeats 1 after {span(asyncio.run(between(cluster)))}" in proof["message"]
    if nodes > 1:  # what was captured proves as much, somewhere else and later
        bundle = tmp_path / "proofs.zip"
        run_capture(bundle, *arguments[:2], *SCANS, "--digests")
        _, captured = run_check("--bundle", str(bundle), arguments[2], *SETTINGS)
        assert {name: failures(captured, f"APP/{name}") for name in expected} == expected
        assert not any(b"order-1" in member or b"customer-7" in member for member in members(bundle))

    for result in sick["results"]:
        for command in (result.get("remedy") or {}).get("commands", []):
            typed(nats_cli, command, cluster.url("app"))

    _, unread = run_check(*arguments)
    states = {(r["code"], r["subject"]["name"]): r["outcome"] for r in unread["results"]}
    assert states["JSD304", "P304"] == "not_evaluated", "contents were not compared, and nobody can know"
    assert failures(unread, "APP/P304")["JSD305"] == "warning", "nor that it is no retry"

    asyncio.run(fix(cluster))
    _, cured = run_check(*arguments, "--digests")
    assert {name: failures(cured, f"APP/{name}") for name in expected} == {name: {} for name in expected}


async def restore(cluster: Cluster, nats_cli: Path, directory: Path) -> None:
    """A backup, the stream deleted and restored from it, and a retry of what is in it."""
    client = await nats.connect(cluster.servers("app"))
    try:
        await add_stream(client, "P306", subjects=["p306.>"], **BOUNDS)
        await store(client, "p306.a", "order-1")
        await asyncio.to_thread(
            typed, nats_cli, f"nats stream backup P306 {directory} --no-progress", cluster.url("app")
        )
        await api(client, "STREAM.DELETE.P306")
        await asyncio.to_thread(typed, nats_cli, f"nats stream restore {directory} --no-progress", cluster.url("app"))
        await store(client, "p306.a", "order-1")
    finally:
        await client.close()


def test_a_restore_forgets_ids(cluster_factory: ClusterFactory, nats_cli: Path, tmp_path: Path) -> None:
    """Only 2.15 does; it is also the one that dates the stream by its restore, which is the proof."""
    cluster = cluster_factory("2.15.1")
    asyncio.run(restore(cluster, nats_cli, tmp_path / "backup"))
    arguments = ("--server", cluster.url("app"), "--scan=P306", "--select=JSD203,JSD3", "--set=JSD203.clock_error=1ms")
    _, report = run_check(*arguments)
    assert failures(report, "APP/P306") == {"JSD203": "info", "JSD305": "warning", "JSD306": "warning"}
    messages = {r["code"]: r["message"] for r in report["results"]}
    assert "P306 was restored at" in messages["JSD306"]
    assert "sequences from 2 on were given out again, 1 of them so far" in messages["JSD203"]
    _, logged = run_check(f"--logs={cluster.node('n1').log_path}", "--timezone", "UTC")
    assert failures(logged, "APP/P306").get("JSD203") == "info"


async def through_a_restart(cluster: Cluster) -> None:
    """A job is done and acknowledged, its server restarts, and the publisher tries again."""
    client = await nats.connect(cluster.servers("app"))
    await add_stream(client, "P306Q", subjects=["p306q.>"], retention="workqueue", **BOUNDS)
    await add_stream(client, "P306COPY", sources=[{"name": "P306Q"}], **BOUNDS)
    await store(client, "p306q.a", "job-1")
    await holds(client, "P306COPY", 1)
    await holds(client, "P306Q", 0)
    await client.close()
    cluster.stop("n1")
    cluster.start("n1")
    client = await nats.connect(cluster.servers("app"))
    await store(client, "p306q.a", "job-1")
    await holds(client, "P306COPY", 2)
    await client.close()


async def holds(client: Client, stream: str, count: int) -> None:
    for _ in range(600):
        if (await api(client, f"STREAM.INFO.{stream}"))["state"]["messages"] == count:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"{stream} never holds {count}")


@pytest.mark.nightly
def test_what_a_work_queue_removed_is_forgotten_by_a_restart(cluster_factory: ClusterFactory) -> None:
    """A source takes what it copied out of the work queue. Since 2.14 a copy has no window of its own."""
    cluster = cluster_factory("2.15.1")
    asyncio.run(through_a_restart(cluster))
    arguments = ("--server", cluster.url("app"), "--scan=P306COPY", "--select=JSD3")
    _, report = run_check(*arguments, "--monitor", cluster.monitor_urls[0])
    assert failures(report, "APP/P306COPY") == {"JSD305": "warning", "JSD306": "warning"}
    (text,) = [r["message"] for r in report["results"] if r["code"] == "JSD306"]
    assert "n1 started at" in text
    assert "and P306Q removes what is acknowledged" in text
    _, unmonitored = run_check(*arguments)
    (text,) = [r["message"] for r in unmonitored["results"] if r["code"] == "JSD306"]
    assert "P306Q, where it was published, removes what is acknowledged" in text
