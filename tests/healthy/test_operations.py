"""Healthy deployments in the middle of what operators do: maintenance, upgrades, scaling, a weekend without messages.

Declared before the first run: nothing at warning or above, no gap, exit code 0, but where a test says otherwise.
"""

import asyncio
import signal
import time
from pathlib import Path

import nats
import pytest

from tests.clock import clock_shifter
from tests.healthy.frame import Habit, at_work, furnish, loud, of_habits, problems_of, while_busy
from tests.servers import VERSIONS
from tests.servers.deployments import cluster, single, upgrade
from tests.servers.landscape import Landscape, routed, server
from tests.support.deployment import api
from tests.support.leading import led_by
from tests.support.reports import Json, run_check
from tests.support.site import Site, ended

pytestmark = [pytest.mark.real, pytest.mark.nightly, pytest.mark.xdist_group("healthy")]
COMMON = ("QUEUE", "INTEREST", "ORIGIN", "PERKEY", "KV_plain")
DAY_S = 86_400.0
APART_S = 60
SCALED_S = 30
MOVED_S = 20
_WORKERS = (
    *(("QUEUE", "workers"), ("PARTS", "even"), ("PARTS", "odd"), ("INTEREST", "a"), ("INTEREST", "b")),
    *(("RING", "reader"), ("RETRY", "careful"), ("SNAPSHOTS", "reader"), ("ERASED", "reader"), ("LATEST", "board")),
)
_AT_REST = (
    *("QUEUE", "PARTS", "INTEREST", "ORIGIN", "ACKNONE", "ACKALL", "GROUP", "KV_plain", "KV_expiring", "KV_history"),
    *(
        "OBJ_files",
        "PERKEY",
        "RING",
        "PACKED",
        "SEALED",
        "RENAMED",
        "RETRY",
        "ORDERED",
        "SCALED",
        "SNAPSHOTS",
        "ERASED",
    ),
    *("LATEST", "PARTIAL"),
)
"""Habits that leave no work behind when their clients stop, and whose timers follow a clock that jumps."""


@pytest.mark.parametrize("version", VERSIONS)
def test_one_node_in_maintenance(tmp_path: Path, version: str) -> None:
    """A lame duck leaves JetStream at once, so it is as good as down: findings about that server and no other cause,
    none of them critical, which a waiver can accept, as what is left has no reserve. Nothing when it is back.

    Declared first: nothing while it is a lame duck. No reply of a server tells that it is one.
    """
    with Landscape(tmp_path, version) as land:
        keys = cluster(land, "lame_duck_duration: 40s\nlame_duck_grace_period: 5s\n")
        asyncio.run(furnish(land.url(*keys), 3, of_habits(*COMMON)))
        login = land.url("n1", "n2", user="sys")
        land.signal("n3", signal.SIGUSR2)
        time.sleep(15)  # past the time after which a silent peer counts as gone
        assert other_than("n3", login) == []
        land.node("n3").stop()
        land.wait_for(lambda: bool(land.monitor("n1", "/jsz")["meta_cluster"].get("leader")), "a meta leader")
        time.sleep(2)
        assert other_than("n3", login) == []
        land.again("n3")
        land.wait_meta(*keys)
        assert problems_of(land.url(*keys, user="sys")) == []


def other_than(server: str, login: str) -> list[str]:
    """What is said at warning or above that is critical, or does not name that server, which must be named."""
    code, report = run_check("--server", login)
    failures = failures_above_info(report)
    assert (code, bool({result["code"] for result in failures} & {"JSD703", "JSD803"})) == (1, True), loud(report)
    return [str(result) for result in failures if server not in str(result) or result["severity"] == "critical"]


