"""A mirror whose origin was on a server that died: one incident, the server first. The expectation came first."""

from __future__ import annotations

import pytest
from nats.aio.client import Client

from tests.real.incident_reports import first_is, place_stream
from tests.real.outage import peers_of, wait_until_silent, with_client
from tests.real.ward import run_check
from tests.servers import VERSIONS, Cluster, ClusterFactory, wait_until
from tests.support.deployment import HOUR_NS, add_stream

pytestmark = [pytest.mark.real, pytest.mark.nightly, pytest.mark.xdist_group("incidents")]

EVERY_VERSION = pytest.mark.parametrize("version", VERSIONS)
BOUNDS = {"max_bytes": 1 << 20, "max_age": HOUR_NS}


@EVERY_VERSION
def test_dead_upstream(cluster_factory: ClusterFactory, version: str) -> None:
    """The origin of a mirror has one copy, on a server that dies: the mirror stands, and the server is the cause."""
    cluster = cluster_factory(version, 3)
    dead = next(name for name in cluster.names if name != cluster.meta_leader())
    others = [name for name in cluster.names if name != dead]

    async def furnish(client: Client) -> None:
        await place_stream(client, "ORIGIN", dead, subjects=["origin"], **BOUNDS)
        await place_stream(client, "COPY", others[0], mirror={"name": "ORIGIN"}, **BOUNDS)
        await add_stream(client, "ORDERS", subjects=["orders"], num_replicas=3, **BOUNDS)
        await client.request("origin", b"x", timeout=10)

    with_client(cluster, furnish)
    wait_until(lambda: _copied(cluster, others[0]) == 1, "the mirror to have the message", timeout=30)
    cluster.kill(dead)
    wait_until_silent(
        lambda: peers_of(cluster, "ORDERS", asked=others).get(dead), f"the leader of ORDERS to miss {dead}"
    )
    report = run_check(
        "--server", cluster.url("app"), "--set", "JSD607.warn_silence=5s", "--set", "JSD607.max_silence=8s"
    )[1]
    first_is(report, f"JSD703 {dead}", "JSD702", "JSD607")


def _copied(cluster: Cluster, server: str) -> int:
    for account in cluster.monitor(server, "/jsz?accounts=true&streams=true").get("account_details") or []:
        for stream in account.get("stream_detail") or []:
            if stream["name"] == "COPY":
                return int(stream["state"]["messages"])
    return 0
