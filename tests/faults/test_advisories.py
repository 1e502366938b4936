"""What a stream of advisories proves, on real servers: every fault planted, told, and gone; ordinary work is silent."""

import asyncio
import json
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client

from tests.servers import DEFAULT_VERSION, VERSIONS, Cluster, ClusterFactory
from tests.support.reports import Json, failures_of, requested, run_capture, run_check
from tests.support.site import SECOND_NS, Site

pytestmark = pytest.mark.real

CODES = ("JSD409", "JSD430", "JSD517", "JSD635")
SCAN = ("--scan=ADVISORIES", f"--select={','.join(CODES)}")
ALL = "$JS.EVENT.ADVISORY.>"
LOUD = {"warning", "error", "critical"}
DEPLOYMENTS = [pytest.param(version, 1, {}, id=f"{version}-limits") for version in VERSIONS] + [
    pytest.param(
        DEFAULT_VERSION,
        3,
        {"retention": "workqueue", "allow_direct": True},
        id="three-nodes-queue",
        marks=pytest.mark.nightly,
    ),
    pytest.param(VERSIONS[0], 1, {"max_consumers": 1, "allow_direct": True}, id="one-by-one"),
]


async def terminate(site: Site, stream: str, count: int) -> None:
    subscription = await site.client.jetstream().pull_subscribe_bind("worker", stream)
    for _ in range(count):
        (message,) = await subscription.fetch(1, timeout=5)
        await site.client.request(message.reply, b"+TERM no such customer", timeout=5)


async def batches(client: Client, subject: str, commits: str, count: int) -> None:
    """So many batches of two messages each; the second has the number `commits`."""
    for number in range(count):
        own = {"Nats-Batch-Id": f"{subject}-{commits}-{number}"}
        await client.request(subject, b"x", headers={**own, "Nats-Batch-Sequence": "1"}, timeout=5)
        ends = {**own, "Nats-Batch-Sequence": commits, "Nats-Batch-Commit": "1"}
        await client.request(subject, b"x", headers=ends, timeout=5)


async def refused(client: Client, request: str, body: Json, times: int) -> None:
    for _ in range(times):
        reply = await client.request(f"$JS.API.{request}", json.dumps(body).encode(), timeout=5)
        assert b'"error"' in reply.data


async def furnish(site: Site, client: Client, recorder: dict[str, Any]) -> None:
    """A stream of advisories, and a day of ordinary work."""
    await site.stream("ADVISORIES", subjects=[ALL], **recorder)
    if recorder.get("max_consumers"):
        await site.consumer("ADVISORIES", "audit", filter_subject="$JS.EVENT.ADVISORY.CONSUMER.PAUSE.>")
    await site.stream("WORK", retention="workqueue")
    await site.consumer("WORK", "worker", max_deliver=5)
    await site.publish("work.x", 30)
    await site.fetch("WORK", "worker", 20)
    await terminate(site, "WORK", 2)
    await refused(client, "STREAM.INFO.NEW", {}, 20)
    await refused(client, "CONSUMER.INFO.WORK.new", {}, 20)
    await refused(client, "STREAM.CREATE.WORK", {"name": "WORK", "subjects": ["work.other"]}, 20)
    await refused(client, "STREAM.CREATE.NEW", {"name": "NEW", "subjects": ["work.x"]}, 2)
    if takes_batches(site):
        await site.stream("BATCHED", allow_atomic=True)
        await batches(site.client, "batched.x", "2", 10)
        await batches(site.client, "batched.x", "3", 1)


def takes_batches(site: Site) -> bool:
    return not site.version.startswith("2.10")


async def plant(site: Site, client: Client) -> None:
    await site.stream("ONCE")
    await site.consumer("ONCE", "worker", max_deliver=1, ack_wait=SECOND_NS)
    await site.publish("once.x", 3)
    await site.fetch("ONCE", "worker", 1, ack=False)
    await asyncio.sleep(1.5)
    await site.fetch("ONCE", "worker", 2)
    await site.publish("work.x", 10)
    await terminate(site, "WORK", 10)
    await refused(client, "STREAM.CREATE.NEW", {"name": "NEW", "subjects": ["work.x"]}, 3)
    if takes_batches(site):
        await batches(site.client, "batched.x", "3", 3)