def failures_above_info(report: Json) -> list[Json]:
    return [r for r in report["results"] if r["outcome"] == "fail" and r["severity"] != "info"]


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_rolling_upgrade_at_each_step(tmp_path: Path, version: str) -> None:
    """A moment after each of three servers has come back with the next version, under load.

    The servers have been up for longer than `apart`. Declared first: nothing with its default of ten minutes either,
    for servers that are minutes old; JSD709 is then a warning, as nothing shows that these are an upgrade.
    """
    with Landscape(tmp_path, VERSIONS[VERSIONS.index(version) - 1]) as land:
        keys = cluster(land)
        habits = of_habits(*COMMON)
        asyncio.run(furnish(land.url(*keys), 3, habits))
        time.sleep(APART_S)
        login, apart = land.url(*keys, user="sys"), ("--set", f"JSD709.apart={APART_S}s")
        problems = {}
        for key in keys:
            upgrade(land, key, keys, version)
            problems[f"{key}, idle"] = problems_of(login, *apart)
            problems[f"{key}, busy"] = asyncio.run(while_busy(land.url(*keys), 3, habits, login, *apart))
        assert not any(problems.values()), problems


def test_an_upgraded_leader_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    """Two of three servers no longer run 2.10, one of them leads the work queue, and the third leads its consumer."""
    with Landscape(tmp_path, "2.10.26") as land:
        keys = cluster(land)
        habits = of_habits("QUEUE")
        asyncio.run(furnish(land.url(*keys), 3, habits))
        for key in ("n1", "n2"):
            upgrade(land, key, keys, "2.12.8")
        asyncio.run(choose_leaders(land.url(*keys)))

        async def kept() -> list[str]:
            async with at_work(land.url(*keys), 3, habits) as rest:
                await asyncio.to_thread(land.wait_for, lambda: messages_of_queue(land, "n1") > 1_000, "1,000 messages")
                busy = await asyncio.to_thread(run_check, "--server", land.url(*keys, user="sys"), "--select=JSD207")
                await rest()
            idle = await asyncio.to_thread(run_check, "--server", land.url(*keys, user="sys"), "--select=JSD207")
            return [str(result) for _, report in (busy, idle) for result in failures_above_info(report)]

        assert asyncio.run(kept()) == []
        assert messages_of_queue(land, "n1") > 1_000 > messages_of_queue(land, "n3")


async def choose_leaders(url: str) -> None:
    """An upgraded server leads the work queue, and the one that is left leads its consumer."""
    client = await nats.connect(url.split(","))
    await led_by(client, "QUEUE", ["n1"])
    await led_by(client, "QUEUE", ["n3"], consumer="workers")
    await client.close()


def messages_of_queue(land: Landscape, key: str) -> int:
    """How many messages the copy of that server has."""
    (account,) = land.monitor(key, "/jsz?streams=true&accounts=true&acc=APP")["account_details"]
    (stream,) = [stream for stream in account["stream_detail"] if stream["name"] == "QUEUE"]
    return int(stream["state"]["messages"])


@pytest.mark.parametrize("version", VERSIONS)
def test_a_quiet_weekend(tmp_path: Path, version: str) -> None:
    """Work until three days ago, then nothing: the server's clock goes on by itself, and nobody publishes."""
    shift = clock_shifter(tmp_path)
    with Landscape(tmp_path, version) as land:
        single(land)
        pid = land.node("n1").pid
        shift(pid, -2.9 * DAY_S)
        habits = [habit for habit in of_habits(*_AT_REST) if habit.fits(version)]
        asyncio.run(furnish(land.url(), 1, habits))

        async def weekend() -> dict[str, list[str]]:
            async with at_work(land.url(), 1, habits) as rest:
                await asyncio.sleep(5)
                await rest()
                await done_with(land, habits)
                shift(pid, 0)
                await asyncio.sleep(3)
                logins = {"system account": land.url(user="sys"), "account": land.url()}
                return {name: await asyncio.to_thread(problems_of, login) for name, login in logins.items()}

        problems = asyncio.run(weekend())
        assert not any(problems.values()), problems


