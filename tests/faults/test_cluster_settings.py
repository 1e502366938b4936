"""Clusters whose servers differ, piled streams, writes that a power cut takes back, leaders that change."""

import os
import signal
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from jsdoctor.demo.server import NatsServer, free_ports
from tests.real.test_logs_cluster import judge, loud
from tests.servers import VERSIONS, Cluster, ClusterFactory, server_binary, wait_until
from tests.servers.http import get
from tests.support.deployment import add_stream, api
from tests.support.outage import peers_of, with_client
from tests.support.reports import failures_of, run_check
from tests.support.samples import NAME, made, once, settled, severities

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("cluster-settings")]


ONCE = ("--samples", "1")
"""None of these rules judges a rate."""


def _codes(report: dict[str, Any]) -> set[str]:
    return {result["code"] for result in report["results"] if result["outcome"] == "fail"}


@pytest.mark.parametrize(("old", "new"), [("2.12.8", "2.15.1"), ("2.10.26", "2.12.8")])
def test_server_with_another_version_is_found(cluster_factory: ClusterFactory, old: str, new: str) -> None:
    cluster = cluster_factory(old, 3)
    _, report = run_check("--server", cluster.url("sys"), *ONCE)
    assert not _codes(report) & {"JSD709", "JSD710", "JSD711", "JSD712", "JSD813"}
    cluster.stop("n3")
    # So much older than n3 are the others for good, and so long may the last check take to see n3 at its present age.
    wait_until(
        lambda: min(_uptime(cluster, name) for name in ("n1", "n2")) >= 15, "the others to run for a while", timeout=30
    )
    cluster._binary = server_binary(new)
    cluster.start("n3")
    code, report = run_check("--server", cluster.url("sys"), *ONCE)
    assert failures_of(report, "JSD709") == {"cluster": "warning"}
    assert code == 0
    # n1 runs for at least this long and n3 for less: as if n3 had been upgraded just now.
    since = _uptime(cluster, "n1")
    report = run_check("--server", cluster.url("sys"), *ONCE, "--set", f"JSD709.roll_out={since}s")[1]
    assert failures_of(report, "JSD709") == {"cluster": "info"}


def _uptime(cluster: Cluster, name: str) -> int:
    varz = cluster.monitor(name, "/varz")
    return int((datetime.fromisoformat(varz["now"]) - datetime.fromisoformat(varz["start"])).total_seconds())


@pytest.mark.parametrize("version", VERSIONS)
def test_settings_that_differ_are_named(cluster_factory: ClusterFactory, version: str) -> None:
    def own(node: str) -> str:
        return (
            "max_payload: 4MB\nmax_connections: 500\n" if node == "n3" else "max_payload: 1MB\nmax_connections: 900\n"
        )

    cluster = cluster_factory(version, 3, node_config=own)
    _, report = run_check("--server", cluster.url("sys"), *ONCE)
    assert failures_of(report, "JSD710") == {"cluster": "warning"}
    (difference,) = [result for result in report["results"] if result["code"] == "JSD710"]
    assert "max_payload differs (n1, n2: 1,048,576; n3: 4,194,304)" in difference["message"]
    assert "max_connections differs" in difference["message"]
    cluster.stop("n3")
    cluster._configs["n3"] = cluster._configs["n3"].replace("4MB", "1MB").replace("500", "900")
    cluster.start("n3")
    code, report = run_check("--server", cluster.url("sys"), *ONCE)
    assert failures_of(report, "JSD710") == {}
    if version >= "2.11":
        digests = {cluster.monitor(name, "/varz")["config_digest"] for name in cluster.names}
        assert len(digests) == 3, "names and ports make every digest another one: no reason to complain"
    assert code == 0


