"""Healthy deployments of many accounts, domains and sites.

Declared before the first run: nothing at warning or above, no gap, exit code 0, idle and busy.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import nats
import pytest

from tests.collect.operator_mode import Operator, creds
from tests.servers import VERSIONS
from tests.support.deployment import add_stream
from tests.topologies.deployments import HUB, cluster, hub, sites, super_cluster
from tests.topologies.habits import BOUNDED
from tests.topologies.healthy import furnish, of_habits, problems_of, while_busy
from tests.topologies.landscape import ACCOUNTS, Landscape, leaf_remotes, routed, server

pytestmark = [pytest.mark.real, pytest.mark.nightly, pytest.mark.xdist_group("topologies")]
COMMON = ("QUEUE", "INTEREST", "ORIGIN", "KV_plain")
MANY = tuple(f"TENANT{number}" for number in range(1, 31))
TIERS = {
    "R1": {"disk_storage": 1 << 30, "mem_storage": 1 << 26, "streams": 10, "consumer": 50},
    "R3": {"disk_storage": 4 << 30, "mem_storage": 1 << 26, "streams": 20, "consumer": 100},
}


def login(directory: Path, name: str, user: tuple[str, str]) -> str:
    """The path of a creds file."""
    path = directory / f"{name}.creds"
    path.write_text(creds(*user))
    return str(path)


@pytest.mark.parametrize("version", VERSIONS)
def test_operator_mode_with_tiers_and_many_accounts(tmp_path: Path, version: str) -> None:
    operator = Operator(jetstream=True, tiers=TIERS, others=MANY)
    with Landscape(tmp_path, version) as land:
        keys = cluster(land, accounts=operator.config)
        urls = ",".join(land.node(key).url for key in keys)
        app, sys = (login(tmp_path, n, operator.user(k)) for n, k in (("app", operator.app), ("sys", operator.system)))
        habits = of_habits(*COMMON)
        asyncio.run(furnish(urls, 3, habits, user_credentials=app))
        for name, key in operator.others.items():
            path = login(tmp_path, name, operator.user(key))
            asyncio.run(furnish(urls, 3, of_habits("PACKED"), user_credentials=path))
        problems = {
            "busy": asyncio.run(while_busy(urls, 3, habits, urls, "--creds", sys, user_credentials=app)),
            "idle": problems_of(urls, "--creds", sys),
            "idle, account": problems_of(urls, "--creds", app),
        }
        assert not any(problems.values()), problems


@pytest.mark.parametrize("version", VERSIONS)
def test_hub_with_twenty_leaf_sites(tmp_path: Path, version: str) -> None:
    """Each site has its own domain and a stream of the same name, all of them mirrored at the hub."""

    async def mirrored(land: Landscape, site: str) -> None:
        client = await nats.connect(land.url(site))
        await add_stream(client, "SALES", subjects=["sales"], **BOUNDED)
        for _ in range(10):
            await client.request("sales", b"x", timeout=10)
        await client.close()
        client = await nats.connect(land.url(*HUB).split(","))
        mirror: dict[str, Any] = {"name": "SALES", "external": {"api": f"$JS.{site}.API", "deliver": ""}}
        await add_stream(client, f"MIRROR_{site}", mirror=mirror, num_replicas=3, **BOUNDED)
        await client.close()

    with Landscape(tmp_path, version) as land:
        hub(land)
        for site in sites(land, 20):
            asyncio.run(mirrored(land, site))
        habits = of_habits(*COMMON)
        asyncio.run(furnish(land.url(*HUB), 3, habits))
        problems = {
            "busy": asyncio.run(while_busy(land.url(*HUB), 3, habits, land.url(*HUB, user="sys"))),
            "idle": problems_of(land.url(*HUB, user="sys")),
            "hub's account": problems_of(land.url(*HUB)),
            "a site": problems_of(land.url("site7", user="sys")),
        }
        assert not any(problems.values()), problems


@pytest.mark.parametrize("version", VERSIONS)
def test_a_leaf_cluster_that_extends_the_domain_of_its_hub(tmp_path: Path, version: str) -> None:
    """System account and domain are shared on purpose: one meta group over hub and edge, of an odd number of members.

    With three and three, JSD706 is right: each half is without a leader while the link between them is down.
    """
    edge = ["e1", "e2"]
    with Landscape(tmp_path, version) as land:
        hub(land)
        for key in edge:
            links = routed(land, "EDGE", key, edge) + leaf_remotes(land, HUB)
            land.start(key, server(key, domain="hub") + links)
        land.wait_meta(*HUB, size=5)
        habits = of_habits(*COMMON)
        asyncio.run(furnish(land.url(*HUB), 3, habits))
        problems = {
            "busy": asyncio.run(while_busy(land.url(*HUB), 3, habits, land.url(*HUB, user="sys"))),
            "idle": problems_of(land.url(*HUB, user="sys")),
            "edge": problems_of(land.url(*edge, user="sys")),
            "edge, account": problems_of(land.url(*edge)),
        }
        assert not any(problems.values()), problems


@pytest.mark.parametrize("version", VERSIONS)
def test_leaf_nodes_without_a_jetstream_of_their_own(tmp_path: Path, version: str) -> None:
    """`default_js_domain` leads the clients of a leaf node to the hub's JetStream."""
    with Landscape(tmp_path, version) as land:
        hub(land)
        for key in ("l1", "l2"):
            own = server(key, storage=False, accounts=ACCOUNTS.replace(", jetstream: enabled", ""))
            land.start(key, own + "default_js_domain: { APP: hub }\n" + leaf_remotes(land, HUB))
            land.wait_leafs(key, 2)
        habits = of_habits(*COMMON)
        asyncio.run(furnish(land.url(*HUB), 3, habits))
        problems = {
            "busy": asyncio.run(while_busy(land.url("l1"), 3, habits, land.url(*HUB, user="sys"))),
            "idle": problems_of(land.url(*HUB, user="sys")),
            "leaf": problems_of(land.url("l1", user="sys")),
            "leaf, account": problems_of(land.url("l2")),
        }
        assert not any(problems.values()), problems


@pytest.mark.parametrize("version", VERSIONS)
def test_cluster_of_which_some_servers_have_no_jetstream(tmp_path: Path, version: str) -> None:
    """Three servers store, two only take connections."""
    keys = ["n1", "n2", "n3", "c1", "c2"]
    with Landscape(tmp_path, version) as land:
        for key in keys:
            land.start(key, server(key, storage=key.startswith("n")) + routed(land, "C", key, keys))
        land.wait_meta("n1", "n2", "n3")
        habits = of_habits(*COMMON)
        asyncio.run(furnish(land.url("c1"), 3, habits))
        problems = {
            "busy": asyncio.run(while_busy(land.url("c1", "c2"), 3, habits, land.url(*keys, user="sys"))),
            "idle": problems_of(land.url("c2", user="sys")),
            "idle, account": problems_of(land.url("c1")),
        }
        assert not any(problems.values()), problems


@pytest.mark.parametrize("version", VERSIONS)
def test_super_cluster_of_three_clusters_of_three(tmp_path: Path, version: str) -> None:
    with Landscape(tmp_path, version) as land:
        keys = super_cluster(land, size=3)
        habits = of_habits(*COMMON)
        asyncio.run(furnish(land.url("west1"), 3, habits))
        problems = {
            "busy": asyncio.run(while_busy(land.url("east1"), 3, habits, land.url(*keys, user="sys"))),
            "idle": problems_of(land.url("north2", user="sys")),
            "idle, account": problems_of(land.url("east3")),
        }
        assert not any(problems.values()), problems
