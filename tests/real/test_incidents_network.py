"""Network partitions, an origin that died: one incident each, the cause first."""

import asyncio

import pytest
from nats.aio.client import Client

from tests.faults.test_cluster_health import _monitors
from tests.real.incident_reports import first_is, place_stream
from tests.servers import VERSIONS, Cluster, ClusterFactory, wait_until
from tests.servers.route_proxies import RouteProxies
from tests.support.deployment import HOUR_NS, add_stream, api
from tests.support.outage import peers_of, wait_until_silent, with_client
from tests.support.reports import run_check
from tests.support.stored import store

pytestmark = [pytest.mark.real, pytest.mark.nightly, pytest.mark.xdist_group("incidents")]

BOUNDS = {"max_bytes": 1 << 20, "max_age": HOUR_NS}


@pytest.mark.parametrize("version", VERSIONS)
def test_partition(cluster_factory: ClusterFactory, version: str) -> None:
    """A server runs and answers its clients, but reaches no other: for the rest it is away, and for itself all is."""
    with RouteProxies() as proxies:
        cluster = cluster_factory(version, 3, route_port=proxies.port)
        alone = next(name for name in cluster.names if name != cluster.meta_leader())
        with_client(cluster, lambda client: _furnish(client, alone))
        proxies.cut(alone)
        others = [name for name in cluster.names if name != alone]
        wait_until(lambda: peers_of(cluster, "ORDERS", asked=others), "the majority to lead", timeout=60)
        wait_until_silent(
            lambda: peers_of(cluster, "ORDERS", asked=others).get(alone), f"the leader of ORDERS to miss {alone}"
        )
        wait_until(
            lambda: not cluster.monitor(alone, "/jsz")["meta_cluster"].get("leader"), "no leader alone", timeout=60
        )
        wait_until(lambda: not peers_of(cluster, "ORDERS", asked=[alone]), "no leader of the stream alone", timeout=60)
        _majority_sees(cluster, alone)
        _connected_to_the_odd_one(cluster, alone)
        # Routes are not judged in the first minute of a cluster; the test does not wait for it.
        first_is(run_check(*_monitors(cluster), "--set", "JSD718.start_up=1s")[1], "JSD718 cluster", "JSD703")
        cluster.close()


def _majority_sees(cluster: Cluster, alone: str) -> None:
    """The server that the others do not hear is the cause of what each login misses."""
    for user, seen in (("sys", "JSD901"), ("app", "JSD702")):
        own = cluster.node(alone).url.rpartition(":")[2]
        majority = [url for url in cluster.servers(user) if not url.endswith(f":{own}")]
        first_is(run_check("--server", ",".join(majority))[1], f"JSD703 {alone}", seen)


def _connected_to_the_odd_one(cluster: Cluster, alone: str) -> None:
    """The server that is cut off comes first of the given addresses: the finding is about it, not about the cluster."""
    own = cluster.node(alone).url.rpartition(":")[2]
    for user in ("sys", "app"):
        odd_first = sorted(cluster.servers(user), key=lambda url: not url.endswith(f":{own}"))
        _, report = run_check("--server", ",".join(odd_first), "--set", "JSD718.start_up=1h")
        failed = {(r["code"], r["subject"].get("name", "")) for r in report["results"] if r["outcome"] == "fail"}
        assert ("JSD703", alone) in failed
        assert not any(code == "JSD701" or (code, name) == ("JSD702", "ORDERS") for code, name in failed)


@pytest.mark.parametrize("version", VERSIONS)
def test_one_way_partition(cluster_factory: ClusterFactory, version: str) -> None:
    """A server hears all others and nobody hears it: its routes are up, and it believes that all is well."""
    with RouteProxies() as proxies:
        cluster = cluster_factory(version, 3, route_port=proxies.port)
        alone = next(name for name in cluster.names if name != cluster.meta_leader())
        with_client(cluster, lambda client: _furnish(client, alone))
        others = [name for name in cluster.names if name != alone]
        with_client(cluster, lambda client: _lead_elsewhere(client, alone))
        proxies.mute(alone)
        wait_until_silent(
            lambda: peers_of(cluster, "ORDERS", asked=others).get(alone), f"the leader of ORDERS to miss {alone}"
        )
        _majority_sees(cluster, alone)
        first_is(run_check(*_monitors(cluster), "--set", "JSD718.start_up=1s")[1], f"JSD703 {alone}", "JSD706")
        cluster.close()


async def _lead_elsewhere(client: Client, alone: str) -> None:
    for _ in range(30):
        leader = (await api(client, "STREAM.INFO.ORDERS"))["cluster"].get("leader")
        if leader not in (None, alone):
            return
        if leader:
            await api(client, "STREAM.LEADER.STEPDOWN.ORDERS")
        await asyncio.sleep(0.3)
    raise AssertionError(f"ORDERS stays with {alone}")


async def _furnish(client: Client, alone: str) -> None:
    """A replicated stream, and one whose only copy is on that server."""
    await add_stream(client, "ORDERS", subjects=["orders"], num_replicas=3, **BOUNDS)
    await store(client, "orders")
    await place_stream(client, "SOLO", alone, subjects=["solo"], **BOUNDS)


@pytest.mark.parametrize("version", VERSIONS)
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
