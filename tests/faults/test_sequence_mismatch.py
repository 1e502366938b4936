"""What is lost between two samples, a stream that loses its tail under a consumer, and copies that are not the same."""

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client

from tests.diagnosis.run import confirmed, diagnosed
from tests.faults.consumer_lag import recreate
from tests.servers import VERSIONS, Cluster, ClusterFactory, wait_until
from tests.support.deployment import HOUR_NS, Traffic, add_consumer, add_stream, drain, furnish
from tests.support.outage import with_client
from tests.support.reports import Json, failures, failures_of, run_check
from tests.support.samples import NAME, call, delete_consumer, made, once, publish, settled, severities, version_of
from tests.support.samples import severities as severities_of
from tests.support.site import Site
from tests.support.stored import store

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("sequence-mismatch")]


NEWEST = (2, 15)
AT_ONCE = {"settled": "0s"}
"""However young an asset is, it may not go."""


@pytest.mark.parametrize("nodes", [1, pytest.param(3, marks=pytest.mark.nightly)])
def test_recreated(cluster_factory: ClusterFactory, server_version: str, nodes: int) -> None:
    cluster = cluster_factory(server_version, nodes)
    made(cluster)
    publish(cluster, 10)
    before = settled(cluster) + once(cluster)
    assert severities("JSD203", before) == severities("JSD204", before) == {}
    call(cluster, f"STREAM.DELETE.{NAME}")
    made(cluster)
    after = settled(cluster)
    assert severities("JSD203", before + after) == {}, "a stream some seconds old may be a job's"
    assert severities("JSD203", before + after, AT_ONCE) == {f"APP/{NAME}": "warning"}
    assert severities("JSD204", before + after) == {}
    assert severities("JSD411", before + after) == {}
    assert severities("JSD203", after) == {}, "one look does not show it"


@pytest.mark.parametrize("nodes", [1, pytest.param(3, marks=pytest.mark.nightly)])
def test_restored_from_an_older_backup(
    cluster_factory: ClusterFactory, server_version: str, nodes: int, nats_cli: Path, tmp_path: Path
) -> None:
    cluster = cluster_factory(server_version, nodes)
    made(cluster)
    publish(cluster, 10)
    run = [str(nats_cli), "--server", cluster.url("app"), "stream"]
    subprocess.run([*run, "backup", NAME, str(tmp_path / "backup")], check=True, capture_output=True, timeout=60)
    publish(cluster, 5)
    before = settled(cluster)
    call(cluster, f"STREAM.DELETE.{NAME}")
    subprocess.run([*run, "restore", str(tmp_path / "backup")], check=True, capture_output=True, timeout=60)
    after = settled(cluster)
    samples = before + after
    recreated, went_back = severities("JSD203", samples, AT_ONCE), severities("JSD204", samples, {"settle": "0s"})
    assert set(recreated | went_back) == {f"APP/{NAME}"}
    if nodes == 1 or version_of(cluster) >= NEWEST:  # in older clusters it depends on who leads
        assert bool(recreated) is (version_of(cluster) >= NEWEST)
        assert bool(went_back) is not bool(recreated)
    if version_of(cluster) >= NEWEST:
        assert severities("JSD203", after, {"clock_error": "1ms"}) == {f"APP/{NAME}": "info"}
        assert severities("JSD203", after) == {}, "less than clocks may differ by"


