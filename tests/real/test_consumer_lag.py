"""Consumers that take long to tell ill from well: faults with short thresholds, healthy habits with the real ones."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import nats
import pytest
from nats.aio.msg import Msg

from tests.real.plants_consumer_lag import SECOND_NS, acknowledge, delivered
from tests.real.ward import TOPOLOGIES, Json, Site, failures, run_check
from tests.servers import DEFAULT_VERSION, VERSIONS, Cluster, ClusterFactory
from tests.support.deployment import HOUR_NS

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("consumer-lag")]
IMPATIENT = """
[rules.JSD405]
idle_for = "1s"
absent_for = "1s"
[rules.JSD417]
still_for = "1s"
"""
OURS = {"JSD401", "JSD402", "JSD403", "JSD404", "JSD405", "JSD406", "JSD408", "JSD417"}
VISIBLY_STILL = {("JSD404", "spare"), ("JSD403", "serial"), ("JSD403", "batch"), ("JSD405", "fetcher")}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((v, t), id=f"{v}-{t}", marks=() if v == DEFAULT_VERSION else pytest.mark.nightly)
        for v in VERSIONS
        for t in TOPOLOGIES
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
    site = Site(cluster, version, client)
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


@pytest.mark.parametrize("interval", ["2s"])
def test_healthy_habits_are_not_reported(cluster: tuple[Cluster, str], interval: str) -> None:
    report = asyncio.run(habits(*cluster, interval))
    results = [
        result for result in report["results"] if result["code"] in OURS and result["outcome"] in ("fail", "error")
    ]
    loud = [result for result in results if result["severity"] != "info" or result["outcome"] == "error"]
    assert [f"{result['code']} {result['subject']} {result['message']}" for result in loud] == []
    # What visibly stands still is information with numbers, whatever the habit behind it.
    assert {(result["code"], result["subject"]["name"]) for result in results} <= VISIBLY_STILL


async def habits(cluster: Cluster, version: str, interval: str) -> Json:
    """Consumers at rest, at their limit or behind on purpose, all of them with messages that wait."""
    client = await nats.connect(cluster.servers("app"))
    site = Site(cluster, version, client)
    modern = version.split(".")[1] != "10"
    try:
        await site.stream("HABITS", subjects=["habits.>"])
        await site.publish("habits.old", 5)
        # One message at a time, the handler still at it.
        await site.consumer("HABITS", "serial", max_ack_pending=1)
        await site.fetch("HABITS", "serial", 1, ack=False)
        # A batch as large as the limit, half of it done.
        await site.consumer("HABITS", "batch", max_ack_pending=3)
        await site.fetch("HABITS", "batch", 3, ack=False)
        # A client between two fetches.
        await site.consumer("HABITS", "fetcher")
        await site.fetch("HABITS", "fetcher", 2)
        # A long job whose worker reports progress.
        await site.consumer("HABITS", "job", max_ack_pending=1, ack_wait=SECOND_NS)
        site.background(in_progress(site, "HABITS", "job"))
        # Messages refused with a delay, nothing else to do.
        await site.consumer("HABITS", "later", filter_subject="habits.later")
        await site.publish("habits.later", 2)
        await refuse_later(site, "HABITS", "later", 2)
        await wait_for_more(site, "HABITS", "later")
        # As slow as it was published, with a pause in the middle.
        await site.stream("REPLAY", subjects=["replay"])
        await site.publish("replay", 1)
        await asyncio.sleep(6)
        await site.publish("replay", 3)
        await client.subscribe("deliver.replay", cb=acknowledge)
        await site.consumer("REPLAY", "show", deliver_subject="deliver.replay", replay_policy="original")
        # Short-lived, and nobody uses it any more.
        await site.consumer("HABITS", "brief", durable=False, inactive_threshold=HOUR_NS // 60)
        if modern:
            await site.consumer("HABITS", "paused", pause_until="2099-01-01T00:00:00Z")
            await wait_for_more(site, "HABITS", "paused")
            groups = {"priority_groups": ["g"], "priority_policy": "overflow"}
            await site.consumer("HABITS", "spare", **groups)
            await wait_for_more(site, "HABITS", "spare", group="g", min_pending=1_000)
        _, report = await asyncio.to_thread(run_check, "--server", cluster.url("sys"), "--interval", interval)
        await site.rest()
        for stream in ("HABITS", "REPLAY"):
            await site.api(f"STREAM.DELETE.{stream}")
    finally:
        await site.rest()
        await client.close()
    return report


async def in_progress(site: Site, stream: str, consumer: str) -> None:
    """A worker that holds one message for long and says so in time."""
    inbox = site.client.new_inbox()
    subscription = await site.client.subscribe(inbox)
    await site.client.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", b"1", reply=inbox)
    message = await subscription.next_msg(timeout=10)
    while not site.stopping:
        await message.respond(b"+WPI")
        await asyncio.sleep(0.2)


async def refuse_later(site: Site, stream: str, consumer: str, count: int) -> None:
    """Fetch messages and refuse them for a minute."""
    inbox = site.client.new_inbox()
    subscription = await site.client.subscribe(inbox)
    await site.client.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", str(count).encode(), reply=inbox)
    for _ in range(count):
        await (await subscription.next_msg(timeout=10)).respond(b'-NAK {"delay": 60000000000}')


async def wait_for_more(site: Site, stream: str, consumer: str, **options: object) -> None:
    """A client with an open request."""
    inbox = site.client.new_inbox()
    await site.client.subscribe(inbox)
    body = json.dumps({"batch": 5, "expires": 120 * SECOND_NS, **options}).encode()
    await site.client.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", body, reply=inbox)
