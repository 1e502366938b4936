"""What a leader whose clock was wrong has stored, found by reading it: `--scan` on real servers with shifted clocks."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client

from tests.clock import ShiftClock, clock_shifter
from tests.collect.looking import NIGHTLY_UNLESS_DEFAULT
from tests.real.test_clock import typed
from tests.real.ward import Json, run_check
from tests.servers import Cluster, ClusterFactory
from tests.support.deployment import add_stream, api

pytestmark = pytest.mark.real

AHEAD_S = 60
SECOND_NS = 1_000_000_000
HOUR_NS = 3600 * SECOND_NS


@pytest.fixture(scope="module")
def shift_clock(tmp_path_factory: pytest.TempPathFactory) -> ShiftClock:
    return clock_shifter(tmp_path_factory.mktemp("clock"))


async def step_down(client: Client) -> None:
    """A leader that steps down may be gone before it has answered."""
    with contextlib.suppress(nats.errors.TimeoutError):
        await client.request("$JS.API.STREAM.LEADER.STEPDOWN.P105", b"", timeout=2)


async def lead(client: Client, name: str) -> None:
    """Step the leader of P105 down until it is that server: before 2.11 nobody can say who is next."""
    for _ in range(60):
        if (await api(client, "STREAM.INFO.P105"))["cluster"].get("leader") == name:
            return
        await step_down(client)
        await asyncio.sleep(0.5)
    raise AssertionError(f"{name} does not become leader")


async def publish(client: Client, count: int) -> None:
    for _ in range(count):
        for _ in range(40):
            try:
                await client.request("p105", b"x", timeout=5)
                break
            except nats.errors.Error:
                await asyncio.sleep(0.1)  # a new leader takes some time until it stores


async def led_by(cluster: Cluster, *names: str) -> None:
    """Five messages of each of these leaders, one after the other."""
    client = await nats.connect(cluster.servers("app"))
    try:
        await add_stream(client, "P105", subjects=["p105"], num_replicas=3, max_age=HOUR_NS, max_bytes=1 << 20)
        for name in names:
            await lead(client, name)
            await publish(client, 5)
    finally:
        await client.close()


def inversion(report: Json) -> Json | None:
    failed = [r for r in report["results"] if r["code"] == "JSD105" and r["outcome"] == "fail"]
    assert len(failed) <= 1
    return failed[0] if failed else None


@pytest.mark.parametrize("server_version", NIGHTLY_UNLESS_DEFAULT)
def test_the_lead_went_to_a_server_that_is_behind(
    cluster_factory: ClusterFactory, server_version: str, shift_clock: ShiftClock, nats_cli: Path, tmp_path: Path
) -> None:
    cluster = cluster_factory(server_version, nodes=3)
    asyncio.run(led_by(cluster, "n1"))
    scan = ("--scan", "P105", "--select", "JSD105")
    code, report = run_check("--server", cluster.url("app"), *scan)
    assert (code, inversion(report)) == (0, None)
    assert [rule["outcome"] for rule in report["rules"]] == ["pass"]

    shift_clock(cluster.node("n2").pid, AHEAD_S)
    asyncio.run(led_by(cluster, "n2", "n3"))
    _, report = run_check("--server", cluster.url("app"), *scan)
    failure = inversion(report)
    assert failure is not None
    assert failure["severity"] == "warning"
    assert failure["subject"]["account"] == "APP"
    assert 0 < failure["measured"] <= AHEAD_S * SECOND_NS
    assert "in 1 place dates go back" in failure["message"]
    assert "message 11 is dated before message 10" in failure["message"]
    assert ("n3 had become leader just before message 11" in failure["message"]) == (
        not server_version.startswith("2.10")
    )
    for command in failure["remedy"]["commands"]:
        typed(nats_cli, command, cluster.url("app"))

    bundle = tmp_path / "dates.zip"
    command = [sys.executable, "-m", "jsdoctor", "capture", "-o", str(bundle), "--server", cluster.url("app")]
    done = subprocess.run([*command, "--scan", "P105"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    again = inversion(run_check("--bundle", str(bundle), "--select", "JSD105")[1])
    assert again is not None
    # What is still dated in the future is less by the time in between.
    assert again["message"].split("; 5 messages")[0] == failure["message"].split("; 5 messages")[0]
    assert [again[name] for name in ("measured", "severity")] == [failure[name] for name in ("measured", "severity")]


@pytest.mark.parametrize("server_version", NIGHTLY_UNLESS_DEFAULT)
def test_changes_of_leader_with_equal_clocks_leave_nothing(
    cluster_factory: ClusterFactory, server_version: str
) -> None:
    """Messages are published all the while that the lead changes."""
    cluster = cluster_factory(server_version, nodes=3)

    async def change() -> None:
        client = await nats.connect(cluster.servers("app"))
        await add_stream(client, "P105", subjects=["p105"], num_replicas=3, max_age=HOUR_NS, max_bytes=8 << 20)
        publishing = [asyncio.create_task(publish(client, 400)) for _ in range(8)]
        for _ in range(6):
            await asyncio.sleep(0.5)
            await step_down(client)
        await asyncio.gather(*publishing)
        await client.close()

    asyncio.run(change())
    _, report = run_check("--server", cluster.url("app"), "--scan", "P105", "--select", "JSD105")
    assert [rule["outcome"] for rule in report["rules"]] == ["pass"]


def test_only_the_owner_of_a_stream_can_read_it(shared_cluster: ClusterFactory) -> None:
    cluster = shared_cluster()
    code, report = run_check("--server", cluster.url("sys"), "--scan", "P105", "--select", "JSD105")
    assert code == 3
    (gap,) = [gap for gap in report["gaps"] if gap["kind"] == "scan" and gap["subject"].get("name") == "P105"]
    assert "system account" in gap["reason"]
    assert "--scan P105" in gap["how_to_get"]
    assert [rule["outcome"] for rule in report["rules"]] == ["not_evaluated"]
