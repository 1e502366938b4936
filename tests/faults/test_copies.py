"""Copies of streams that do not come up to date or are thrown away, by the logs of their servers."""

import asyncio
import contextlib
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
from nats.aio.client import Client

from tests.real.test_logs_cluster import judge, logged, loud, times
from tests.servers import Cluster, ClusterFactory, wait_until
from tests.servers.cluster import LIMITS
from tests.servers.http import get
from tests.servers.slow_disk import slow_disk
from tests.support.deployment import add_stream, api
from tests.support.leading import led_by
from tests.support.outage import with_client
from tests.support.reports import failures_of
from tests.support.stored import store

pytestmark = [pytest.mark.real, pytest.mark.nightly, pytest.mark.xdist_group("logs-cluster")]
STREAM = "P704"
COMPLETE = f"Catchup for stream 'APP > {STREAM}' complete"
MESSAGES = 800
SYNCED = LIMITS + "\n  sync_interval: always"


@contextlib.contextmanager
def in_background(work: Callable[..., None], *arguments: object) -> Iterator[None]:
    """Calls *work* again and again meanwhile."""
    over = threading.Event()

    def again() -> None:
        # On a busy machine, a server that is let go on for a moment would else have the time of others, too.
        with contextlib.suppress(PermissionError, AttributeError):
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))  # of this thread alone
        while not over.is_set():
            work(*arguments)

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
    before = run_ms(cluster, name)
    cluster.resume(name)
    ends = time.monotonic() + 0.5
    time.sleep(0.005)
    while run_ms(cluster, name) - before < 3 and time.monotonic() < ends:  # on a busy machine others ran instead
        time.sleep(0.001)


def run_ms(cluster: Cluster, name: str) -> float:
    """How long the threads of a server have run, in milliseconds."""
    threads = Path(f"/proc/{cluster.node(name).pid}/task").glob("*/schedstat")
    return sum(int(path.read_text("ascii").split()[0]) for path in threads) / 1_000_000


def probe(cluster: Cluster, name: str) -> None:
    """Ask for its health, as Kubernetes does: what is wrong a server logs only then."""
    with contextlib.suppress(httpx2.HTTPError):
        get(cluster.node(name).monitor_url + "/healthz", timeout=2)
    time.sleep(1)


