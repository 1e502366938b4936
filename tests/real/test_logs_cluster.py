"""Faults of clusters and streams, made on real servers, and what the logs of these servers alone tell of them."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from nats.aio.client import Client

from jsdoctor.demo.server import NatsServer
from tests.servers import VERSIONS, Cluster, ClusterFactory, server_binary, wait_until
from tests.support.deployment import add_consumer, add_stream, api
from tests.support.outage import with_client
from tests.support.reports import Json, failures_of, run_check
from tests.support.stored import store

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("logs-cluster")]
LOUD = ("warning", "error", "critical")


def judge(cluster: Cluster, directory: Path, *arguments: str) -> Json:
    """What `jsdoctor check` makes of the servers' logs, without a connection to anybody."""
    logs = directory / "logs"
    logs.mkdir(exist_ok=True)
    for name in cluster.names:
        shutil.copy(cluster.node(name).log_path, logs / f"{name}.log")
    _, report = run_check("--logs", str(logs), "--timezone", "UTC", *arguments)
    return report


def loud(report: Json) -> list[tuple[str, str, str]]:
    """Everything that is more than information."""
    return [
        (result["code"], result["severity"], result["message"])
        for result in report["results"]
        if result["outcome"] == "fail" and result["severity"] in LOUD
    ]


def logged(cluster: Cluster, name: str, words: str) -> bool:
    return words in cluster.node(name).log_path.read_text()


def elections(cluster: Cluster, stream: str) -> int:
    """How often a server said that it is the stream's new leader."""
    return times(cluster, f"JetStream cluster new stream leader for 'APP > {stream}'")


def times(cluster: Cluster, words: str) -> int:
    """How often the servers logged that."""
    return sum(cluster.node(name).log_path.read_text().count(words) for name in cluster.names)


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_lost_majority_is_found_and_so_is_its_return(
    cluster_factory: ClusterFactory, tmp_path: Path, version: str
) -> None:
    cluster = cluster_factory(version, 3)

    async def make(client: Client) -> str:
        await add_stream(client, "P702", subjects=["p702"], num_replicas=3)
        await add_consumer(client, "P702", "worker")
        for _ in range(10):
            await store(client, "p702")
        return str((await api(client, "STREAM.INFO.P702"))["cluster"]["leader"])

    survivor = with_client(cluster, make)
    killed = [name for name in cluster.names if name != survivor]
    for name in killed:
        cluster.kill(name)
    quorum = "JetStream cluster stream 'APP > P702' has NO quorum"
    wait_until(lambda: logged(cluster, survivor, quorum), "the loss of the quorum to be logged", timeout=60)
    alone = {"cluster": "critical"}
    wait_until(lambda: failures_of(judge(cluster, tmp_path), "JSD701") == alone, "no meta leader for long", timeout=60)
    report = judge(cluster, tmp_path)
    assert failures_of(report, "JSD702")["APP/P702"] == "critical"
    # A server that had only accepted its routes dials nobody anew, and then has nothing to log about them.
    assert failures_of(report, "JSD714").get(survivor, "error") == "error"
    leaders = [
        "Self is new JetStream cluster metadata leader",
        "JetStream cluster new stream leader for 'APP > P702'",
        "JetStream cluster new consumer leader for 'APP > P702 > worker'",
    ]
    before = [times(cluster, words) for words in leaders]
    for name in killed:
        cluster.start(name, wait=False)
    cluster.wait_ready()
    # Each group holds an election of its own: until the last is over, something has no leader and the logs say so.
    for words, known in zip(leaders, before, strict=True):
        wait_until(lambda w=words, n=known: times(cluster, w) > n, words, timeout=60)  # type: ignore[misc]
    report = judge(cluster, tmp_path)
    for code in ("JSD701", "JSD702", "JSD714", "JSD713", "JSD204"):
        assert set(failures_of(report, code).values()) <= {"info", "warning"}, code


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_flapping_leaders_and_failed_placement_are_found(
    cluster_factory: ClusterFactory, tmp_path: Path, version: str
) -> None:
    cluster = cluster_factory(version, 3, jetstream="max_memory_store: 16M\n  max_file_store: 32M")

    async def make(client: Client) -> Json:
        await add_stream(client, "P705", subjects=["p705"], num_replicas=3)
        for number in range(1, 13):  # each start of a server explains two
            await asyncio.to_thread(
                wait_until, lambda n=number: elections(cluster, "P705") >= n, "a leader", timeout=20
            )
            await api(client, "STREAM.LEADER.STEPDOWN.P705")
        refused = {"name": "P716", "subjects": ["p716"], "num_replicas": 3, "max_bytes": 64 << 20}
        reply: Json = json.loads(
            (await client.request("$JS.API.STREAM.CREATE.P716", json.dumps(refused).encode(), timeout=10)).data
        )
        return reply

    reply = with_client(cluster, make)
    assert reply["error"]["err_code"] in (10005, 10047)
    report = judge(cluster, tmp_path)
    assert failures_of(report, "JSD705") == {"APP/P705": "warning"}
    assert failures_of(report, "JSD716") == {"cluster": "warning"}
    assert {code for code, _, _ in loud(report)} == {"JSD705", "JSD716"}


