"""Consumers that take long to tell ill from well, slow workers, and what only the subjects of a stream show."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from tests.faults.consumer_lag import delivered
from tests.faults.planting import TOPOLOGIES
from tests.real.contexts import contexts
from tests.servers import DEFAULT_VERSION, VERSIONS, Cluster, ClusterFactory
from tests.servers.deployments import do
from tests.servers.natscli import typed
from tests.support.applications import acknowledge
from tests.support.deployment import HOUR_NS, add_consumer, add_stream, api
from tests.support.outage import with_client
from tests.support.reports import Json, failures, run_capture, run_check
from tests.support.samples import NAME, Samples, call, made, once, publish, settled, severities
from tests.support.site import SECOND_NS, Site

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("consumer-lag")]


IMPATIENT = """
[rules.JSD405]
idle_for = "1s"
absent_for = "1s"
[rules.JSD417]
still_for = "1s"
"""
OURS = {"JSD401", "JSD402", "JSD403", "JSD404", "JSD405", "JSD406", "JSD408", "JSD417"}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((version, topology), marks=() if (version, nodes) == (DEFAULT_VERSION, 1) else pytest.mark.nightly)
        for version in VERSIONS
        for topology, nodes in TOPOLOGIES.items()
    ],
)
def cluster(request: pytest.FixtureRequest, shared_cluster: ClusterFactory) -> tuple[Cluster, str]:
    version, topology = request.param
    return shared_cluster(version, TOPOLOGIES[topology], extra_config="# consumer lag\n"), version


def test_absent_and_mute_clients_are_found_and_gone_once_they_work(
    cluster: tuple[Cluster, str], tmp_path: Path
) -> None:
    configuration = tmp_path / "impatient.toml"
    configuration.write_text(IMPATIENT)
    before, after = asyncio.run(absent_and_mute(*cluster, configuration))
    by_consumer = {
        name: failures(before, f"APP/{name}") for name in ("L405/left", "L405W/left", "L405I/push", "L417/mute")
    }
    loud = {name: {code: s for code, s in codes.items() if s != "info"} for name, codes in by_consumer.items()}
    assert loud == {
        "L405/left": {"JSD405": "warning"},
        "L405W/left": {"JSD405": "error"},
        "L405I/push": {"JSD405": "error"},
        "L417/mute": {"JSD417": "error"},
    }
    assert {name: OURS & set(failures(after, f"APP/{name}")) for name in by_consumer} == {
        name: set() for name in by_consumer
    }


async def absent_and_mute(cluster: Cluster, version: str, configuration: Path) -> tuple[Json, Json]:
    """Durables whose applications are gone, and a subscriber that never answers flow control; then all of them work."""
    arguments = ("--server", cluster.url("sys"), "--config", str(configuration), "--interval", "3s")
    client = await nats.connect(cluster.servers("app"))
    site = Site.of(cluster, version, client)
    try:
        await left_alone(site)
        mute = await client.subscribe("deliver.l417")
        await site.stream("L417", subjects=["l417"], max_bytes=64 << 20)
        await site.consumer(
            "L417", "mute", deliver_subject="deliver.l417", flow_control=True, idle_heartbeat=5 * SECOND_NS
        )
        # More than the server sends without an answer.
        await site.publish("l417", 80, size=60_000)
        _, before = await asyncio.to_thread(run_check, *arguments)
        await mute.unsubscribe()
        await client.subscribe("deliver.l417", cb=reply_to_all)
        await client.subscribe("deliver.l405i", cb=acknowledge)
        for stream in ("L405", "L405W"):
            await site.fetch(stream, "left", 5)
        await delivered(site, "L417", "mute")
        _, after = await asyncio.to_thread(run_check, *arguments)
    finally:
        await client.close()
    return before, after


async def left_alone(site: Site) -> None:
    """Three durables with messages and without clients, on streams that do and do not keep messages for them."""
    for name, retention in (("L405", "limits"), ("L405W", "workqueue"), ("L405I", "interest")):
        await site.stream(name, subjects=[name.lower()], retention=retention)
    await site.consumer("L405", "left")
    await site.consumer("L405W", "left")
    await site.consumer("L405I", "push", deliver_subject="deliver.l405i")
    for subject in ("l405", "l405w", "l405i"):
        await site.publish(subject, 5)


async def reply_to_all(msg: Msg) -> None:
    """A subscriber that knows flow control: requests for it come as status messages that want a reply."""
    stalled = (msg.headers or {}).get("Nats-Consumer-Stalled")
    if stalled:
        await msg._client.publish(stalled)
    if msg.reply:
        await msg.respond(b"+ACK" if msg.reply.startswith("$JS.ACK") else b"")


BATCH = 40
DEAF = """
  DEAF: {
    jetstream: enabled
    users: [
      { user: deaf, password: deaf-secret, permissions: { subscribe: ["_INBOX.>"] } }
      { user: hears, password: hears-secret }
    ]
  }
