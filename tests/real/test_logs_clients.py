"""What applications and servers log of refused publishes, lost consumers, duplicates and clocks, on real servers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from nats.js import api

from tests.clock import ShiftClock
from tests.real.logging_client import (
    Orders,
    application,
    publish_expecting,
    publish_same_id,
    record_advisories,
    recreate_under_reader,
    refused,
    stream,
)
from tests.servers import VERSIONS, Cluster, ClusterFactory, wait_until
from tests.support.reports import Json, failures_of, run_check

pytestmark = pytest.mark.real
TRACE = "debug: true\ntrace_verbose: true\n"


def judge(cluster: Cluster, directory: Path) -> Json:
    """The servers' logs beside what is in the directory, judged by themselves."""
    for name in cluster.names:
        shutil.copy(cluster.node(name).log_path, directory / f"{name}.log")
    _, report = run_check("--logs", str(directory), "--timezone", "UTC")
    return report


def has_line(path: Path, words: str, times: int = 1) -> Callable[[], bool]:
    return lambda: path.exists() and path.read_text().count(words) >= times


async def misuse(client: Client, log: logging.Logger, path: Path) -> None:
    """One after the other, what servers refuse and clients complain about."""
    js = client.jetstream()
    await record_advisories(client, log)
    await stream(client, "P201")
    for _ in range(5):
        await js.publish("p201", b"x")
    await publish_expecting(client, log, "P201", 2)
    await stream(client, "P203")
    await js.delete_stream("P203")
    await stream(client, "P203")
    await refused(log, "create", js.add_stream(name="P301", subjects=["p301"], max_age=10, duplicate_window=60))
    await stream(client, "P308")
    await publish_same_id(client, log, "P308", 12)
    await js.add_consumer("P201", durable_name="poison", ack_policy="explicit", max_deliver=1, ack_wait=0.2)
    await (await js.pull_subscribe("p201", "poison", stream="P201")).fetch(2)
    for _ in range(6):
        await refused(log, "lookup", js.consumer_info("P201", "gone"))
    await stream(client, "P418", retention="workqueue")
    await js.add_consumer("P418", durable_name="one", ack_policy="explicit")
    await refused(log, "create", js.add_consumer("P418", durable_name="two", ack_policy="explicit"))
    await refused(log, "update", js.add_consumer("P418", durable_name="one", ack_policy="all"))
    await stream(client, "P209")
    await recreate_under_reader(client, "P209")
    for _ in range(200):
        if has_line(path, "sequence mismatch", 4)() and has_line(path, "v1.max_deliver", 2)():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the mismatch or the advisories did not come")


@pytest.mark.parametrize("version", VERSIONS)
def test_what_applications_log(cluster_factory: ClusterFactory, version: str, tmp_path: Path) -> None:
    cluster = cluster_factory(version, extra_config=TRACE)
    logs = tmp_path / "logs"
    logs.mkdir()

    async def run() -> None:
        async with application(cluster.url("app"), logs / "shop.log") as (client, log):
            await misuse(client, log, logs / "shop.log")
        async with application(cluster.url("app"), logs / "ledger.log") as (client, log):
            await publish_expecting(client, log, "P203", 5)

    asyncio.run(run())
    report = judge(cluster, logs)
    traced = version != "2.10.26"
    assert failures_of(report, "JSD201") == {"shop": "warning"} | ({"P201": "warning"} if traced else {})
    assert failures_of(report, "JSD202") == {"ledger": "warning"} | ({"P203": "warning"} if traced else {})
    assert failures_of(report, "JSD203") == {"P203": "warning"}
    assert failures_of(report, "JSD209") == {"shop": "warning"}
    assert failures_of(report, "JSD301") == {"shop": "warning"}
    assert failures_of(report, "JSD304") == {"P308": "warning"}
    assert failures_of(report, "JSD308")["P308"] in ("info", "warning")
    assert failures_of(report, "JSD409") == {"P201/poison": "warning"}
    assert failures_of(report, "JSD411") == {"shop": "warning", "P209/push": "info"}
    assert failures_of(report, "JSD418") == {"shop": "warning"}


