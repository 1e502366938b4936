"""Five real servers on three nodes: two replicas on one node, leaders, and a probe that hides one of them."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import nats
import pytest

from tests.kube.lab import check, failures, lab, message, probe_readiness
from tests.servers import Cluster, ClusterFactory, wait_until

pytestmark = [pytest.mark.real, pytest.mark.nightly, pytest.mark.xdist_group("kube")]

NODES = ("node-a", "node-a", "node-b", "node-b", "node-c")
TAGS = {"n1": "pair, spread", "n2": "pair", "n3": "pair, spread", "n4": "rest", "n5": "spread"}
"""PAIR is on n1, n2 and n3, of which two are on node-a; SPREAD is on n1, n3 and n5, each on its own node."""


@pytest.fixture
def five(cluster_factory: ClusterFactory) -> Cluster:
    cluster = cluster_factory("2.15.1", 5, node_config=lambda name: f"server_tags: [{TAGS[name]}]\n")
    asyncio.run(_streams(cluster))
    return cluster


async def _streams(cluster: Cluster) -> None:
    client = await nats.connect(cluster.servers("app"))
    for name in ("PAIR", "SPREAD"):
        config = {"name": name, "subjects": [name.lower()], "num_replicas": 3, "storage": "file", "max_bytes": 1 << 20}
        body = json.dumps({**config, "placement": {"tags": [name.lower()]}}).encode()
        reply = json.loads((await client.request(f"$JS.API.STREAM.CREATE.{name}", body, timeout=20)).data)
        assert "error" not in reply, reply
        for _ in range(20):
            await client.jetstream().publish(name.lower(), b"x")
    info: dict[str, Any] = {}
    for _ in range(40):
        info = json.loads((await client.request("$JS.API.STREAM.INFO.SPREAD", b"", timeout=10)).data)
        if info["cluster"].get("leader") == "n1":
            break
        placed = json.dumps({"placement": {"preferred": "n1"}}).encode()
        await client.request("$JS.API.STREAM.LEADER.STEPDOWN.SPREAD", placed, timeout=10)
        await asyncio.sleep(0.5)
    assert info["cluster"]["leader"] == "n1"
    await client.close()


def test_replicas_budget_and_readiness_of_five_servers(five: Cluster, tmp_path: Path) -> None:
    plain = {"readinessProbe": {"httpGet": {"path": "/healthz", "port": "monitor"}, "periodSeconds": 5}}
    with lab(five, tmp_path, nodes=NODES, budget={"maxUnavailable": 2}, containers={"n1": plain}) as (kube, _):
        wait_until(lambda: all(probe_readiness(kube).values()), "all pods are ready", timeout=30)
        code, report = check(kube, tmp_path)
        failed = failures(report)
        assert code == 0, "these are warnings"
        assert failed == {"JSD835": ["PAIR"], "JSD833": ["nats"], "JSD838": ["n1"]}, report["results"]
        assert "2 of its 3 replicas are on node node-a (n1, n2)" in message(report, "JSD835", "PAIR")
        assert "streams with 3 replicas bear the loss of 1" in message(report, "JSD833", "nats")
        assert "it leads" in message(report, "JSD838", "n1")

        for name in ("n2", "n3", "n4"):  # SPREAD has n1 and n5 left; the meta group has no majority
            five.kill(name)
        wait_until(lambda: not probe_readiness(kube)["n1"], "the probe of n1 fails without a meta leader", timeout=60)
        time.sleep(20)  # it fails for a moment before it fails for good
        assert probe_readiness(kube) == {"n1": False, "n2": False, "n3": False, "n4": False, "n5": True}
        _, report = check(kube, tmp_path, "--set", "JSD836.grace=1s", "--set", "JSD831.recent=1s")
        failed = failures(report)
        assert failed["JSD838"] == ["n1"]
        assert "its health check fails now (JetStream has not established contact with" in message(
            report, "JSD838", "n1"
        )
        assert sorted(failed["JSD836"]) == ["n1", "n2", "n3", "n4"]
        assert "it leads 1 stream" in message(report, "JSD836", "n1"), "SPREAD works, and its leader is hidden"