async def fill(client: Client) -> None:
    """A stream of 200 MB."""
    await add_stream(client, STREAM, subjects=["p704"], num_replicas=3, max_bytes=1 << 30)
    body = os.urandom(250_000)
    await store(client, "p704")
    for _ in range(MESSAGES // 4):
        await asyncio.gather(*(client.request("p704", body, timeout=30) for _ in range(4)))


async def add_small(client: Client) -> None:
    for _ in range(200):
        await store(client, "p704")


def lose_copy(cluster: Cluster, name: str) -> None:
    """Take its copy of the stream from a server. Its Raft log stays: a snapshot, and entries behind that."""
    cluster.stop(name)
    cluster.start(name)
    with_client(cluster, add_small)
    cluster.kill(name)
    shutil.rmtree(next(cluster.store_dir(name).rglob(f"streams/{STREAM}")))


class SentenceMatch:
    """What the logs show so far. A log that does not go on shows no end, so the servers that run have to write."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self._cluster, self._directory = cluster, directory
        self.still: list[str] = []

    def severity(self, code: str, subject: str) -> str | None:
        for name in set(self._cluster.names) - set(self.still):
            os.kill(self._cluster.node(name).pid, signal.SIGHUP)
        return failures_of(judge(self._cluster, self._directory), code).get(subject)

    def wait(self, code: str, subject: str, *severities: str | None) -> None:
        wait_until(lambda: self.severity(code, subject) in severities, f"{code}: {severities}", timeout=120)


def with_lost_copy(cluster: Cluster) -> tuple[str, str]:
    """A cluster that has the stream, its leader, and a server that is down and has no copy any more.

    The meta leader is the third: no copy begins while a meta leader is too slow to announce the stream.
    """
    with_client(cluster, fill)
    meta_leader = wait_until(cluster.meta_leader, "a meta leader", timeout=60)
    others = [name for name in cluster.names if name != meta_leader]
    leader = with_client(cluster, lambda client: led_by(client, STREAM, others))
    copy = next(name for name in others if name != leader)
    lose_copy(cluster, copy)
    return leader, copy


@pytest.mark.parametrize("version", ["2.12.8", "2.15.1"])
def test_copy_that_does_not_catch_up(cluster_factory: ClusterFactory, tmp_path: Path, version: str) -> None:
    """First its leader is too slow, then both others stand still; in the end all is well.

    The disk of the copy is slow, too: else another server that comes to lead completes the copy in a second.
    """
    cluster = cluster_factory(version, 3, jetstream=SYNCED)
    leader, copy = with_lost_copy(cluster)
    stream, matches = f"APP/{STREAM}", SentenceMatch(cluster, tmp_path)
    with in_background(probe, cluster, copy):
        with in_background(crawl, cluster, leader):
            cluster.start(copy, wait=False, through=slow_disk(tmp_path, 30))
            matches.still = [leader]
            matches.wait("JSD704", stream, "error")
            assert not logged(cluster, copy, COMPLETE)
        matches.still = [name for name in cluster.names if name != copy]
        for name in matches.still:
            cluster.pause(name)
        matches.wait("JSD708", stream, "warning")
        for name in matches.still:
            cluster.resume(name)
        matches.still = []
        wait_until(lambda: times(cluster, COMPLETE) > 0, "the copy to be complete", timeout=90)
        cluster.wait_ready()
    for code in ("JSD704", "JSD708"):
        matches.wait(code, stream, "info", "warning", None)


def test_copy_that_is_given_up(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    """2.10 throws its copy away when nobody is there to complete it."""
    cluster = cluster_factory("2.10.26", 3, jetstream=SYNCED)
    _, copy = with_lost_copy(cluster)
    stream, matches = f"APP/{STREAM}", SentenceMatch(cluster, tmp_path)
    cluster.start(copy, wait=False, through=slow_disk(tmp_path, 100))  # the copy would take more than a minute
    wait_until(lambda: logged(cluster, copy, "on catchup request"), "a copy that is begun", timeout=90)
    matches.still = [name for name in cluster.names if name != copy]
    for name in matches.still:
        cluster.pause(name)
    assert not times(cluster, COMPLETE)
    matches.wait("JSD208", stream, "error")


@pytest.mark.parametrize("version", ["2.10.26", "2.12.8", "2.15.1"])
def test_indexes_and_snapshots_that_are_thrown_away(
    cluster_factory: ClusterFactory, tmp_path: Path, version: str
) -> None:
    """After a kill the index of a stream is built anew, as it has to be. A snapshot that cannot be read is worse."""
    cluster = cluster_factory(version, 3)

    async def make(client: Client) -> tuple[str, str]:
        await add_stream(client, "P208", subjects=["p208"], num_replicas=3)
        for _ in range(100):
            await store(client, "p208", body=b"x" * 800)
        about = (await api(client, "STREAM.INFO.P208"))["cluster"]
        return str(about["leader"]), str(about["raft_group"])

    leader, group = with_client(cluster, make)
    name = next(other for other in cluster.names if other not in {leader, cluster.meta_leader()})
    cluster.stop(name)
    cluster.start(name)

    async def more(client: Client) -> None:
        for _ in range(30):
            await store(client, "p208", body=b"x" * 800)

    with_client(cluster, more)
    cluster.kill(name)
    cluster.start(name)
    found = wait_until(lambda: failures_of(judge(cluster, tmp_path), "JSD208"), "a new index", timeout=60)
    assert found == {name: "info"}
    cluster.stop(name)
    snapshots = list(next(cluster.store_dir(name).rglob(f"_js_/{group}")).glob("snapshots/*"))
    assert bool(snapshots) == (not version.startswith("2.10.")), "2.10 makes none for so little"
    for path in snapshots:
        path.unlink()
        path.mkdir()
    cluster.start(name, wait=False)
    if snapshots:
        wait_until(lambda: logged(cluster, name, "Error reading snapshot"), "the snapshot to be missed", timeout=60)
        assert [finding for finding in loud(judge(cluster, tmp_path)) if finding[:2] == ("JSD208", "warning")]