@pytest.mark.parametrize("version", VERSIONS)
def test_lost_messages_are_found(cluster_factory: ClusterFactory, tmp_path: Path, version: str) -> None:
    cluster = cluster_factory(version, 1)

    async def make(client: Client) -> None:
        await add_stream(client, "P204", subjects=["p204"])
        await add_consumer(client, "P204", "reader")
        for _ in range(50):
            await client.request("p204", b"x" * 100, timeout=10)
        inbox = client.new_inbox()
        sub = await client.subscribe(inbox)
        await client.publish("$JS.API.CONSUMER.MSG.NEXT.P204.reader", b'{"batch": 50}', reply=inbox)
        for _ in range(50):
            await client.request((await sub.next_msg(5)).reply, b"+ACK", timeout=10)

    with_client(cluster, make)
    cluster.stop("n1")
    cluster.start("n1")
    assert loud(judge(cluster, tmp_path)) == []
    cluster.kill("n1")
    messages = next((cluster.store_dir("n1")).rglob("streams/P204/msgs"))
    for path in messages.iterdir():
        path.unlink()
    cluster.start("n1")
    report = judge(cluster, tmp_path)
    assert failures_of(report, "JSD204") == {"APP/P204": "warning"}
    expected = {"APP/P204/reader": "error"} if version >= "2.14" else {}
    assert failures_of(report, "JSD205") == expected


def test_server_that_does_not_return_and_one_of_another_version(
    cluster_factory: ClusterFactory, tmp_path: Path
) -> None:
    """An upgrade, seen while it is under way: the server that was stopped, then its new version."""
    cluster = cluster_factory("2.12.8", 3)
    upgraded = next(name for name in cluster.names if name != cluster.meta_leader())
    cluster.stop(upgraded)
    gone = ("--set", "JSD703.gone=1s")
    wait_until(
        lambda: failures_of(judge(cluster, tmp_path, *gone), "JSD703") != {}, "the others' logs to go on", timeout=30
    )
    assert failures_of(judge(cluster, tmp_path, *gone), "JSD703") == {upgraded: "warning"}
    assert failures_of(judge(cluster, tmp_path), "JSD703") == {}
    before = cluster.node(upgraded)
    cluster._servers[upgraded] = NatsServer.start(
        server_binary("2.15.1"), cluster._configs[upgraded], before.directory, ports=before.ports
    )
    cluster.wait_ready()
    report = judge(cluster, tmp_path, *gone)
    assert failures_of(report, "JSD703") == {}
    assert failures_of(report, "JSD709") == {"cluster": "info"}
    assert failures_of(judge(cluster, tmp_path, "--set", "JSD709.roll_out=0s"), "JSD709") == {"cluster": "warning"}
    assert loud(judge(cluster, tmp_path)) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_raft_log_that_lost_its_entries(cluster_factory: ClusterFactory, tmp_path: Path, version: str) -> None:
    """Its index is still there and tells where it ended; what the leader sends again begins at the beginning."""
    cluster = cluster_factory(version, 3)

    async def publish(client: Client) -> None:
        for _ in range(20):
            await store(client, "p207", body=b"x" * 100)

    async def make(client: Client) -> Json:
        await add_stream(client, "P207", subjects=["p207"], num_replicas=3)
        await publish(client)
        about: Json = (await api(client, "STREAM.INFO.P207"))["cluster"]
        return about

    def held() -> list[int]:
        """How many messages each copy of the stream has."""
        accounts = [cluster.monitor(name, "/jsz?accounts=true&streams=true") for name in cluster.names]
        details = [detail for jsz in accounts for detail in jsz.get("account_details") or []]
        return [stream["state"]["messages"] for detail in details for stream in detail.get("stream_detail") or []]

    about = with_client(cluster, make)
    follower = next(name for name in cluster.names if name not in {about["leader"], cluster.meta_leader()})
    cluster.stop(follower)
    log = next(cluster.store_dir(follower).rglob(f"_js_/{about['raft_group']}"))
    shutil.rmtree(log / "snapshots", ignore_errors=True)
    for path in (log / "msgs").glob("*.blk"):
        path.unlink()
    assert failures_of(judge(cluster, tmp_path), "JSD207") == {}
    cluster.start(follower, wait=False)
    with_client(cluster, publish)
    wait_until(lambda: times(cluster, "Wrong index, ae is ") > 0, "the follower to notice", timeout=90)
    failed = [r for r in judge(cluster, tmp_path)["results"] if (r["code"], r["outcome"]) == ("JSD207", "fail")]
    assert {r["subject"]["name"] for r in failed} == {follower}
    assert any(r["message"].startswith("the Raft log on disk did not end") for r in failed), failed
    wait_until(lambda: held() == [40] * 3, "three copies of everything", timeout=60)