async def done_with(land: Landscape, habits: list[Habit]) -> None:
    """Let every worker finish what its publisher left, with what is due again after half a minute."""
    client = await nats.connect(land.url())
    try:
        names = {habit.name for habit in habits}
        workers = [(stream, consumer) for stream, consumer in _WORKERS if stream in names]
        tasks = [asyncio.ensure_future(Site(client).work(*worker)) for worker in workers]
        for _ in range(150):
            infos = [await api(client, f"CONSUMER.INFO.{stream}.{consumer}") for stream, consumer in workers]
            if not any(info["num_pending"] or info["num_ack_pending"] for info in infos):
                break
            await asyncio.sleep(1)
        await ended(list[asyncio.Future[None]](tasks))
    finally:
        await client.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_scaling_up_and_down_under_load(tmp_path: Path, version: str) -> None:
    """After each scale to three replicas there is a look every few seconds: 2.15.1 applies nothing on the new ones
    between the tenth and the twentieth second.
    """

    async def scale(url: str, replicas: int) -> None:
        client = await nats.connect(url.split(","))
        for name in ("QUEUE", "ORIGIN", "KV_plain"):
            info = await api(client, f"STREAM.INFO.{name}")
            await api(client, f"STREAM.UPDATE.{name}", {**info["config"], "num_replicas": replicas})
        await client.close()

    async def scaled(land: Landscape, keys: list[str]) -> dict[str, list[str]]:
        by_step: dict[str, list[str]] = {}
        async with at_work(land.url(*keys), 3, of_habits(*COMMON)) as rest:
            for replicas in (1, 3, 1, 3):
                await scale(land.url(*keys), replicas)
                options = ("--ignore", "JSD605") if replicas == 1 else ()
                login, until = land.url(*keys, user="sys"), time.monotonic() + (0 if replicas == 1 else SCALED_S)
                of_step = await asyncio.to_thread(problems_of, login, *options)
                while time.monotonic() < until:
                    of_step += await asyncio.to_thread(problems_of, login, times=1)
                by_step[f"{len(by_step)}: to {replicas}"] = of_step
            await rest()
        return by_step

    with Landscape(tmp_path, version) as land:
        keys = cluster(land)
        asyncio.run(furnish(land.url(*keys), 3, of_habits(*COMMON)))
        problems = asyncio.run(scaled(land, keys))
        assert not any(problems.values()), problems


@pytest.mark.parametrize("version", VERSIONS)
def test_a_move_by_tags_and_a_scale_to_five_under_load(tmp_path: Path, version: str) -> None:
    """Half of the servers have one tag, half the other: the streams go over, grow to five replicas and shrink again."""
    keys = ["n1", "n2", "n3", "n4", "n5"]
    tags = {"n1": "old", "n2": "old", "n3": "old, new", "n4": "new", "n5": "new"}

    async def change(url: str, replicas: int, tag: str) -> None:
        client = await nats.connect(url.split(","))
        for name in ("QUEUE", "ORIGIN", "KV_plain"):
            config = (await api(client, f"STREAM.INFO.{name}"))["config"] | {"num_replicas": replicas}
            config = {key: value for key, value in config.items() if key != "placement"}
            await api(client, f"STREAM.UPDATE.{name}", config | ({"placement": {"tags": [tag]}} if tag else {}))
        await client.close()

    async def changed(land: Landscape) -> dict[str, list[str]]:
        by_step: dict[str, list[str]] = {}
        async with at_work(land.url(*keys), 3, of_habits(*COMMON)) as rest:
            for replicas, tag in ((3, "old"), (3, "new"), (5, ""), (3, "")):
                await change(land.url(*keys), replicas, tag)
                login, until = land.url(*keys, user="sys"), time.monotonic() + MOVED_S
                of_step: list[str] = []
                while time.monotonic() < until:
                    of_step += await asyncio.to_thread(problems_of, login, times=1)
                by_step[f"{replicas} {tag}"] = of_step
            await rest()
        return by_step

    with Landscape(tmp_path, version) as land:
        for key in keys:
            land.start(key, server(key, tags=tags[key]) + routed(land, "C", key, keys))
        land.wait_meta(*keys)
        asyncio.run(furnish(land.url(*keys), 3, of_habits(*COMMON)))
        problems = asyncio.run(changed(land))
        assert not any(problems.values()), problems