HUB = """server_name: "{name}"
system_account: SYS
accounts {{ SYS {{ users: [{{user: sys, password: sys}}] }}, APP {{ users: [{{user: app, password: app}}] }} }}
cluster {{ name: "{cluster}", listen: "127.0.0.1:{route}" }}
leafnodes {{ listen: "127.0.0.1:{leaf}" }}
"""
EDGE = """server_name: "{name}"
cluster {{ name: edge, listen: "127.0.0.1:-1" }}
leafnodes {{ remotes: [{{ url: "nats://app:app@127.0.0.1:{leaf}" }}] }}
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_white_space_in_names_is_found(tmp_path: Path, version: str) -> None:
    """Up to 2.10 a name may have spaces; tabs pass every version."""
    gap = " " if version < "2.11" else "\\t"
    (leaf, route), shown = free_ports(2), gap.replace("\\t", "\t")
    hub = HUB.format(name=f"hub{gap}one", cluster=f"my{gap}cluster", route=route, leaf=leaf)
    edge = EDGE.format(name=f"edge{gap}one", leaf=leaf)
    with NatsServer.start(server_binary(version), hub, tmp_path / "hub") as server:
        url = server.url.replace("nats://", "nats://sys:sys@")
        severities = failures_of(run_check("--server", url, *ONCE)[1], "JSD711")
        assert severities == {f"my{shown}cluster": "error", f"hub{shown}one": "warning"}
    good = hub.replace(f"hub{gap}one", "hub-one").replace(f"my{gap}cluster", "my-cluster")
    with (
        NatsServer.start(server_binary(version), good, tmp_path / "good") as server,
        NatsServer.start(server_binary(version), edge, tmp_path / "edge"),
    ):
        url = server.url.replace("nats://", "nats://sys:sys@")
        assert failures_of(run_check("--server", url, *ONCE)[1], "JSD711") in ({}, {f"edge{shown}one": "warning"})
        wait_until(lambda: get(server.monitor_url + "/leafz").json()["leafs"], "the leaf node to come", timeout=20)
        assert failures_of(run_check("--server", url, *ONCE)[1], "JSD711") == {f"edge{shown}one": "warning"}


def _many(names: list[str], tag: str) -> Callable[[Client], Awaitable[None]]:
    async def work(client: Client) -> None:
        for name in names:
            placed = {"num_replicas": 1, "max_bytes": 1 << 16, "placement": {"tags": [tag]}}
            await add_stream(client, name, subjects=[name.lower()], **placed)

    return work


@pytest.mark.parametrize("version", VERSIONS)
def test_streams_piled_on_one_server_are_found(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 3, node_config=lambda node: f'server_tags: ["{node}"]\n')
    with_client(cluster, _many([f"PILED{number}" for number in range(32)], "n2"))
    for user in ("sys", "app"):
        code, report = run_check("--server", cluster.url(user), *ONCE)
        # A plain account does not know of servers that hold nothing for it.
        assert failures_of(report, "JSD712") == ({"n2": "info"} if user == "sys" else {})
        assert code == 0
    for other in ("n1", "n3"):
        with_client(cluster, _many([f"{other}_{number}" for number in range(24)], other))
    assert failures_of(run_check("--server", cluster.url("sys"), *ONCE)[1], "JSD712") == {}


def step_down(cluster: Cluster, subject: str, times: int, led: Callable[[], object]) -> None:
    """Elect that often; `led` tells whether there is a leader."""
    user = "sys" if subject.startswith("META") else "app"
    for _ in range(times):
        wait_until(lambda: bool(led()), "a leader", timeout=20)
        with_client(cluster, lambda client: api(client, subject), user)
    wait_until(lambda: bool(led()), "a leader", timeout=20)


@pytest.mark.parametrize("version", VERSIONS)
def test_elections(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 3)
    made(cluster)
    before = settled(cluster)
    step_down(cluster, f"STREAM.LEADER.STEPDOWN.{NAME}", 4, lambda: peers_of(cluster, NAME))
    after = settled(cluster)
    assert severities("JSD705", before + after) == {f"APP/{NAME}": "warning"}
    step_down(cluster, "META.LEADER.STEPDOWN", 4, cluster.meta_leader)
    cluster.wait_ready()
    last = settled(cluster)
    assert severities("JSD705", after + last) == {"cluster": "critical"}
    assert severities("JSD705", last + once(cluster)) == {}


@pytest.mark.parametrize("version", VERSIONS)
def test_leaders_named_by_a_plain_account(cluster_factory: ClusterFactory, version: str) -> None:
    cluster = cluster_factory(version, 3)
    made(cluster)
    settled(cluster)
    samples = once(cluster, "app")
    for _ in range(3):
        step_down(cluster, f"STREAM.LEADER.STEPDOWN.{NAME}", 1, lambda: peers_of(cluster, NAME))
        settled(cluster)
        samples += once(cluster, "app")
    assert severities("JSD705", samples) == {f"APP/{NAME}": "warning"}
    assert severities("JSD705", samples[-1:] + once(cluster, "app") + once(cluster, "app") + once(cluster, "app")) == {}


@pytest.mark.parametrize("version", VERSIONS)
def test_roll_out_is_no_flapping(cluster_factory: ClusterFactory, tmp_path: Path, version: str) -> None:
    """Neither to a login nor in the logs; a configuration that is read again before is nothing, too."""
    cluster = cluster_factory(version, 3)
    made(cluster)
    before = settled(cluster)
    for node in cluster.names:
        os.kill(cluster.node(node).pid, signal.SIGHUP)
        cluster.stop(node)
        cluster.start(node)
    samples = before + settled(cluster)
    assert loud(judge(cluster, tmp_path)) == []
    assert [severities(code, samples) for code in ("JSD705", "JSD203", "JSD204", "JSD207", "JSD411")] == [{}] * 5
