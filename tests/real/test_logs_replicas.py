"""Copies of streams that do not come up to date, made on real servers, and what the logs of these tell of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from nats.aio.client import Client

from tests.deployment import add_stream, api
from tests.real.outage import said, with_client
from tests.real.test_logs_cluster import judge, logged, loud, times
from tests.servers import Cluster, ClusterFactory, wait_until

pytestmark = [pytest.mark.real, pytest.mark.nightly, pytest.mark.xdist_group("logs-cluster")]
STREAM = "P704"
COMPLETE = f"Catchup for stream 'APP > {STREAM}' complete"
MESSAGES = 800


@contextlib.contextmanager
def in_background(work: object, *arguments: object) -> Iterator[None]:
    """Calls *work* again and again meanwhile."""
    over = threading.Event()

    def again() -> None:
        while not over.is_set():
            work(*arguments)  # type: ignore[operator]

    thread = threading.Thread(target=again)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def crawl(cluster: Cluster, name: str) -> None:
    """A server that gets a few milliseconds every two and a half seconds: too slow to work, fast enough to lead."""
    cluster.pause(name)
    time.sleep(2.5)
    cluster.resume(name)
    time.sleep(0.005)


def probe(cluster: Cluster, name: str) -> None:
    """Ask for its health, as Kubernetes does: what is wrong a server logs only then."""
    with contextlib.suppress(httpx.HTTPError):
        httpx.get(cluster.node(name).monitor_url + "/healthz", timeout=2)
    time.sleep(1)


async def fill(client: Client) -> str:
    """A stream of 200 MB; its leader."""
    await add_stream(client, STREAM, subjects=["p704"], num_replicas=3, max_bytes=1 << 30)
    body = os.urandom(250_000)
    for _ in range(MESSAGES // 4):
        await asyncio.gather(*(client.request("p704", body, timeout=30) for _ in range(4)))
    return str((await api(client, f"STREAM.INFO.{STREAM}"))["cluster"]["leader"])


async def add_small(client: Client) -> None:
    for _ in range(200):
        await client.request("p704", b"x", timeout=10)


def lose_copy(cluster: Cluster, name: str) -> None:
    """Take its copy of the stream from a server. Its Raft log stays: a snapshot, and entries behind that."""
    cluster.stop(name)
    cluster.start(name)
    with_client(cluster, add_small)
    cluster.kill(name)
    shutil.rmtree(next(cluster.store_dir(name).rglob(f"streams/{STREAM}")))


class Told:
    """What the logs tell so far. A log that does not go on knows of no end, so the servers that run have to write."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self._cluster, self._directory = cluster, directory
        self.still: list[str] = []

    def severity(self, code: str, subject: str) -> str | None:
        for name in set(self._cluster.names) - set(self.still):
            os.kill(self._cluster.node(name).pid, signal.SIGHUP)
        return said(judge(self._cluster, self._directory), code).get(subject)

    def wait(self, code: str, subject: str, *severities: str | None) -> None:
        wait_until(lambda: self.severity(code, subject) in severities, f"{code}: {severities}", timeout=120)


def with_lost_copy(cluster: Cluster) -> tuple[str, str]:
    """A cluster that has the stream, its leader, and a server that is down and has no copy any more."""
    leader = with_client(cluster, fill)
    copy = next(name for name in cluster.names if name not in {leader, cluster.meta_leader()})
    lose_copy(cluster, copy)
    return leader, copy


@pytest.mark.parametrize("version", ["2.12.8", "2.15.1"])
def test_copy_that_does_not_catch_up(cluster_factory: ClusterFactory, tmp_path: Path, version: str) -> None:
    """First its leader is too slow, then both others stand still; in the end all is well."""
    cluster = cluster_factory(version, 3)
    leader, copy = with_lost_copy(cluster)
    stream, told = f"APP/{STREAM}", Told(cluster, tmp_path)
    with in_background(probe, cluster, copy):
        with in_background(crawl, cluster, leader):
            cluster.start(copy, wait=False)
            told.still = [leader]
            told.wait("JSD704", stream, "error")
        assert not logged(cluster, copy, COMPLETE)
        told.still = [name for name in cluster.names if name != copy]
        for name in told.still:
            cluster.pause(name)
        told.wait("JSD708", stream, "warning")
        for name in told.still:
            cluster.resume(name)
        told.still = []
        wait_until(lambda: times(cluster, COMPLETE) > 0, "the copy to be complete", timeout=90)
        cluster.wait_ready()
    for code in ("JSD704", "JSD708"):
        told.wait(code, stream, "info", "warning", None)


def test_copy_that_is_given_up(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    """2.10 throws its copy away when nobody is there to complete it; what waits for the copy is a backlog meanwhile."""
    cluster = cluster_factory("2.10.26", 3)
    leader, copy = with_lost_copy(cluster)
    stream, told = f"APP/{STREAM}", Told(cluster, tmp_path)
    with in_background(probe, cluster, copy):
        with in_background(crawl, cluster, leader):
            cluster.start(copy, wait=False)
            wait_until(lambda: logged(cluster, copy, "Falling behind in health check"), "a copy that is behind")
        assert not times(cluster, COMPLETE)
        told.still = [name for name in cluster.names if name != copy]
        for name in told.still:
            cluster.pause(name)
        told.wait("JSD208", stream, "error")
        told.wait("JSD707", copy, "warning")


@pytest.mark.parametrize("version", ["2.10.26", "2.12.8", "2.15.1"])
def test_indexes_and_snapshots_that_are_thrown_away(
    cluster_factory: ClusterFactory, tmp_path: Path, version: str
) -> None:
    """After a kill the index of a stream is built anew, as it has to be. A snapshot that cannot be read is worse."""
    cluster = cluster_factory(version, 3)

    async def make(client: Client) -> tuple[str, str]:
        await add_stream(client, "P208", subjects=["p208"], num_replicas=3)
        for _ in range(100):
            await client.request("p208", b"x" * 800, timeout=10)
        about = (await api(client, "STREAM.INFO.P208"))["cluster"]
        return str(about["leader"]), str(about["raft_group"])

    leader, group = with_client(cluster, make)
    name = next(one for one in cluster.names if one not in {leader, cluster.meta_leader()})
    cluster.stop(name)
    cluster.start(name)

    async def more(client: Client) -> None:
        for _ in range(30):
            await client.request("p208", b"x" * 800, timeout=10)

    with_client(cluster, more)
    cluster.kill(name)
    cluster.start(name)
    assert said(judge(cluster, tmp_path), "JSD208") == {name: "info"}
    cluster.stop(name)
    snapshots = list(next(cluster.store_dir(name).rglob(f"_js_/{group}")).glob("snapshots/*"))
    assert bool(snapshots) == (not version.startswith("2.10.")), "2.10 makes none for so little"
    for path in snapshots:
        path.unlink()
        path.mkdir()
    cluster.start(name, wait=False)
    if snapshots:
        wait_until(lambda: logged(cluster, name, "Error reading snapshot"), "the snapshot to be missed")
        assert [one for one in loud(judge(cluster, tmp_path)) if one[:2] == ("JSD208", "warning")]
