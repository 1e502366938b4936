"""Faults of streams that do not fit beside others: a shifted clock, a server that was removed for good."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from nats.aio.client import Client

from tests.clock import clock_shifter
from tests.real.outage import check, failures_of, with_client
from tests.servers import VERSIONS, ClusterFactory, wait_until
from tests.support.deployment import add_stream, api

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("stream-limits")]

SECOND_NS = 1_000_000_000


@pytest.mark.nightly  # it stops and resumes the server to shift its clock: a loaded machine can make that last
@pytest.mark.parametrize("version", VERSIONS)
def test_stuck_expiry_is_found(cluster_factory: ClusterFactory, tmp_path: Path, version: str) -> None:
    """A message stored while the clock was an hour ahead keeps everything behind it; without it, expiry goes on."""
    shift = clock_shifter(tmp_path)
    cluster = cluster_factory(version, 1)
    pid = cluster.node("n1").pid

    async def publish(client: Client, count: int) -> None:
        for _ in range(count):
            await client.request("stuck", b"x", timeout=5)

    with_client(cluster, lambda c: add_stream(c, "STUCK", subjects=["stuck"], max_age=3 * SECOND_NS, max_bytes=1 << 22))
    shift(pid, 3600)
    with_client(cluster, lambda c: publish(c, 1))
    shift(pid, 0)
    with_client(cluster, lambda c: publish(c, 4))
    # The rule allows for five seconds of delay.
    with_client(cluster, lambda _: asyncio.sleep(9))
    _, report = check("--server", cluster.url("app"))
    assert failures_of(report, "JSD611") == {"APP/STUCK": "error"}

    def left() -> int:
        return int(with_client(cluster, lambda c: api(c, "STREAM.INFO.STUCK"))["state"]["messages"])

    assert left() == 5
    with_client(cluster, lambda c: api(c, "STREAM.MSG.DELETE.STUCK", {"seq": 1, "no_erase": True}))
    wait_until(lambda: left() == 0, "the others to expire", timeout=60)
    _, report = check("--server", cluster.url("app"))
    assert failures_of(report, "JSD611") == {}


@pytest.mark.parametrize("version", VERSIONS)
def test_more_replicas_than_servers_are_found(cluster_factory: ClusterFactory, version: str) -> None:
    """Nothing refuses to remove a server for good, though the streams on it have nowhere else to go."""
    cluster = cluster_factory(version, 3)

    async def remove(client: Client) -> None:
        reply = await client.request("$JS.API.SERVER.REMOVE", json.dumps({"peer": "n3"}).encode(), timeout=5)
        assert json.loads(reply.data)["success"], reply.data

    with_client(cluster, lambda c: add_stream(c, "WIDE", subjects=["wide"], num_replicas=3, max_bytes=1 << 22))
    _, report = check("--server", cluster.url("sys"))
    assert failures_of(report, "JSD605") == {}
    cluster.stop("n3")
    wait_until(lambda: cluster.meta_leader() in ("n1", "n2"), "a meta leader among the others", timeout=60)
    with_client(cluster, remove, user="sys")
    cluster.wait_ready()
    _, report = check("--server", cluster.url("sys"))
    assert failures_of(report, "JSD605") == {"APP/WIDE": "error"}
