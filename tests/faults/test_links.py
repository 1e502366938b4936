"""Gateways, routes and leaf nodes that are down, and sites whose names are taken: found, and gone after the fix."""

from pathlib import Path

import pytest

from tests.servers import VERSIONS
from tests.servers.deployments import HUB, stored, super_cluster
from tests.servers.landscape import Landscape, leaf_listener, leaf_remotes, routed, server
from tests.support.reports import Json, failures_of, label, run_check

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("links")]
AT_ONCE = [word for code in ("JSD717", "JSD718", "JSD719", "JSD701") for word in ("--set", f"{code}.start_up=0s")]
AT_ONCE += ["--samples", "1"]


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_a_gateway_that_is_down_is_named(tmp_path: Path, version: str) -> None:
    with Landscape(tmp_path, version) as land:
        super_cluster(land, ("west", "east"))
        _, report = run_check("--server", land.url("west1", user="sys"), *AT_ONCE)
        assert failures_of(report, "JSD717") == {}
        land.node("east1").kill()
        land.wait_for(lambda: not land.monitor("west1", "/gatewayz")["outbound_gateways"], "the gateway to be down")
        land.wait_for(lambda: not land.monitor("west1", "/jsz")["meta_cluster"].get("leader"), "no meta leader")
        _, report = run_check("--server", land.url("west1", user="sys"), *AT_ONCE)
        assert failures_of(report, "JSD717") == {"cluster": "error"}
        (lost,) = [r for r in report["results"] if r["code"] == "JSD701"]
        assert "The gateway to east is down" in lost["message"]
        land.again("east1")
        land.wait_meta("west1", "east1")
        _, report = run_check("--server", land.url("west1", user="sys"), *AT_ONCE)
        assert (failures_of(report, "JSD717"), failures_of(report, "JSD701")) == ({}, {})


@pytest.mark.parametrize("version", VERSIONS)
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
        _, report = run_check("--server", land.url("n1", user="sys"), *AT_ONCE)
        assert failures_of(report, "JSD718") == {"cluster": "error"}
        (cut,) = [r for r in report["results"] if r["code"] == "JSD718"]
        assert "n1 and n3" in cut["message"]
        land.node("n1").stop()
        land.start("n1", config("n1", ["n1", "n2", "n3"]))
        land.wait_meta(*keys)
        _, report = run_check("--server", land.url("n1", user="sys"), *AT_ONCE)
        assert failures_of(report, "JSD718") == {}


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
        stored(land.url(*HUB), "ORDERS", 5, num_replicas=3)
        for key in ("own", "same-name"):
            stored(land.url(key), "ORDERS", 5)
        # Only now: with the domain and the system account of the hub, it answers for the hub.
        land.start("same-domain", server("h2", domain="hub") + leaf_remotes(land, HUB, ("sys",)))
        land.wait_leafs("same-domain", 1)
        code, report = run_check("--server", land.url(*HUB, user="sys"), "--set", "JSD721.start_up=0s")
        assert (code, _loud(report)) == (1, ["JSD721 hub/h2"])
        monitored = [word for key in (*HUB, "own", "same-name") for word in ("--monitor", land.node(key).monitor_url)]
        code, report = run_check(*monitored)
        assert (code, _loud(report)) == (0, [])


def _loud(report: Json) -> list[str]:
    """Everything at warning or above, and every check that failed to run."""
    return [
        f"{r['code']} {label(r['subject'])}"
        for r in report["results"]
        if r["outcome"] == "error" or (r["outcome"] == "fail" and r["severity"] != "info")
    ]
