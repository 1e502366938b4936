"""JSD207 on real servers: a follower that lost its messages while its leader calls it up to date."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from tests.collect.looking import NIGHTLY_UNLESS_DEFAULT
from tests.real.outage import Json, failures_of, with_client
from tests.real.two_samples import once
from tests.real.two_samples import severities as severities_of
from tests.real.ward import run_check
from tests.servers import Cluster, ClusterFactory, wait_until
from tests.support.deployment import HOUR_NS, Traffic, add_stream, furnish
from tests.support.stored import store

pytestmark = pytest.mark.real
STREAM = "P207"
AT_ONCE = ("--set", "JSD207.settle=0s")


async def fill(client: Client, size: int) -> None:
    """A hundred messages of that size on three servers. So small a limit makes blocks of 32 kB."""
    await add_stream(client, STREAM, subjects=["p207"], num_replicas=3, max_age=HOUR_NS, max_bytes=120_000)
    for _ in range(100):
        await store(client, "p207", body=b"x" * size)


def copies(cluster: Cluster) -> dict[str, dict[str, Any]]:
    """What each server shows of the stream."""
    return copies_on(cluster, cluster.names)


def copies_on(cluster: Cluster, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The same of some servers."""
    return {
        name: stream
        for name in names
        for account in cluster.monitor(name, "/jsz?accounts=true&streams=true&config=true").get("account_details") or []
        for stream in account.get("stream_detail") or []
        if stream["name"] == STREAM
    }


def held(cluster: Cluster) -> dict[str, int]:
    """How many messages each server holds."""
    return {name: copy["state"]["messages"] for name, copy in copies(cluster).items()}


def is_settled(cluster: Cluster, node: str) -> bool:
    """Whether the node is back, and the stream's leader calls it up to date."""
    copies_seen = copies(cluster)
    peers = [
        peer
        for name, copy in copies_seen.items()
        if copy["cluster"].get("leader") == name
        for peer in copy["cluster"].get("replicas", [])
    ]
    return node in copies_seen and any(p["name"] == node and p["current"] and not p.get("lag") for p in peers)


def is_led_by(cluster: Cluster, names: Iterable[str]) -> bool:
    """Whether one of these servers leads the stream."""
    return any(copy["cluster"].get("leader") == name for name, copy in copies_on(cluster, names).items())


def lose_messages(cluster: Cluster, block: int) -> str:
    """Take a message block from a follower; its name."""
    node = next(name for name, copy in copies(cluster).items() if copy["cluster"]["leader"] != name)
    cluster.stop(node)
    next(cluster.store_dir(node).rglob(f"streams/{STREAM}/msgs/{block}.blk")).unlink()
    cluster.start(node)
    wait_until(lambda: is_settled(cluster, node), f"{node} to be called up to date", timeout=30)
    return node


@pytest.fixture(params=NIGHTLY_UNLESS_DEFAULT)
def damaged(cluster_factory: ClusterFactory, request: pytest.FixtureRequest) -> tuple[Cluster, str]:
    """A cluster one follower of which lost messages without noticing, and its name.

    From 2.12 on servers copy anew what is missing at the end, not what is missing in the middle. 2.10 does the reverse.
    """
    cluster = cluster_factory(request.param, 3)
    size, block = (100, 1) if request.param.startswith("2.10.") else (800, 2)
    with_client(cluster, lambda client: fill(client, size))
    wait_until(lambda: set(held(cluster).values()) == {100}, "all servers to have all messages")
    return cluster, lose_messages(cluster, block)


def copy_again(cluster: Cluster, node: str) -> None:
    """What the page says: the directories of the stream and of its group moved away while the server is down."""
    group = copies(cluster)[node]["cluster"]["raft_group"]
    cluster.stop(node)
    for path in (f"streams/{STREAM}", f"_js_/{group}"):
        directory: Path = next(cluster.store_dir(node).rglob(path))
        shutil.rmtree(directory)
    cluster.start(node)
    wait_until(lambda: held(cluster).get(node) == 100, f"{node} to copy the stream", timeout=30)


def check_207(cluster: Cluster, user: str, *more: str) -> Json:
    """What a check says when the servers run for less than it waits after a start."""
    _, report = run_check("--server", cluster.url(user), "--interval", "1s", *more)
    return report


