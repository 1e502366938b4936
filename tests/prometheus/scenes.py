"""Real deployments with faults, each to be looked at with a login and through Prometheus."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import nats

from tests.faults.planting import TOPOLOGIES, at_once
from tests.prometheus import server_faults
from tests.prometheus.stack import Scraped, of_cluster
from tests.servers import Cluster, wait_until
from tests.servers.deployments import HUB, hub, sites, super_cluster
from tests.servers.landscape import Landscape
from tests.servers.route_proxies import RouteProxies
from tests.support.deployment import api
from tests.support.site import Site

_AT_ONCE = tuple(word for code in ("JSD717", "JSD718", "JSD719") for word in ("--set", f"{code}.start_up=0s"))
"""A new deployment is not judged otherwise."""


async def _nothing() -> None:
    """All faults are there from the start."""


@dataclass(frozen=True)
class Scene:
    """A deployment. `login`: how a check reaches it. `happen` makes the fault that comes while Prometheus scrapes."""

    servers: Scraped
    login: tuple[str, ...]
    happen: Callable[[], Awaitable[None]] = field(default=_nothing)


Stage = Callable[[Path, str], AbstractAsyncContextManager[Scene]]


def _ward(topology: str) -> Stage:
    """Every fault of tests/faults that shows at once, and faults of servers."""

    @asynccontextmanager
    async def stage(directory: Path, version: str) -> AsyncIterator[Scene]:
        plants = [plant for plant in at_once() if plant.fits(version, topology)]
        with (
            Cluster.launch(
                directory,
                version,
                TOPOLOGIES[topology],
                extra_config=server_faults.CONFIG,
                accounts=server_faults.ACCOUNT,
            ) as cluster,
            contextlib.ExitStack() as open_,
        ):
            client = await nats.connect(cluster.servers("app"))
            site = Site.of(cluster, version, client)
            try:
                await asyncio.gather(*(plant.work(site) for plant in plants), server_faults.plant(site, open_))
                yield Scene(of_cluster(cluster), ("--server", cluster.url("sys")))
            finally:
                await site.rest()
                await client.close()

    return stage


@asynccontextmanager
async def _removed_server(directory: Path, version: str) -> AsyncIterator[Scene]:
    """A server that was removed from the meta group and still runs."""
    with Cluster.launch(directory, version, 3) as cluster:
        removed = next(name for name in cluster.names if name != cluster.meta_leader())

        async def happen() -> None:
            client = await nats.connect(cluster.servers("sys"))
            await api(client, "SERVER.REMOVE", {"peer": removed})
            await client.close()
            await asyncio.to_thread(
                wait_until, lambda: cluster.monitor(removed, "/jsz").get("disabled"), "JetStream to be switched off"
            )

        yield Scene(of_cluster(cluster), ("--server", cluster.url("sys")), happen)


@asynccontextmanager
async def _partition(directory: Path, version: str) -> AsyncIterator[Scene]:
    """A server without routes: it runs, and reaches no other."""
    with RouteProxies() as proxies, Cluster.launch(directory, version, 3, route_port=proxies.port) as cluster:
        leader = cluster.meta_leader()
        alone = next(name for name in cluster.names if name != leader)

        async def happen() -> None:
            proxies.cut(alone)
            await asyncio.to_thread(wait_until, lambda: _is_alone(cluster, alone), "it to be alone", timeout=60)

        monitors = tuple(word for url in cluster.monitor_urls for word in ("--monitor", url))
        majority = cluster.servers("sys")[cluster.names.index(str(leader))]
        yield Scene(Scraped(cluster.monitor_urls, majority), (*monitors, *_AT_ONCE), happen)


def _is_alone(cluster: Cluster, name: str) -> bool:
    leader = cluster.monitor(name, "/jsz")["meta_cluster"].get("leader")
    return not (leader or cluster.monitor(name, "/routez")["num_routes"])


@asynccontextmanager
async def _lost_gateway(directory: Path, version: str) -> AsyncIterator[Scene]:
    """One of two clusters is gone, and with it the gateway of the other."""
    with Landscape(directory, version) as land:
        await asyncio.to_thread(super_cluster, land, ("west", "east"))

        async def happen() -> None:
            land.node("east1").kill()
            await asyncio.to_thread(
                land.wait_for, lambda: not land.monitor("west1", "/jsz")["meta_cluster"].get("leader"), "no meta leader"
            )

        servers = Scraped([land.node(key).monitor_url for key in ("west1", "east1")], land.url("west1", user="sys"))
        yield Scene(servers, ("--server", land.url("west1", user="sys"), *_AT_ONCE), happen)


@asynccontextmanager
async def _lost_hub(directory: Path, version: str) -> AsyncIterator[Scene]:
    """A site whose hub is gone."""
    with Landscape(directory, version) as land:
        await asyncio.to_thread(hub, land)
        [site] = await asyncio.to_thread(sites, land, 1)

        async def happen() -> None:
            for key in HUB:
                land.node(key).kill()
            await asyncio.to_thread(land.wait_for, lambda: not land.monitor(site, "/leafz").get("leafs"), "no link")

        servers = Scraped([land.node(key).monitor_url for key in (*HUB, site)], land.url(*HUB, user="sys"))
        yield Scene(servers, ("--server", land.url(site, user="sys"), *_AT_ONCE), happen)


SCENES: dict[str, Stage] = {
    **{name: _ward(name) for name in TOPOLOGIES},
    "removed-server": _removed_server,
    "partition": _partition,
    "lost-gateway": _lost_gateway,
    "lost-hub": _lost_hub,
}
"""By name."""