def test_cut_block(cluster_factory: ClusterFactory, server_version: str) -> None:
    cluster = cluster_factory(server_version)
    made(cluster)
    publish(cluster, 100)
    before = settled(cluster)
    cluster.stop("n1")
    messages = next(cluster.store_dir("n1").rglob(f"streams/{NAME}/msgs"))
    (messages / "index.db").unlink()
    os.truncate(messages / "1.blk", (messages / "1.blk").stat().st_size // 2)
    cluster.start("n1")
    after = settled(cluster)
    assert severities("JSD204", before + after) == {f"APP/{NAME}": "critical"}
    assert severities("JSD203", before + after) == {}
    assert severities("JSD204", after) == {}, "one look does not show it"
    publish(cluster, 5)
    assert severities("JSD204", after + settled(cluster)) == {}


@pytest.mark.parametrize("user", ["sys", "app"])
@pytest.mark.parametrize("nodes", [1, pytest.param(3, marks=pytest.mark.nightly)])
def test_delete_consumer(cluster_factory: ClusterFactory, server_version: str, nodes: int, user: str) -> None:
    cluster = cluster_factory(server_version, nodes)
    made(cluster)
    settled(cluster)
    before = once(cluster, user)
    delete_consumer(cluster)
    after = once(cluster, user)
    assert severities("JSD411", before + after) == {}, "a consumer some seconds old may be a job's"
    assert severities("JSD411", before + after, AT_ONCE) == {f"APP/{NAME}/worker": "error"}
    made(cluster)
    settled(cluster)
    assert severities("JSD411", before + once(cluster, user)) == {}


CONSUMER = "APP/P205/worker"


async def consume_all(cluster: Cluster, replicas: int) -> None:
    """Thirty messages, all delivered and acknowledged."""
    client = await nats.connect(cluster.servers("app"))
    try:
        bounds = {"max_age": HOUR_NS, "max_bytes": 1 << 20}
        await add_stream(client, "P205", subjects=["p205"], num_replicas=replicas, **bounds)
        await add_consumer(client, "P205", "worker")
        for _ in range(30):
            await store(client, "p205", body=b"x" * 100)
        got = 0
        while got < 30:  # the consumer's leader may see the last ones a moment later
            got += await drain(client, "P205", "worker")
    finally:
        await client.close()


async def publish_five(cluster: Cluster) -> dict[str, Any]:
    """Five new messages; returns the consumer as it is then."""
    client = await nats.connect(cluster.servers("app"))
    try:
        for _ in range(5):
            await store(client, "p205", body=b"x" * 100)
        # Before its leader is elected a consumer answers with a follower's state, or not at all.
        for _ in range(60):
            with contextlib.suppress(nats.errors.TimeoutError):
                reply = await client.request("$JS.API.CONSUMER.INFO.P205.worker", b"", timeout=1)
                answer: dict[str, Any] = json.loads(reply.data)
                if "error" not in answer and (len(cluster.names) == 1 or "leader" in answer["cluster"]):
                    return answer
            await asyncio.sleep(0.2)
        raise AssertionError("the consumer has no leader")
    finally:
        await client.close()


async def put_back(cluster: Cluster) -> None:
    """The consumer again, from the first message that it has not worked on."""
    client = await nats.connect(cluster.servers("app"))
    try:
        await recreate(
            Site.of(cluster, "", client), "P205", "worker", deliver_policy="by_start_sequence", opt_start_seq=16
        )
    finally:
        await client.close()


def lose_the_tail(cluster: Cluster) -> None:
    """Half of the only message block gone on every server, as after a damaged disk or an older copy of the store."""
    for node in cluster.names:
        cluster.stop(node)
    for node in cluster.names:
        messages = next(cluster.store_dir(node).rglob("streams/P205/msgs"))
        (messages / "index.db").unlink()
        block: Path = messages / "1.blk"
        os.truncate(block, block.stat().st_size // 2)
        for log in cluster.store_dir(node).rglob("_js_/S-*"):  # else replicas restore the messages from it
            shutil.rmtree(log)
    for node in cluster.names:
        cluster.start(node, wait=False)
    cluster.wait_ready()


@pytest.mark.parametrize("nodes", [1, pytest.param(3, marks=pytest.mark.nightly)])
def test_stream_without_its_tail(
    cluster_factory: ClusterFactory, server_version: str, nodes: int, tmp_path: Path
) -> None:
    cluster = cluster_factory(server_version, nodes=nodes)
    asyncio.run(consume_all(cluster, nodes))
    lose_the_tail(cluster)
    consumer = asyncio.run(publish_five(cluster))

    _, report = run_check("--server", cluster.url("sys"), "--interval", "1s")
    moved_back = nodes == 1 and tuple(map(int, server_version.split(".")[:2])) >= (2, 14)
    if moved_back:  # what servers do since 2.14 with consumers that have one replica
        assert consumer["num_pending"] == 5
        assert "JSD205" not in failures(report, CONSUMER)
        return
    assert consumer["num_pending"] == 0, "the five new messages are skipped"
    assert failures(report, CONSUMER).get("JSD205") == "critical"
    (message,) = [r["message"] for r in report["results"] if r["code"] == "JSD205" and r["outcome"] == "fail"]
    resets = tuple(map(int, server_version.split(".")[:2])) >= (2, 14)
    if nodes == 3:
        narrowing = ("-s", cluster.url("sys"), "--stream", "P205", "--consumer", "worker")
        for symptom in ("consumer-stalled", "messages-missing", "consumer-sequence-mismatch"):
            code, document = diagnosed(tmp_path, "--symptom", symptom, *narrowing)
            assert (code, list(confirmed(document))) == (1, ["JSD205"]), (symptom, confirmed(document))
    assert ("reset it to the first message not worked on" if resets else "that command waits in vain") in message

    asyncio.run(put_back(cluster))
    _, cured = run_check("--server", cluster.url("sys"), "--interval", "1s")
    assert "JSD205" not in failures(cured, CONSUMER)


STREAM = "P207"
UNSETTLED = ("--set", "JSD207.settle=0s")


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


def lose_messages(cluster: Cluster, block: int) -> str:
    """Take a message block from a follower; its name."""
    node = next(name for name, copy in copies(cluster).items() if copy["cluster"]["leader"] != name)
    cluster.stop(node)
    next(cluster.store_dir(node).rglob(f"streams/{STREAM}/msgs/{block}.blk")).unlink()
    cluster.start(node)
    wait_until(lambda: is_settled(cluster, node), f"{node} to be called up to date", timeout=30)
    return node


@pytest.fixture(params=VERSIONS)
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
    report = check_207(cluster, "sys", *UNSETTLED)
    assert failures_of(report, "JSD207") == {f"APP/{STREAM}": "error"}
    assert failures_of(report, "JSD704") == {}, "replication knows nothing of it"
    message = next(r["message"] for r in report["results"] if r["code"] == "JSD207")
    assert message.startswith(f"{node} has {held(cluster)[node]} messages, the leader 100")

    assert failures_of(check_207(cluster, "sys"), "JSD207") == {}, "it might still catch up: not evaluated"
    assert failures_of(check_207(cluster, "app", *UNSETTLED), "JSD207") == {}, "a plain account sees only leaders"

    copy_again(cluster, node)
    assert failures_of(check_207(cluster, "sys", *UNSETTLED), "JSD207") == {}


@pytest.mark.parametrize("version", VERSIONS)
def test_traffic_is_no_divergence(cluster_factory: ClusterFactory, version: str) -> None:
    """Two looks right behind each other, at streams of every kind that move."""
    cluster = cluster_factory(version, 3)

    async def busy() -> list[dict[str, str]]:
        await furnish(cluster.url("app"), 3)
        async with Traffic(cluster.url("app")), Traffic(cluster.url("app")):
            samples = [await asyncio.to_thread(once, cluster) for _ in range(6)]
        return [severities_of("JSD207", first + second, {"settle": "0s"}) for first, second in pairwise(samples)]

    assert asyncio.run(busy()) == [{}] * 5