def test_follower_without_some_messages(damaged: tuple[Cluster, str]) -> None:
    cluster, node = damaged
    report = check_207(cluster, "sys", *AT_ONCE)
    assert failures_of(report, "JSD207") == {f"APP/{STREAM}": "error"}
    assert failures_of(report, "JSD704") == {}, "replication knows nothing of it"
    message = next(r["message"] for r in report["results"] if r["code"] == "JSD207")
    assert message.startswith(f"{node} has {held(cluster)[node]} messages, the leader 100")

    assert failures_of(check_207(cluster, "sys"), "JSD207") == {}, "it might still catch up: not evaluated"
    assert failures_of(check_207(cluster, "app", *AT_ONCE), "JSD207") == {}, "a plain account sees only leaders"

    copy_again(cluster, node)
    assert failures_of(check_207(cluster, "sys", *AT_ONCE), "JSD207") == {}


@pytest.mark.parametrize("version", NIGHTLY_UNLESS_DEFAULT)
def test_traffic_is_no_divergence(cluster_factory: ClusterFactory, version: str) -> None:
    """Two looks right behind each other, at streams of every kind that move."""
    cluster = cluster_factory(version, 3)

    async def busy() -> list[dict[str, str]]:
        await furnish(cluster.url("app"), 3)
        async with Traffic(cluster.url("app")), Traffic(cluster.url("app")):
            samples = [await asyncio.to_thread(once, cluster) for _ in range(6)]
        return [severities_of("JSD207", first + second, {"settle": "0s"}) for first, second in pairwise(samples)]

    assert asyncio.run(busy()) == [{}] * 5


async def add_messages(client: Client, count: int) -> None:
    """So many messages for the stream."""
    for _ in range(count):
        await store(client, "p207", body=b"x" * 100)


def shorten(cluster: Cluster, spare: Path) -> str:
    """Give two servers an older copy, and no server a Raft log; the third, which holds more, starts last. Its name.

    That is what an election leaves that a short copy wins, as after a scale to one replica and up again.
    """
    *short, longer = cluster.names
    group = copies(cluster)[longer]["cluster"]["raft_group"]
    for name in cluster.names:
        cluster.stop(name)
    for name in short:
        shutil.copytree(next(cluster.store_dir(name).rglob(f"streams/{STREAM}")), spare / name)
    for name in cluster.names:
        cluster.start(name, wait=False)
    cluster.wait_ready(90)
    with_client(cluster, lambda client: add_messages(client, 200))
    wait_until(lambda: set(held(cluster).values()) == {300}, "all servers to have all messages", timeout=30)
    for name in cluster.names:
        cluster.stop(name)
        shutil.rmtree(next(cluster.store_dir(name).rglob(f"_js_/{group}")))
    for name in short:
        directory = next(cluster.store_dir(name).rglob(f"streams/{STREAM}"))
        shutil.rmtree(directory)
        shutil.copytree(spare / name, directory)
        cluster.start(name, wait=False)
    wait_until(lambda: is_led_by(cluster, short), "a short copy to lead", timeout=60)
    cluster.start(longer, wait=False)
    wait_until(lambda: longer in copies(cluster) and is_settled(cluster, longer), f"{longer} to follow", timeout=60)
    return longer


@pytest.mark.nightly
def test_a_short_copy_leads(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    """A stream whose leader ends before another copy does: an error when the servers have run for half a minute.

    From 2.12 on two servers without the Raft log elect no leader before the third is there.
    """
    cluster = cluster_factory("2.10.26", 3)
    with_client(cluster, lambda client: fill(client, 100))
    wait_until(lambda: set(held(cluster).values()) == {100}, "all servers to have all messages")
    longer = shorten(cluster, tmp_path / "spare")
    reports = {settle: check_207(cluster, "sys", "--set", f"JSD207.settle={settle}") for settle in ("0s", "10m")}
    assert failures_of(reports["0s"], "JSD207") == {f"APP/{STREAM}": "error"}
    assert failures_of(reports["10m"], "JSD207") == {}
    for report in reports.values():
        message = next(r["message"] for r in report["results"] if r["code"] == "JSD207")
        assert f"{longer} ends at sequence 300, the leader at 100" in message
