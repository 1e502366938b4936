"""Clusters whose servers differ in version or settings, and names that break the protocol: on real servers."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from jsdoctor.demo.server import NatsServer, free_ports
from tests.real.outage import check, failures_of
from tests.servers import VERSIONS, Cluster, ClusterFactory, server_binary, wait_until

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("configuration")]

OLDEST, *BETWEEN, NEWEST = VERSIONS
EVERY_VERSION = pytest.mark.parametrize(
    "version", [OLDEST, *(pytest.param(version, marks=pytest.mark.nightly) for version in BETWEEN), NEWEST]
)
MIXED = [(BETWEEN[-1], NEWEST), pytest.param(OLDEST, BETWEEN[0], marks=pytest.mark.nightly)]


ONCE = ("--samples", "1")
"""None of these rules judges a rate."""


def _codes(report: dict[str, Any]) -> set[str]:
    return {result["code"] for result in report["results"] if result["outcome"] == "fail"}


@pytest.mark.parametrize(("old", "new"), MIXED)
def test_server_with_another_version_is_found(cluster_factory: ClusterFactory, old: str, new: str) -> None:
    cluster = cluster_factory(old, 3)
    _, report = check("--server", cluster.url("sys"), *ONCE)
    assert not _codes(report) & {"JSD709", "JSD710", "JSD711", "JSD712", "JSD813"}
    cluster.stop("n3")
    # So much older than n3 are the others for good, and so long may the last check take to see n3 at its present age.
    wait_until(
        lambda: min(_uptime(cluster, name) for name in ("n1", "n2")) >= 15, "the others to run for a while", timeout=30
    )
    cluster._binary = server_binary(new)
    cluster.start("n3")
    code, report = check("--server", cluster.url("sys"), *ONCE)
    assert failures_of(report, "JSD709") == {"cluster": "warning"}
    assert code == 0
    # n1 runs for at least this long and n3 for less: as if n3 had been upgraded just now.
    since = _uptime(cluster, "n1")
    report = check("--server", cluster.url("sys"), *ONCE, "--set", f"JSD709.roll_out={since}s")[1]
    assert failures_of(report, "JSD709") == {"cluster": "info"}


def _uptime(cluster: Cluster, name: str) -> int:
    varz = cluster.monitor(name, "/varz")
    return int((datetime.fromisoformat(varz["now"]) - datetime.fromisoformat(varz["start"])).total_seconds())


@EVERY_VERSION
def test_settings_that_differ_are_named(cluster_factory: ClusterFactory, version: str) -> None:
    def own(node: str) -> str:
        return (
            "max_payload: 4MB\nmax_connections: 500\n" if node == "n3" else "max_payload: 1MB\nmax_connections: 900\n"
        )

    cluster = cluster_factory(version, 3, node_config=own)
    _, report = check("--server", cluster.url("sys"), *ONCE)
    assert failures_of(report, "JSD710") == {"cluster": "warning"}
    (difference,) = [result for result in report["results"] if result["code"] == "JSD710"]
    assert "max_payload differs (n1, n2: 1,048,576; n3: 4,194,304)" in difference["message"]
    assert "max_connections differs" in difference["message"]
    cluster.stop("n3")
    cluster._configs["n3"] = cluster._configs["n3"].replace("4MB", "1MB").replace("500", "900")
    cluster.start("n3")
    code, report = check("--server", cluster.url("sys"), *ONCE)
    assert failures_of(report, "JSD710") == {}
    if version >= "2.11":
        digests = {cluster.monitor(name, "/varz")["config_digest"] for name in cluster.names}
        assert len(digests) == 3, "names and ports make every digest another one: no reason to complain"
    assert code == 0


@EVERY_VERSION
def test_gateway_in_one_file_only_is_found(cluster_factory: ClusterFactory, version: str) -> None:
    ports = dict(zip(("n1", "n2", "n3"), free_ports(3), strict=True))
    (remote,) = free_ports(1)

    def gateways(node: str) -> str:
        known = f'{{ name: FAR, urls: ["nats://127.0.0.1:{remote}"] }}' if node != "n2" else ""
        return f'gateway {{ name: CLUSTER_NAME, listen: "127.0.0.1:{ports[node]}", gateways: [{known}] }}\n'

    cluster = cluster_factory(version, 3)
    for name in cluster.names:
        cluster.stop(name)
        cluster._configs[name] += gateways(name).replace("CLUSTER_NAME", str(cluster.name))
    for name in cluster.names:
        cluster.start(name, wait=False)
    cluster.wait_ready()
    _, report = check("--server", cluster.url("sys"), *ONCE)
    (difference,) = [result for result in report["results"] if result["code"] == "JSD710"]
    assert difference["severity"] == "warning"
    assert "gateways differs (n1, n3: FAR; n2: none)" in difference["message"]


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


@EVERY_VERSION
def test_white_space_in_names_is_found(tmp_path: Path, version: str) -> None:
    """Up to 2.10 a name may have spaces; tabs pass every version."""
    gap = " " if version < "2.11" else "\\t"
    (leaf, route), shown = free_ports(2), gap.replace("\\t", "\t")
    hub = HUB.format(name=f"hub{gap}one", cluster=f"my{gap}cluster", route=route, leaf=leaf)
    edge = EDGE.format(name=f"edge{gap}one", leaf=leaf)
    with NatsServer.start(server_binary(version), hub, tmp_path / "hub") as server:
        url = server.url.replace("nats://", "nats://sys:sys@")
        severities = failures_of(check("--server", url, *ONCE)[1], "JSD711")
        assert severities == {f"my{shown}cluster": "error", f"hub{shown}one": "warning"}
    good = hub.replace(f"hub{gap}one", "hub-one").replace(f"my{gap}cluster", "my-cluster")
    with (
        NatsServer.start(server_binary(version), good, tmp_path / "good") as server,
        NatsServer.start(server_binary(version), edge, tmp_path / "edge"),
    ):
        url = server.url.replace("nats://", "nats://sys:sys@")
        assert failures_of(check("--server", url, *ONCE)[1], "JSD711") in ({}, {f"edge{shown}one": "warning"})
        wait_until(
            lambda: httpx2.get(server.monitor_url + "/leafz").json()["leafs"], "the leaf node to come", timeout=20
        )
        assert failures_of(check("--server", url, *ONCE)[1], "JSD711") == {f"edge{shown}one": "warning"}
