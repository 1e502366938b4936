"""Healthy deployments that others run: nothing at warning or above, no gap, exit code 0, idle and busy.

Declared before the first run: every habit and every topology below is healthy.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import nats
import pytest

from tests.servers import VERSIONS
from tests.support.deployment import add_stream, api
from tests.topologies.deployments import HUB, cluster, hub, single, sites, super_cluster, upgrade
from tests.topologies.glances import glances
from tests.topologies.habits import BOUNDED, Habit, Habits
from tests.topologies.healthy import SAMPLES, TABLES, at_work, furnish, of_habits, problems_of
from tests.topologies.landscape import Landscape, server
from tests.topologies.mqtt import acknowledge_always, mqtt_session
from tests.topologies.states import usual

pytestmark = [pytest.mark.real, pytest.mark.nightly, pytest.mark.xdist_group("topologies")]
QUIET_S = 62
"""So long nobody works on what batch jobs have to do: past the shortest threshold of rules that judge activity."""


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("shape", [single, cluster], ids=["single", "cluster"])
@pytest.mark.parametrize("version", VERSIONS)
def test_habits(tmp_path: Path, version: str, shape: Callable[[Landscape], list[str]], table: Habits) -> None:
    """Every habit of a table beside every other, idle and busy, as the system account and as the account see them."""
    habits = [habit for habit in table if habit.fits(version)]
    with Landscape(tmp_path, version) as land:
        keys = shape(land)
        asyncio.run(furnish(land.url(), len(keys), habits))
        problems = asyncio.run(busy_and_idle(land, keys, habits))
        assert not any(problems.values()), "\n".join(
            f"{when}: {problem}" for when, listed in problems.items() for problem in listed
        )


async def busy_and_idle(land: Landscape, keys: list[str], habits: list[Habit]) -> dict[str, list[str]]:
    """What is wrong while the clients work, and a while after they have stopped."""
    logins = usual(land, keys).logins
    async with at_work(land.url(), len(keys), habits) as rest:
        busy = await asyncio.to_thread(glances, logins, SAMPLES)
        await rest()
        await asyncio.sleep(QUIET_S)
        return {"busy": busy, "idle": await asyncio.to_thread(glances, logins, SAMPLES)}


async def across_domains(land: Landscape, site: str) -> None:
    """The site's stream, and the hub's stream that sources from it."""
    client = await nats.connect(land.url(site))
    try:
        await add_stream(client, "SALES", subjects=["sales"], **BOUNDED)
        for _ in range(20):
            await client.request("sales", b"x", timeout=5)
    finally:
        await client.close()
    client = await nats.connect(land.url(*HUB).split(","))
    try:
        source = {"name": "SALES", "external": {"api": f"$JS.{site}.API", "deliver": ""}}
        await add_stream(client, f"FROM_{site}", sources=[source], num_replicas=3, **BOUNDED)
        for _ in range(100):
            if (await api(client, f"STREAM.INFO.FROM_{site}"))["state"]["messages"] == 20:
                return
            await asyncio.sleep(0.2)
        raise AssertionError("nothing came from the site")
    finally:
        await client.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_hub_and_leaf_sites(tmp_path: Path, version: str) -> None:
    with Landscape(tmp_path, version) as land:
        hub(land)
        for site in sites(land, 4):
            asyncio.run(across_domains(land, site))
        assert problems_of(land.url(*HUB, user="sys")) == []
        assert problems_of(land.url("site1", user="sys"), times=1) == []
        assert problems_of(land.url("site1"), times=1) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_super_cluster_of_three(tmp_path: Path, version: str) -> None:
    with Landscape(tmp_path, version) as land:
        keys = super_cluster(land)
        habits = of_habits("QUEUE", "INTEREST", "ORIGIN", "KV_plain")
        asyncio.run(furnish(land.url(keys[0]), 1, habits))
        assert problems_of(land.url(*keys, user="sys")) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_mqtt(tmp_path: Path, version: str) -> None:
    """Only publishers, then a device that subscribes and acknowledges, then its session while it is off."""
    with Landscape(tmp_path, version) as land:
        port = land.port("mqtt")
        single(land, f'mqtt {{ listen: "127.0.0.1:{port}" }}\n')
        with closing(mqtt_session(port, subscribe=False)):
            assert problems_of(land.url(user="sys")) == []
            with closing(mqtt_session(port, subscribe=True)) as reader:
                acknowledge_always(reader)
                mqtt_session(port, subscribe=False).close()
                assert problems_of(land.url(user="sys")) == []
            mqtt_session(port, subscribe=False).close()
        assert problems_of(land.url(user="sys")) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_encrypted_stores_and_websocket(tmp_path: Path, version: str) -> None:
    with Landscape(tmp_path, version) as land:
        port = land.port("websocket")
        encrypted = server("n1").replace("store_dir: store", "store_dir: store, key: secret")
        land.start("n1", encrypted + f'websocket {{ listen: "127.0.0.1:{port}", no_tls: true }}\n')
        habits = of_habits("QUEUE", "RING", "KV_plain", "PACKED")
        asyncio.run(furnish(land.url(), 1, habits))
        assert problems_of(land.url(user="sys")) == []


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_rolling_upgrade_half_way(tmp_path: Path, version: str) -> None:
    """One of three servers runs the next version, since a moment ago; the two others have been up for longer."""
    with Landscape(tmp_path, VERSIONS[VERSIONS.index(version) - 1]) as land:
        keys = cluster(land)
        habits = of_habits("QUEUE", "INTEREST", "ORIGIN", "PERKEY")
        asyncio.run(furnish(land.url(*keys), 3, habits))
        asyncio.run(asyncio.sleep(QUIET_S))
        upgrade(land, "n1", keys, version)
        assert problems_of(land.url(*keys, user="sys"), "--set", "JSD709.roll_out=1m", times=1) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_imports_and_exports_and_limits(tmp_path: Path, version: str) -> None:
    """An account that reads another one's stream through an import, and limits that are not reached."""
    exports = (
        'APP: { users: [{ user: app, password: app }], exports: [{ service: "$JS.API.>" }, { stream: "sales.>" }], '
    )
    limits = "jetstream: { max_mem: 32M, max_file: 2G, max_streams: 50, max_consumers: 100 } }\n"
    other = "  SHOP: { users: [{ user: shop, password: shop }], jetstream: enabled,"
    imports = ' imports: [{ stream: { account: APP, subject: "sales.>" } }] }\n}\n'
    accounts = (
        f"system_account: SYS\naccounts {{\n  SYS: {{ users: [{{ user: sys, password: sys }}] }}\n  {exports}{limits}"
    )
    with Landscape(tmp_path, version) as land:
        keys = cluster(land, accounts=accounts + other + imports)
        habits = of_habits("QUEUE", "INTEREST", "RING")
        asyncio.run(furnish(land.url(*keys), 3, habits))
        asyncio.run(furnish(land.url(*keys, user="shop"), 3, of_habits("RING")))
        assert problems_of(land.url(*keys, user="sys")) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_after_a_lame_duck_server_came_back(tmp_path: Path, version: str) -> None:
    with Landscape(tmp_path, version) as land:
        keys = cluster(land, "lame_duck_duration: 30s\nlame_duck_grace_period: 1s\n")
        habits = of_habits("QUEUE", "INTEREST")
        asyncio.run(furnish(land.url(*keys), 3, habits))
        land.signal("n3", signal.SIGUSR2)
        land.wait_for(lambda: not land.node("n3").running, "the lame duck to be gone", timeout=60)
        land.again("n3")
        land.wait_meta(*keys)
        assert problems_of(land.url(*keys, user="sys")) == []
