"""What applications and servers log of refused publishes, lost consumers, duplicates and clocks, on real servers."""

import asyncio
import contextlib
import logging
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client

from tests.clock import ShiftClock
from tests.real.logging_client import (
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


@pytest.mark.nightly
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
