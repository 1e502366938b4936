"""Copies of streams that are not the same any more, made on real servers, and what the logs of these tell of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from nats.aio.client import Client

from tests.real.test_logs_cluster import judge, logged, loud, times
from tests.servers import VERSIONS, Cluster, ClusterFactory, wait_until
from tests.support.deployment import add_stream, api
from tests.support.leading import led_by
from tests.support.outage import with_client
from tests.support.reports import failures_of
from tests.support.stored import store

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("logs-cluster")]
LEADS = "JetStream cluster new stream leader for 'APP > P207'"


@pytest.mark.nightly
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
    assert failures_of(judge(cluster, tmp_path), "JSD208") == {name: "info"}
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


class Parted:
    """Three servers with a stream of which they do not hold the same any more. Nobody has said so yet."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self.cluster, self._directory = cluster, directory
        leader, self._group = with_client(cluster, self._make)
        self.follower = next(name for name in cluster.names if name not in {leader, cluster.meta_leader()})
        self.others = [name for name in cluster.names if name != self.follower]

    @staticmethod
    async def _make(client: Client) -> tuple[str, str]:
        await add_stream(client, "P207", subjects=["p207"], num_replicas=3)
        await publish(client)
        about = (await api(client, "STREAM.INFO.P207"))["cluster"]
        return str(about["leader"]), str(about["raft_group"])

    def messages(self, name: str) -> Path:
        return next(self.cluster.store_dir(name).rglob("streams/P207"))

    def log(self, name: str) -> Path:
        return next(self.cluster.store_dir(name).rglob(f"_js_/{self._group}"))

    def held(self) -> list[int]:
        """How many messages each copy of the stream has."""
        accounts = [self.cluster.monitor(name, "/jsz?accounts=true&streams=true") for name in self.cluster.names]
        details = [detail for jsz in accounts for detail in jsz.get("account_details") or []]
        return [stream["state"]["messages"] for detail in details for stream in detail.get("stream_detail") or []]

    def lose_log(self, name: str, pattern: str = "*") -> None:
        """Its snapshots, and those files of its Raft log. What it knows of its peers and its vote stays."""
        shutil.rmtree(self.log(name) / "snapshots", ignore_errors=True)
        for path in (self.log(name) / "msgs").glob(pattern):
            path.unlink()

    def back_up(self, name: str, *sources: Path) -> dict[Path, Path]:
        """Copies of these directories of a server, as a snapshot of its disk has them, and what they are copies of."""
        self.cluster.pause(name)
        copies = {source: self._directory / "backup" / name / source.name for source in sources}
        for source, copy in copies.items():
            shutil.copytree(source, copy)
        self.cluster.resume(name)
        return copies

    def silent(self) -> None:
        assert failures_of(judge(self.cluster, self._directory), "JSD207") == {}

    def reported(self, words: str, what: str) -> dict[str, str]:
        """What JSD207 says once a server has logged those words; one of it is about them."""
        wait_until(lambda: times(self.cluster, words) > 0, words, timeout=90)
        report = judge(self.cluster, self._directory)
        failed = [result for result in report["results"] if result["code"] == "JSD207" and result["outcome"] == "fail"]
        assert [result for result in failed if result["message"].startswith(what)], failed
        return failures_of(report, "JSD207")


async def publish(client: Client) -> None:
    for _ in range(20):
        await store(client, "p207", body=b"x" * 100)


async def publish_and_be_refused(client: Client) -> None:
    """What the servers refuse together makes those of 2.10 take a snapshot."""
    await publish(client)
    answer = await client.request("p207", b"x", timeout=10, headers={"Nats-Expected-Last-Sequence": "7"})
    assert b"wrong last sequence" in answer.data


async def publish_through(client: Client, leaders: list[str]) -> None:
    """Publish once one of those servers leads the stream."""
    await led_by(client, "P207", leaders)
    await publish(client)


async def scale(client: Client, replicas: int) -> None:
    config = (await api(client, "STREAM.INFO.P207"))["config"]
    await api(client, "STREAM.UPDATE.P207", {**config, "num_replicas": replicas})


def put_back(copies: dict[Path, Path]) -> None:
    for source, copy in copies.items():
        shutil.rmtree(source)
        shutil.copytree(copy, source)


@pytest.mark.parametrize("version", VERSIONS)
def test_raft_log_that_lost_its_entries(cluster_factory: ClusterFactory, tmp_path: Path, version: str) -> None:
    """Its index is still there and tells where it ended; what the leader sends again begins at the beginning."""
    parted = Parted(cluster_factory(version, 3), tmp_path)
    parted.cluster.stop(parted.follower)
    parted.lose_log(parted.follower, "*.blk")
    parted.silent()
    parted.cluster.start(parted.follower, wait=False)
    with_client(parted.cluster, publish)
    assert set(parted.reported("Wrong index, ae is ", "the Raft log on disk did not end")) == {parted.follower}
    wait_until(lambda: parted.held() == [40] * 3, "three copies of everything", timeout=60)


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_leader_of_an_older_backup(cluster_factory: ClusterFactory, tmp_path: Path, version: str) -> None:
    """Two servers were put back; the third lost its copy, and knows that it had more than they have."""
    parted = Parted(cluster_factory(version, 3), tmp_path)
    backups = [parted.back_up(name, parted.messages(name), parted.log(name)) for name in parted.others]
    with_client(parted.cluster, publish_and_be_refused)
    for name in parted.cluster.names:
        parted.cluster.stop(name)
    assert list((parted.log(parted.follower) / "snapshots").iterdir())
    shutil.rmtree(parted.messages(parted.follower) / "msgs")
    for copies in backups:
        put_back(copies)
    parted.silent()
    before = times(parted.cluster, LEADS)
    for name in parted.others:
        parted.cluster.start(name, wait=False)
    wait_until(lambda: times(parted.cluster, LEADS) > before, "one of two to lead", timeout=60)
    parted.cluster.start(parted.follower, wait=False)
    assert set(parted.reported("requested sequence ", "a follower requested messages beyond")) == {"APP/P207"}


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_older_copy_after_the_raft_logs_are_lost(cluster_factory: ClusterFactory, tmp_path: Path, version: str) -> None:
    """Nothing tells the server what its copy lacks: the next message does not fit."""
    parted = Parted(cluster_factory(version, 3), tmp_path)
    copies = parted.back_up(parted.follower, parted.messages(parted.follower))
    with_client(parted.cluster, publish)
    for name in parted.cluster.names:
        parted.cluster.stop(name)
    put_back(copies)
    for name in parted.cluster.names:
        parted.lose_log(name)
    for name in parted.cluster.names:
        parted.cluster.start(name, wait=False)
    # A meta leader of 2.10 may count a peer as not current for as long as nothing is asked of it.
    wait_until(parted.cluster.meta_leader, "a meta leader", timeout=120)
    wait_until(lambda: len(parted.held()) == 3, "all copies to be there", timeout=120)
    parted.silent()
    with_client(parted.cluster, lambda client: publish_through(client, parted.others))
    assert parted.reported("last sequence mismatch", "what the leader sent did not fit") == {"APP/P207": "error"}
    with_client(parted.cluster, lambda client: scale(client, 1))
    wait_until(lambda: len(parted.held()) == 1, "one copy", timeout=60)
    with_client(parted.cluster, lambda client: scale(client, 3))
    wait_until(lambda: parted.held() == [60] * 3, "three copies of everything", timeout=60)
