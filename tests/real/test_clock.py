"""What a server whose clock was wrong leaves behind, on real servers with a shifted clock."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import nats
import pytest

from tests.clock import ShiftClock, clock_shifter
from tests.real.ward import failures, run_check
from tests.servers import Cluster, ClusterFactory, wait_until
from tests.servers.natscli import run_printed
from tests.support.deployment import add_stream, api

pytestmark = pytest.mark.real

HOUR_S = 3600
SECOND_NS = 1_000_000_000


@pytest.fixture(scope="module")
def shift_clock(tmp_path_factory: pytest.TempPathFactory) -> ShiftClock:
    return clock_shifter(tmp_path_factory.mktemp("clock"))


async def publish(cluster: Cluster, count: int, **stream: Any) -> None:
    client = await nats.connect(cluster.servers("app"))
    try:
        if stream:
            await add_stream(client, "P108", subjects=["p108"], **stream)
        for _ in range(count):
            await client.request("p108", b"x", timeout=10)
    finally:
        await client.close()


async def messages(cluster: Cluster) -> int:
    client = await nats.connect(cluster.servers("app"))
    try:
        return int((await api(client, "STREAM.INFO.P108"))["state"]["messages"])
    finally:
        await client.close()


def typed(nats_cli: Path, command: str, url: str) -> None:
    """Run a printed command as a user would."""
    done = run_printed(nats_cli, command, NATS_URL=url)
    assert done.returncode == 0, done.stderr


def test_message_of_a_clock_that_was_ahead(
    cluster_factory: ClusterFactory, server_version: str, shift_clock: ShiftClock, nats_cli: Path
) -> None:
    """An hour ahead, one message, put right by a restart: expiry is stuck until the message is deleted."""
    cluster = cluster_factory(server_version)
    asyncio.run(publish(cluster, 0, max_age=2 * SECOND_NS, max_bytes=1 << 20))
    shift_clock(cluster.node("n1").pid, HOUR_S)
    asyncio.run(publish(cluster, 1))
    cluster.stop("n1")
    cluster.start("n1")
    asyncio.run(publish(cluster, 2))

    _, report = run_check("--server", cluster.url("sys"), "--interval", "3s")
    assert failures(report, "APP/P108").get("JSD108") == "error"
    # Both samples were taken, three seconds apart, with messages that two seconds should have removed.
    assert asyncio.run(messages(cluster)) == 3

    failure = next(r for r in report["results"] if r["code"] == "JSD108" and r["outcome"] == "fail")
    for command in failure["remedy"]["commands"]:
        typed(nats_cli, command, cluster.url("app"))
    _, cured = run_check("--server", cluster.url("sys"))
    assert "JSD108" not in failures(cured, "APP/P108")
    wait_until(lambda: asyncio.run(messages(cluster)) == 0, "the other messages to expire")


def test_messages_agree_with_the_clock_of_their_server(
    cluster_factory: ClusterFactory, server_version: str, shift_clock: ShiftClock
) -> None:
    """While server and messages share the wrong clock, nothing is dated in that server's future."""
    cluster = cluster_factory(server_version)
    shift_clock(cluster.node("n1").pid, HOUR_S)
    asyncio.run(publish(cluster, 3, max_age=24 * HOUR_S * SECOND_NS, max_bytes=1 << 20))
    _, report = run_check("--server", cluster.url("sys"))
    assert "JSD108" not in failures(report, "APP/P108")
