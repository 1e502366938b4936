"""Gateways, routes and leaf nodes that are down: the rule that names the cause, on real servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real.outage import check, failures_of
from tests.servers import DEFAULT_VERSION, VERSIONS, wait_until
from tests.topologies.deployments import hub, sites, super_cluster
from tests.topologies.landscape import Landscape, routed, server

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("topologies")]
AT_ONCE = [word for code in ("JSD717", "JSD718", "JSD719", "JSD701") for word in ("--set", f"{code}.start_up=0s")]
ALL = [pytest.param(v, marks=() if v == DEFAULT_VERSION else pytest.mark.nightly) for v in VERSIONS]


@pytest.mark.parametrize("version", ALL)
def test_a_gateway_that_is_down_is_named(tmp_path: Path, version: str) -> None:
    with Landscape(tmp_path, version) as land:
        super_cluster(land, ("west", "east"))
        _, report = check("--server", land.url("west1", user="sys"), *AT_ONCE)
        assert failures_of(report, "JSD717") == {}
        land.node("east1").kill()
        land.wait_for(lambda: not land.monitor("west1", "/gatewayz")["outbound_gateways"], "the gateway to be down")
        land.wait_for(lambda: not land.monitor("west1", "/jsz")["meta_cluster"].get("leader"), "no meta leader")
        _, report = check("--server", land.url("west1", user="sys"), *AT_ONCE)
        assert failures_of(report, "JSD717") == {"cluster": "error"}
        (lost,) = [r for r in report["results"] if r["code"] == "JSD701"]
        assert "The gateway to east is down" in lost["message"]
        land.again("east1")
        land.wait_meta("west1", "east1")
        _, report = check("--server", land.url("west1", user="sys"), *AT_ONCE)
        assert (failures_of(report, "JSD717"), failures_of(report, "JSD701")) == ({}, {})


@pytest.mark.parametrize("version", ALL)
def test_a_route_that_is_missing_is_named(tmp_path: Path, version: str) -> None:
    """n1 and n3 advertise an address that nobody reaches, and only n2 has them in its configuration."""
    keys = {"n1": ["n1", "n2"], "n2": ["n1", "n2", "n3"], "n3": ["n2", "n3"]}

    def config(key: str, peers: list[str]) -> str:
        wrong = 'name: C, advertise: "127.0.0.1:1",' if "n1" not in peers or "n3" not in peers else "name: C,"
        return server(key) + routed(land, "C", key, peers).replace("name: C,", wrong)

    with Landscape(tmp_path, version) as land:
        for key, peers in keys.items():
            land.start(key, config(key, peers))
        land.wait_for(lambda: len(land.monitor("n2", "/routez")["routes"]) >= 2, "the routes of n2")
        _, report = check("--server", land.url("n1", user="sys"), *AT_ONCE)
        assert failures_of(report, "JSD718") == {"cluster": "error"}
        (cut,) = [r for r in report["results"] if r["code"] == "JSD718"]
        assert "n1 and n3" in cut["message"]
        land.node("n1").stop()
        land.start("n1", config("n1", ["n1", "n2", "n3"]))
        land.wait_meta(*keys)
        _, report = check("--server", land.url("n1", user="sys"), *AT_ONCE)
        assert failures_of(report, "JSD718") == {}


@pytest.mark.parametrize("version", ALL)
def test_a_leaf_node_without_its_hub_is_named(tmp_path: Path, version: str) -> None:
    with Landscape(tmp_path, version) as land:
        hub(land)
        (site,) = sites(land, 1)
        _, report = check("--server", land.url(site, user="sys"), *AT_ONCE)
        assert failures_of(report, "JSD719") == {}
        for key in ("h1", "h2", "h3"):
            land.node(key).kill()
        wait_until(lambda: not land.monitor(site, "/leafz").get("leafs"), "the link to be down")
        _, report = check("--server", land.url(site, user="sys"), *AT_ONCE)
        assert failures_of(report, "JSD719") == {site: "error"}