async def cure(site: Site) -> None:
    """What was given up leaves its stream; of events a day must pass, which the purge stands for."""
    await site.api("STREAM.PURGE.ONCE")
    await site.api("STREAM.PURGE.ADVISORIES", {"filter": "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.>"})
    await site.api("STREAM.PURGE.ADVISORIES", {"filter": "$JS.EVENT.ADVISORY.API"})
    await site.api("STREAM.PURGE.ADVISORIES", {"filter": "$JS.EVENT.ADVISORY.STREAM.>"})


def at_site(cluster: Cluster, version: str, work: Any, *arguments: Any) -> None:
    async def run() -> None:
        client = await nats.connect(cluster.servers("app"), name="operator")
        billing = await nats.connect(cluster.servers("app"), name="billing")
        try:
            own = (billing, *arguments) if work is not cure else ()
            await work(Site.of(cluster, version, client), *own)
        finally:
            await client.close()
            await billing.close()

    asyncio.run(run())


def found(report: Json) -> dict[str, dict[str, str]]:
    return {code: failures_of(report, code) for code in CODES}


@pytest.mark.parametrize(("version", "nodes", "recorder"), DEPLOYMENTS)
def test_recorded_events_are_told_and_ordinary_ones_are_not(
    cluster_factory: ClusterFactory, tmp_path: Path, version: str, nodes: int, recorder: dict[str, Any]
) -> None:
    cluster = cluster_factory(version, nodes)
    login = ("--server", cluster.url("app"))
    at_site(cluster, version, furnish, recorder)
    _, report = run_check(*login, "--scan=ADVISORIES")
    assert requested(report) == []
    assert found(report)["JSD430"] == {"APP/WORK/worker": "info"}
    assert found(report)["JSD517"] == {"APP/billing": "info"}
    assert not [severity for of in found(report).values() for severity in of.values() if severity in LOUD]

    at_site(cluster, version, plant)
    bundle = tmp_path / "advisories.zip"
    run_capture(bundle, *login, "--scan=ADVISORIES")
    for source in (login, ("--bundle", str(bundle))):
        _, report = run_check(*source, *(SCAN if source is login else SCAN[1:]))
        assert found(report) == {
            "JSD409": {"APP/ONCE/worker": "warning"},
            "JSD430": {"APP/WORK/worker": "warning"},
            "JSD517": {"APP/billing": "warning"},
            "JSD635": {} if version.startswith("2.10") else {"APP/BATCHED": "warning"},
        }
        failed = {result["code"]: result for result in report["results"] if result["outcome"] == "fail"}
        told = {code: result["message"] for code, result in failed.items()}
        # Where the ack floor stays behind, the state of the consumer tells it first.
        assert "still in the stream 1:" in told["JSD409"] or told["JSD409"].startswith("at least 1 message")
        assert ("max_deliver", [1]) in [(item["path"], item["value"]) for item in failed["JSD409"]["evidence"]]
        assert "12 messages" in told["JSD430"]
        assert "the last one for 'no such customer'" in told["JSD430"]
        assert "STREAM.CREATE 5 times with 'subjects overlap with an existing stream' (10065)" in told["JSD517"]

    at_site(cluster, version, cure)
    _, report = run_check(*login, *SCAN)
    assert requested(report) == []
    assert not [severity for of in found(report).values() for severity in of.values() if severity in LOUD]


def test_a_stream_that_each_request_fills_is_not_read(cluster_factory: ClusterFactory) -> None:
    cluster = cluster_factory(DEFAULT_VERSION, 1)
    at_site(cluster, DEFAULT_VERSION, furnish, {"retention": "workqueue"})
    code, report = run_check("--server", cluster.url("app"), *SCAN)
    assert code == 3
    (how,) = [gap["how_to_get"] for gap in report["gaps"] if "adds an advisory to it" in gap["reason"]][:1]
    assert "--allow-direct" in how
    assert {rule["outcome"] for rule in report["rules"] if rule["code"] != "JSD409"} == {"not_evaluated"}