def test_batch_with_an_id_twice(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    """Atomic batches are newer than 2.12."""
    cluster = cluster_factory("2.15.1")

    async def run() -> None:
        async with application(cluster.url("app"), tmp_path / "shop.log") as (client, log):
            await stream(client, "P304", allow_atomic=True)
            for number in (1, 2):
                headers = {"Nats-Batch-Id": "b", "Nats-Batch-Sequence": str(number), "Nats-Msg-Id": "7"}
                if number == 2:
                    headers["Nats-Batch-Commit"] = "1"
                    answer = await client.request("p304", b"x", headers=headers, timeout=5)
                    log.error("commit failed: %s", answer.data.decode())
                else:
                    await client.request("p304", b"x", headers=headers, timeout=5)

    asyncio.run(run())
    _, report = run_check("--logs", str(tmp_path / "shop.log"))
    assert failures_of(report, "JSD304") == {"shop": "error"}


@pytest.mark.parametrize("version", VERSIONS)
def test_duplicates_after_a_restart(cluster_factory: ClusterFactory, version: str, tmp_path: Path) -> None:
    """A work queue that was emptied: its ids do not outlive a restart, and a publisher that is not sure sends again."""
    cluster = cluster_factory(version)
    logs, orders = tmp_path / "logs", Orders()
    logs.mkdir()

    async def work(*, take: bool) -> None:
        async with application(cluster.url("app"), logs / f"shop-{len(list(logs.iterdir()))}.log") as (client, log):
            js = client.jetstream()
            await stream(client, "P306", retention="workqueue")
            await js.add_consumer("P306", durable_name="c", ack_policy="explicit")
            stored = 0
            for number in range(4):
                ack = await js.publish("p306", b"x", headers={"Nats-Msg-Id": f"order-{number}"})
                stored += not ack.duplicate
            if take:
                reader = await js.pull_subscribe("p306", "c", stream="P306")
                for message in await reader.fetch(4, timeout=5):
                    orders.insert((message.headers or {})["Nats-Msg-Id"], log)
                    await message.ack_sync()

    asyncio.run(work(take=False))
    cluster.stop("n1")
    cluster.start("n1")
    asyncio.run(work(take=True))
    cluster.stop("n1")
    cluster.start("n1")
    asyncio.run(work(take=True))
    assert failures_of(judge(cluster, logs), "JSD306") == {"APP/P306": "warning"}


@pytest.mark.parametrize("version", VERSIONS)
def test_consumer_that_a_start_cannot_load(cluster_factory: ClusterFactory, version: str, tmp_path: Path) -> None:
    cluster = cluster_factory(version)

    async def create() -> None:
        client = await nats.connect(cluster.servers("app"))
        await stream(client, "P411")
        await client.jetstream().add_consumer("P411", durable_name="c", ack_policy=api.AckPolicy.EXPLICIT)
        await client.close()

    asyncio.run(create())
    cluster.stop("n1")
    metadata = next(cluster.store_dir("n1").rglob("obs/c/meta.inf"))
    metadata.unlink()
    cluster.start("n1")
    assert failures_of(judge(cluster, tmp_path), "JSD411") == {"APP/P411/c": "error"}


def test_restore(cluster_factory: ClusterFactory, nats_cli: Path, tmp_path: Path) -> None:
    cluster = cluster_factory("2.15.1")
    logs = tmp_path / "logs"
    logs.mkdir()

    async def create(*, delete: bool) -> None:
        client = await nats.connect(cluster.servers("app"))
        if delete:
            await client.jetstream().delete_stream("P203")
        else:
            await stream(client, "P203")
            await client.jetstream().publish("p203", b"x")
        await client.close()

    def typed(command: str) -> None:
        environment = {**os.environ, "NATS_URL": cluster.url("app"), "XDG_CONFIG_HOME": "/nonexistent"}
        words = [str(nats_cli), *shlex.split(command)]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr

    asyncio.run(create(delete=False))
    typed(f"stream backup P203 {tmp_path / 'backup'} --no-progress")
    asyncio.run(create(delete=True))
    typed(f"stream restore {tmp_path / 'backup'} --no-progress")
    assert failures_of(judge(cluster, logs), "JSD203") == {"APP/P203": "info"}


@pytest.mark.parametrize("version", VERSIONS)
def test_clock_that_is_set_back(
    cluster_factory: ClusterFactory, version: str, shift_clock: ShiftClock, tmp_path: Path
) -> None:
    cluster = cluster_factory(version)
    node = cluster.node("n1")
    for count in (1, 2):
        os.kill(node.pid, signal.SIGHUP)
        wait_until(has_line(node.log_path, "Reloaded server configuration", count), "the reload")
        if count == 1:
            shift_clock(node.pid, -30)
    report = judge(cluster, tmp_path)
    assert failures_of(report, "JSD104") == {"n1": "warning"}


@pytest.mark.parametrize("version", VERSIONS)
def test_clocks_that_are_apart(
    cluster_factory: ClusterFactory, version: str, shift_clock: ShiftClock, tmp_path: Path
) -> None:
    """Elections at uneven intervals, so that only one offset fits them all."""
    cluster = cluster_factory(version, nodes=3)
    shift_clock(cluster.node("n2").pid, 30)

    async def elect() -> None:
        client = await nats.connect(cluster.servers("sys"))
        try:
            for pause in (1, 4, 6, 5):
                await asyncio.sleep(pause)
                # A leader that steps down may be gone before it has answered.
                with contextlib.suppress(nats.errors.TimeoutError):
                    await client.request("$JS.API.META.LEADER.STEPDOWN", b"", timeout=1)
        finally:
            await client.close()

    asyncio.run(elect())
    wait_until(lambda: cluster.meta_leader() is not None, "a meta leader")
    report = judge(cluster, tmp_path)
    assert failures_of(report, "JSD106") == {"n2": "warning"}
    assert failures_of(report, "JSD104") == {}
