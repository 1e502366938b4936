"""What a check costs the servers that it reads: requests, bytes, processor time, and the latency of others' publishes.

By the servers' own record of the connections of jsdoctor, at 100, 1,000 and 10,000 assets on three nodes.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nats
import pytest

from bench.deployment import Deployment
from tests.servers import Cluster

pytestmark = [pytest.mark.real, pytest.mark.nightly]

CONSUMERS = 3
"""Of each stream: so a stream and its consumers are four assets."""
MAX_OF_SYSTEM = 64
"""Requests through the system account: their number does not grow with the assets."""
MAX_OF_ACCOUNT = (64, 1.5)
"""Requests through a plain account: so many, and so many for each stream."""
LOGINS = ("sys", "app", "monitor")
IDLE_S = 5.0
PUBLISH_EVERY_S = 0.05
PATIENCE_S = 60
"""For each reply: on a busy machine, monitoring ports take more than five seconds to list 10,000 assets."""


def processor_s(cluster: Cluster) -> float:
    """Processor time of all servers since they started, in seconds."""
    ticks = 0
    for name in cluster.names:
        fields = Path(f"/proc/{cluster.node(name).pid}/stat").read_text("ascii").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def connections(cluster: Cluster) -> dict[tuple[str, int], dict[str, Any]]:
    """Closed connections of jsdoctor by server and number."""
    by_client = {}
    for name in cluster.names:
        for connection in cluster.monitor(name, "/connz?state=closed&limit=10000")["connections"]:
            if connection.get("name", "").startswith("jsdoctor"):
                by_client[name, connection["cid"]] = connection
    return by_client


def http_requests(cluster: Cluster) -> int:
    """Requests to the monitoring ports since the servers started."""
    return sum(sum(cluster.monitor(name, "/varz")["http_req_stats"].values()) for name in cluster.names)


async def publish_while(cluster: Cluster, work: Callable[[], Any]) -> tuple[Any, list[float]]:
    """Something that takes a while, and how long publishes of another client took meanwhile, in milliseconds."""
    client = await nats.connect(cluster.servers("app"))
    jetstream = client.jetstream(timeout=30)
    took: list[float] = []
    over = asyncio.Event()

    async def publish() -> None:
        while not over.is_set():
            began = time.perf_counter()
            await jetstream.publish("S0000.a", b"x" * 100)
            took.append((time.perf_counter() - began) * 1000)
            await asyncio.sleep(PUBLISH_EVERY_S)

    publishing = asyncio.create_task(publish())
    try:
        result = await work()
    finally:
        over.set()
        await publishing
        await client.close()
    return result, took


async def check(cluster: Cluster, login: str) -> tuple[float, dict[str, Any]]:
    """Seconds of a check as its users run it, and its report."""
    where = ["--server", cluster.url(login)] if login != "monitor" else []
    where += [f"--monitor={url}" for url in cluster.monitor_urls if login == "monitor"]
    options = ["--isolated", "--format", "json", "--timeout", f"{PATIENCE_S}s"]
    command = [sys.executable, "-m", "jsdoctor", "check", *options, *where]
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    return time.perf_counter() - began, json.loads(output)


@pytest.mark.parametrize("assets", [100, 1000, 10000])
def test_the_servers_hardly_notice_a_check(assets: int) -> None:
    streams = assets // (1 + CONSUMERS)
    with Deployment.launch(CONSUMERS) as deployment:
        deployment.grow_to(streams)
        costs = [cost(deployment.cluster, login) for login in LOGINS]
    requests = dict(zip(LOGINS, (int(cost["requests"]) for cost in costs), strict=True))
    assert 0 < requests["sys"] <= MAX_OF_SYSTEM
    assert 0 < requests["app"] <= MAX_OF_ACCOUNT[0] + MAX_OF_ACCOUNT[1] * streams
    assert 0 < requests["monitor"] <= MAX_OF_SYSTEM * 3


def cost(cluster: Cluster, login: str) -> dict[str, Any]:
    """What one check costs, and what it costs others."""
    before = processor_s(cluster)
    _, idle = asyncio.run(publish_while(cluster, lambda: asyncio.sleep(IDLE_S)))
    idle_share = (processor_s(cluster) - before) / IDLE_S
    known, http, before = connections(cluster), http_requests(cluster), processor_s(cluster)
    (seconds, report), busy = asyncio.run(publish_while(cluster, lambda: check(cluster, login)))
    used = processor_s(cluster) - before - idle_share * seconds
    http = http_requests(cluster) - http - len(cluster.names)  # what this function itself requested in between
    ours = [connection for key, connection in connections(cluster).items() if key not in known]
    assert [gap for gap in report["gaps"] if gap["requested"]] == []
    return {
        "login": login,
        "requests": http if login == "monitor" else sum(connection["in_msgs"] for connection in ours),
        "kB received": "" if login == "monitor" else round(sum(connection["out_bytes"] for connection in ours) / 1000),
        "processor seconds of the servers above idle": round(max(used, 0.0), 2),
        "seconds": round(seconds, 1),
        "publish, median ms": f"{statistics.median(busy):.1f} (idle {statistics.median(idle):.1f})",
        "publish, longest ms": f"{max(busy):.0f} (idle {max(idle):.0f})",
    }