"""


async def furnish(client: Client) -> None:
    await add_stream(client, "P410", subjects=["p410.*"], max_age=HOUR_NS, max_bytes=8 << 20)
    for name in ("slow", "quick", "unmeasured"):
        measured: dict[str, Any] = {} if name == "unmeasured" else {"sample_freq": "100%"}
        await add_consumer(client, "P410", name, ack_wait=2 * SECOND_NS, filter_subject=f"p410.{name}", **measured)


async def work(client: Client, name: str, takes_s: float, stop: list[bool]) -> None:
    """Batch after batch: all of it delivered at once, and acknowledged when it is done."""
    inbox = client.new_inbox()
    subscription = await client.subscribe(inbox)
    while not stop:
        await asyncio.gather(*(client.request(f"p410.{name}", b"x", timeout=10) for _ in range(BATCH)))
        body = json.dumps({"batch": BATCH, "expires": 5 * SECOND_NS}).encode()
        await client.publish(f"$JS.API.CONSUMER.MSG.NEXT.P410.{name}", body, reply=inbox)
        messages = [await subscription.next_msg(timeout=10) for _ in range(BATCH)]
        await asyncio.sleep(takes_s)
        for message in messages:
            await message.respond(b"+ACK")
        await client.flush()


@contextmanager
def working(servers: list[str]) -> Iterator[None]:
    """Workers beside the check, on a loop of their own."""
    stop: list[bool] = []

    async def run() -> None:
        client = await nats.connect(servers)
        await asyncio.gather(work(client, "slow", 1.2, stop), work(client, "quick", 0.0, stop))
        await client.close()

    thread = Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        yield
    finally:
        stop.append(True)
        thread.join()


def failure(report: Json, consumer: str) -> Json:
    return next(r for r in report["results"] if r["subject"]["name"] == consumer and r["outcome"] == "fail")


@pytest.mark.parametrize("server_version", VERSIONS)
@pytest.mark.parametrize("nodes", [1, pytest.param(3, marks=pytest.mark.nightly)])
def test_slow_workers_are_measured(
    cluster_factory: ClusterFactory, server_version: str, nodes: int, nats_cli: Path, tmp_path: Path
) -> None:
    cluster: Cluster = cluster_factory(server_version, nodes=nodes)
    with_client(cluster, furnish)
    arguments = ("--server", cluster.url("app"), "--select=JSD410", "--interval=3s")
    with working(cluster.servers("app")):
        _, report = run_check(*arguments)
    slow = failure(report, "slow")
    assert slow["severity"] in ("warning", "error"), "a busy machine makes it longer than the two seconds themselves"
    assert slow["measured"] >= 1.2 * SECOND_NS
    assert "measured acknowledgements 99 % came within" in slow["message"]
    for name in ("quick", "unmeasured"):
        assert failures(report, f"APP/P410/{name}") == {}
    for command in slow["remedy"]["commands"]:
        typed(nats_cli, command, cluster.url("app"))


def test_who_may_not_listen_is_reported(cluster_factory: ClusterFactory) -> None:
    cluster = cluster_factory(accounts=DEAF)
    address = cluster.urls[0].removeprefix("nats://")
    do(f"nats://hears:hears-secret@{address}", furnish)
    url = f"nats://deaf:deaf-secret@{address}"
    code, report = run_check("--server", url, "--select=JSD410", "--interval=200ms", "--scan=P410")
    assert code == 3
    (gap,) = [gap for gap in report["gaps"] if gap["kind"] == "metrics"]
    assert "$JS.EVENT.METRIC.CONSUMER.ACK.>" in gap["how_to_get"]
    assert [r["code"] for r in report["results"] if r["outcome"] == "fail"] == [], "nothing else is hurt by it"


def subjects_requested(report: Json) -> list[str]:
    return [r["outcome"] for r in report["results"] if r["code"] == "JSD429" and r["outcome"] == "not_evaluated"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_filter_with_a_typing_error(shared_cluster: ClusterFactory, tmp_path: Path, version: str) -> None:
    cluster = shared_cluster(version, 1)

    async def plant(client: Client) -> None:
        await add_stream(client, "P429", subjects=["p429.>"], max_age=HOUR_NS, max_bytes=8 << 20)
        await add_consumer(client, "P429", "typo", filter_subject="p429.shiped")
        await add_consumer(client, "P429", "quiet", filter_subject="p429.cancelled")
        await add_consumer(client, "P429", "one-of-two", filter_subjects=["p429.paid", "p429.shiped"])
        await client.request("p429.paid", b"x", timeout=10)
        for _ in range(20):
            await client.request("p429.shipped", b"x", timeout=10)

    with_client(cluster, plant)
    words = ("--select=JSD429,JSD416", "--samples=1")
    trend = "--select=JSD429,JSD416,JSD402"  # takes two samples; the second does not list consumers at rest again
    for selected in (words, (trend,)):
        _, report = run_check("--server", cluster.url("app"), *selected)
        assert failures(report, "APP/P429/typo") == {"JSD429": "warning"}, selected
        assert failures(report, "APP/P429/one-of-two") == {"JSD429": "warning"}, selected
        assert failures(report, "APP/P429/quiet") == {}
        assert not subjects_requested(report)
    _, system = run_check("--server", cluster.url("sys"), *words)
    assert failures(system, "APP/P429/typo") == {}
    assert subjects_requested(system), "a login that cannot ask for subjects must not call the filter right"

    with contexts(cluster, "sys", "app", at=tmp_path) as both:
        _, joined = run_check(*both, *words)
        run_capture(tmp_path / "both.zip", *both, "--samples=1")
    _, captured = run_check("--bundle", str(tmp_path / "both.zip"), "--select=JSD429,JSD416")
    for report in (joined, captured):
        assert failures(report, "APP/P429/typo") == {"JSD429": "warning"}
        assert not subjects_requested(report)
        assert not [gap for gap in report["gaps"] if gap["requested"]]

    async def fix(client: Client) -> None:
        await api(client, "CONSUMER.DELETE.P429.typo")
        await add_consumer(client, "P429", "typo", filter_subject="p429.shipped")

    with_client(cluster, fix)
    _, fixed = run_check("--server", cluster.url("app"), *words)
    assert failures(fixed, "APP/P429/typo") == {}


@pytest.mark.parametrize("version", VERSIONS)
def test_uploads_that_were_cut_off(shared_cluster: ClusterFactory, version: str) -> None:
    """Two uploads of three and four chunks without an object, beside an object that was replaced."""
    cluster = shared_cluster(version, 1)
    subjects = {"subjects": ["$O.p633.C.>", "$O.p633.M.>"], "allow_rollup_hdrs": True, "allow_direct": True}

    async def plant(client: Client) -> None:
        await add_stream(client, "OBJ_p633", max_age=HOUR_NS, max_bytes=8 << 20, **subjects)
        bucket = await client.jetstream().object_store("p633")
        for _ in range(2):
            await bucket.put("replaced", b"x" * 300_000)

    async def cut_off(client: Client) -> None:
        for upload, chunks in (("first", 3), ("second", 4)):
            for _ in range(chunks):
                await client.request(f"$O.p633.C.{upload}", b"x" * 100_000, timeout=10)

    words = ("--select=JSD633", "--samples=1")
    with_client(cluster, plant)
    _, healthy = run_check("--server", cluster.url("app"), *words, "--set=JSD633.settle=0s")
    assert outcomes(healthy) == []
    with_client(cluster, cut_off)
    _, report = run_check("--server", cluster.url("app"), *words, "--set=JSD633.settle=0s")
    assert failures(report, "APP/OBJ_p633") == {"JSD633": "info"}
    message = next(r["message"] for r in report["results"] if r["code"] == "JSD633")
    assert message.startswith("2 uploads at least with ")
    assert "3 uploads and 1 object" in message
    _, early = run_check("--server", cluster.url("app"), *words)
    assert outcomes(early) == ["not_evaluated"], "the uploads may be under way"

    async def purge(client: Client) -> None:
        for upload in ("first", "second"):
            await api(client, "STREAM.PURGE.OBJ_p633", {"filter": f"$O.p633.C.{upload}"})

    with_client(cluster, purge)
    _, fixed = run_check("--server", cluster.url("app"), *words, "--set=JSD633.settle=0s")
    assert outcomes(fixed) == []


def outcomes(report: Json) -> list[str]:
    """Of JSD633, for the stream of the test; those that passed are not listed one by one."""
    return [
        result["outcome"]
        for result in report["results"]
        if result["code"] == "JSD633" and result["subject"].get("name") == "OBJ_p633"
    ]


@pytest.mark.parametrize("nodes", [1, pytest.param(3, marks=pytest.mark.nightly)])
def test_burst_of_repeats(cluster_factory: ClusterFactory, server_version: str, nodes: int) -> None:
    """A worker dies with 30 messages; another gets them again, and then acknowledges them."""
    cluster = cluster_factory(server_version, nodes)
    made(cluster)
    call(cluster, f"CONSUMER.DELETE.{NAME}.worker")

    async def fetched(client: Client) -> list[Msg]:
        subscription = await client.jetstream().pull_subscribe_bind("worker", NAME)
        return await subscription.fetch(30, timeout=5)

    async def hold(client: Client) -> None:
        assert len(await fetched(client)) == 30

    async def acknowledge(client: Client) -> None:
        for message in await fetched(client):
            await message.ack_sync(timeout=5)

    with_client(cluster, lambda client: add_consumer(client, NAME, "worker", ack_wait=SECOND_NS))
    publish(cluster, 30)
    with_client(cluster, hold)
    before = settled(cluster)
    with_client(cluster, hold)
    assert severities("JSD408", before + once(cluster)) == {f"APP/{NAME}/worker": "error"}
    with_client(cluster, acknowledge)
    assert severities("JSD408", before + once(cluster)) == {f"APP/{NAME}/worker": "info"}
    after = once(cluster) + once(cluster)
    assert severities("JSD408", after) == {}
    assert severities("JSD408", before + after) == {}, "none between the last two samples"


@pytest.mark.nightly
@pytest.mark.parametrize("nodes", [1, 3])
def test_ordered_consumers_replaced(cluster_factory: ClusterFactory, server_version: str, nodes: int) -> None:
    """Eight readers lose their consumers, miss heartbeats and go on with new ones; eight watchers are opened anew."""
    cluster = cluster_factory(server_version, nodes)

    async def names(client: Client, stream: str) -> set[str]:
        return set((await api(client, f"CONSUMER.NAMES.{stream}"))["consumers"])

    async def replace(client: Client) -> Samples:
        streams = client.jetstream()
        readers = [await streams.subscribe("p20", ordered_consumer=True) for _ in range(8)]
        await asyncio.gather(*(reader.next_msg(timeout=5) for reader in readers))
        before = await asyncio.to_thread(once, cluster)
        old = await names(client, NAME)
        assert severities("JSD421", before + await asyncio.to_thread(once, cluster)) == {}
        for name in old:
            await api(client, f"CONSUMER.DELETE.{NAME}.{name}")
        for _ in range(200):
            if len(await names(client, NAME) - old) == 8:
                return before + await asyncio.to_thread(once, cluster)
            await asyncio.sleep(0.1)
        raise AssertionError("the clients made no new consumers")

    async def watch(client: Client) -> Samples:
        bucket = await client.jetstream().create_key_value(bucket="P20", history=5)
        for _ in range(5):
            await bucket.put("key", b"x")
        samples: Samples = ()
        for _ in range(2):
            watchers = [await bucket.watchall() for _ in range(8)]
            samples += await asyncio.to_thread(once, cluster)
            await asyncio.gather(*(watcher.stop() for watcher in watchers))  # type: ignore[no-untyped-call]
        return samples

    made(cluster)
    publish(cluster, 10)
    call(cluster, f"CONSUMER.DELETE.{NAME}.worker")
    assert severities("JSD421", with_client(cluster, replace)) == {f"APP/{NAME}": "warning"}
    assert severities("JSD421", with_client(cluster, watch)) == {}
