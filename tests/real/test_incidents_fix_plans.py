"""`fix` plans of the compound faults: the real `nats` accepts every command that they offer, then and afterwards."""

from __future__ import annotations

import asyncio
from pathlib import Path

import nats
import pytest

from tests.real.fix_plans import Followed, follow, follow_again, plan_of
from tests.real.incident_faults import FAULTS
from tests.real.test_incidents import _furnish, _settled
from tests.real.ward import Site
from tests.servers import VERSIONS, Cluster, ClusterFactory

pytestmark = [pytest.mark.real, pytest.mark.nightly, pytest.mark.xdist_group("incidents")]

EVERY_VERSION = pytest.mark.parametrize("version", VERSIONS)


@EVERY_VERSION
def test_plan_for_faults_of_streams_and_consumers(
    cluster_factory: ClusterFactory, nats_cli: Path, tmp_path: Path, version: str
) -> None:
    cluster = cluster_factory(version, 3)

    async def plant_and_plan() -> Followed:
        client = await nats.connect(cluster.servers("app"))
        site = Site(cluster, version, client)
        try:
            await asyncio.gather(*(fault.work(site) for fault in FAULTS if fault.fits(version)))
            steps = await asyncio.to_thread(plan_of, tmp_path, "--server", cluster.url("app"))
        finally:
            await site.rest()
            await client.close()
        return follow(cluster, nats_cli, steps)

    followed = asyncio.run(plant_and_plan())
    follow_again(cluster, nats_cli, followed)
    _accepted(followed, at_least=15)


@EVERY_VERSION
@pytest.mark.parametrize("user", ["sys", "app"])
def test_plan_for_a_dead_server(
    cluster_factory: ClusterFactory, nats_cli: Path, tmp_path: Path, version: str, user: str
) -> None:
    cluster = cluster_factory(version, 3)
    dead = _furnish(cluster)
    cluster.kill(dead)
    _settled(cluster, dead)
    followed = _followed(cluster, nats_cli, tmp_path, user)
    order = [finding.split(":")[0] for step in followed.steps for finding in step["findings"]]
    follows = {"JSD702", "JSD706", "JSD901"} & set(order)
    assert "JSD703" in order
    assert all(order.index("JSD703") < order.index(code) for code in follows), order
    on_dead = [
        step for step in followed.steps if step["subject"].get("name") == "SOLO" and step["operation"] != "manual"
    ]
    assert all(step["needs"] for step in on_dead), on_dead
    cluster.start(dead)
    follow_again(cluster, nats_cli, followed)
    _accepted(followed, at_least=2)


def _followed(cluster: Cluster, nats_cli: Path, home: Path, user: str) -> Followed:
    where = ",".join(
        url for url, name in zip(cluster.servers(user), cluster.names, strict=True) if _runs(cluster, name)
    )
    return follow(cluster, nats_cli, plan_of(home, "--server", where))


def _runs(cluster: Cluster, name: str) -> bool:
    return cluster.node(name).running


def _accepted(followed: Followed, at_least: int) -> None:
    assert not followed.refused, "\n".join(followed.refused)
    assert len(followed.accepted) >= at_least, followed.accepted
