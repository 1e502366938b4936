"""Leaf nodes: sites with a JetStream of their own, whatever their servers and domains are called."""

from __future__ import annotations

import asyncio
from pathlib import Path

import nats
import pytest

from tests.real.outage import Json, check
from tests.servers import VERSIONS
from tests.support.deployment import HOUR_NS, add_stream
from tests.topologies.landscape import Landscape, leaf_listener, leaf_remotes, routed, server

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("topologies")]
HUB = ["h1", "h2", "h3"]
BOUNDED = {"max_bytes": 1 << 24, "max_age": HOUR_NS, "max_msg_size": 1 << 20}


async def stream(url: str, replicas: int = 1) -> None:
    """The stream ORDERS with five messages: every site has one of that name."""
    client = await nats.connect(url.split(","))
    try:
        await add_stream(client, "ORDERS", subjects=["orders"], num_replicas=replicas, **BOUNDED)
        for _ in range(5):
            await client.request("orders", b"x", timeout=5)
    finally:
        await client.close()


def loud(report: Json) -> list[str]:
    """Everything at warning or above, and every check that failed to run."""
    return [
        f"{r['code']} {r['severity']} {r['subject']['account']} {r['subject']['name']}: {r['message']}"
        for r in report["results"]
        if r["outcome"] == "error" or (r["outcome"] == "fail" and r["severity"] != "info")
    ]


@pytest.mark.parametrize("version", VERSIONS[-1:])
def test_sites_whose_names_repeat_those_of_the_hub(tmp_path: Path, version: str) -> None:
    """Single servers are no cluster, and a server named as one of the hub's was not restarted between the samples."""
    with Landscape(tmp_path, version) as land:
        for key in HUB:
            land.start(key, server(key, domain="hub") + routed(land, "HUB", key, HUB) + leaf_listener(land, key))
        land.wait_meta(*HUB)
        land.start("own", server("shop", domain="shop") + leaf_remotes(land, HUB))
        land.start("same-name", server("h1", domain="depot") + leaf_remotes(land, HUB))
        land.wait_leafs("own", 2)
        land.wait_leafs("same-name", 2)
        asyncio.run(stream(land.url(*HUB), replicas=3))
        for key in ("own", "same-name"):
            asyncio.run(stream(land.url(key)))
        # Only now: with the domain and the system account of the hub, it answers for the hub.
        land.start("same-domain", server("h2", domain="hub") + leaf_remotes(land, HUB, ("sys",)))
        land.wait_leafs("same-domain", 1)
        code, report = check("--server", land.url(*HUB, user="sys"), "--set", "JSD721.start_up=0s")
        assert (code, [line.split(":")[0] for line in loud(report)]) == (1, ["JSD721 error  hub/h2"])
        monitored = [word for key in (*HUB, "own", "same-name") for word in ("--monitor", land.node(key).monitor_url)]
        code, report = check(*monitored)
        assert (code, loud(report)) == (0, [])
