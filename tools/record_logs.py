"""Records `fixtures/logs/healthy`: what servers log that nothing is wrong with, whatever their operators do to them.

    python -m tools.record_logs [VERSION...]     (some minutes)

No rule may call anything in these logs more than information.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.servers import VERSIONS, Cluster, wait_until
from tests.support.deployment import Traffic, furnish
from tests.support.log_cases import HEALTHY

LAME_DUCK = "lame_duck_duration: 30s\nlame_duck_grace_period: 1s\n"


def one_node(cluster: Cluster) -> None:
    """Start, use, reload, stop, start, lame duck mode, start, stop."""
    asyncio.run(use(cluster, 1))
    os.kill(cluster.node("n1").pid, signal.SIGHUP)
    time.sleep(1)
    cluster.stop("n1")
    cluster.start("n1")
    lame_duck(cluster, "n1")
    cluster.start("n1")
    cluster.stop("n1")


def rolling_restart(cluster: Cluster) -> None:
    """Start, use, stop and start one after the other while clients work, stop all."""
    asyncio.run(use(cluster, 3))
    for name in cluster.names:
        cluster.stop(name)
        cluster.start(name)
        wait_until(lambda: replicas_are_current(cluster), "all replicas to be current", timeout=60)
    for name in cluster.names:
        cluster.stop(name)


def lame_duck_and_reload(cluster: Cluster) -> None:
    """Start, use, reload all, lame duck mode one after the other, the leader last, stop all at once."""
    asyncio.run(use(cluster, 3))
    for name in cluster.names:
        os.kill(cluster.node(name).pid, signal.SIGHUP)
    leader = cluster.meta_leader()
    for name in sorted(cluster.names, key=lambda name: name == leader):
        lame_duck(cluster, name)
        cluster.start(name)
        wait_until(lambda: replicas_are_current(cluster), "all replicas to be current", timeout=60)
    for name in cluster.names:
        os.kill(cluster.node(name).pid, signal.SIGTERM)
    for name in cluster.names:
        cluster.stop(name)


SCENARIOS: dict[str, tuple[int, Callable[[Cluster], None]]] = {
    "one-node": (1, one_node),
    "rolling-restart": (3, rolling_restart),
    "lame-duck": (3, lame_duck_and_reload),
}


async def use(cluster: Cluster, replicas: int) -> None:
    """Streams, consumers and some seconds of traffic."""
    await furnish(cluster.url("app"), replicas)
    async with Traffic(cluster.url("app")):
        await asyncio.sleep(3)


def lame_duck(cluster: Cluster, name: str) -> None:
    """Let a server leave in order."""
    node = cluster.node(name)
    os.kill(node.pid, signal.SIGUSR2)
    wait_until(lambda: not node.running, f"{name} to leave", timeout=90)


def replicas_are_current(cluster: Cluster) -> bool:
    """Whether every stream has a leader and current replicas."""
    seen = 0
    for name in cluster.names:
        for account in cluster.monitor(name, "/jsz?accounts=true&streams=true").get("account_details") or []:
            for stream in account.get("stream_detail") or []:
                placed = stream.get("cluster") or {}
                if placed.get("leader") == name:
                    seen += 1
                    if any(not peer["current"] for peer in placed.get("replicas") or []):
                        return False
    return seen > 0


def record(version: str, scenario: str) -> None:
    """One directory of logs, a file for each server."""
    nodes, run = SCENARIOS[scenario]
    target = HEALTHY / version / scenario
    with (
        tempfile.TemporaryDirectory(prefix="jsdoctor-logs-") as directory,
        Cluster.launch(Path(directory), version, nodes, extra_config=LAME_DUCK) as cluster,
    ):
        run(cluster)
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for name in cluster.names:
            text = cluster.node(name).log_path.read_text().replace(str(cluster.directory), "/srv/nats")
            (target / f"{name}.log").write_text(text)


if __name__ == "__main__":
    for chosen in sys.argv[1:] or VERSIONS:
        for what in SCENARIOS:
            record(chosen, what)
