"""Reading stored messages of every kind of stream, on real servers: all of it is read, and nothing changes."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import nats
import pytest

from jsdoctor.model.exchange import Endpoint, Exchange
from jsdoctor.model.stored import ScanTarget
from jsdoctor.replies.assemble import assemble
from jsdoctor.replies.stored import StoredReply, unpack
from tests.scan.reading import MESSAGES, consumers, furnished, publish, scan, stored, ways
from tests.servers import VERSIONS, Cluster, ClusterFactory, wait_until
from tests.sources.looking import NIGHTLY_UNLESS_DEFAULT, gaps
from tests.support.deployment import add_consumer, add_stream, api
from tests.support.reports import run_check

pytestmark = pytest.mark.real

STREAMS: dict[str, dict[str, Any]] = {
    "LIMITS": {},
    "MEMORY": {"storage": "memory"},
    "WORK": {"retention": "workqueue"},
    "WORKD": {"retention": "workqueue", "allow_direct": True},
    "KV_x": {"max_msgs_per_subject": 2, "allow_direct": True, "allow_rollup_hdrs": True, "deny_delete": True},
    "FULL": {"max_consumers": 1},
    "BRIEF": {"consumer_limits": {"inactive_threshold": 2_000_000_000}},
    "COPY": {"mirror": {"name": "LIMITS"}},
    "EMPTY": {},
}
LTD = """
  LTD: {
    jetstream: enabled
    users: [
      { user: ltd, password: ltd }
      { user: look, password: look, permissions: { publish: ["$SYS.REQ.USER.INFO", "$JS.API.STREAM.INFO.>"] } }
      { user: make, password: make, permissions: { publish: { deny: ["$JS.API.CONSUMER.MSG.NEXT.>"] } } }
    ]
  }
"""


@pytest.fixture
def house(shared_cluster: ClusterFactory, server_version: str) -> Cluster:
    """A server with every kind of stream; the work queues are not worked on."""
    cluster = furnished(shared_cluster(server_version, extra_config="# scan\n"), **STREAMS)

    async def finish() -> None:
        client = await nats.connect(cluster.servers("app"))
        if not (await api(client, "CONSUMER.NAMES.FULL"))["consumers"]:
            await add_consumer(client, "FULL", "only")
            await add_stream(client, "EVENTS", subjects=["EVENTS.>"], retention="interest")
            await add_consumer(client, "EVENTS", "audit")
            await publish(client, "EVENTS")
            await add_stream(client, "HOLES", subjects=["HOLES.>"])
            await publish(client, "HOLES")
            for seq in (1, 2, 50, *range(100, 200), MESSAGES):
                await api(client, "STREAM.MSG.DELETE.HOLES", {"seq": seq})
            await add_stream(client, "HOLED", subjects=["HOLED.>"], retention="workqueue", allow_direct=True)
            await publish(client, "HOLED")
            await api(client, "STREAM.MSG.DELETE.HOLED", {"seq": MESSAGES - 9})
            await add_stream(client, "SEALED", subjects=["SEALED.>"])
            await publish(client, "SEALED")
            config = (await api(client, "STREAM.INFO.SEALED"))["config"]
            await api(client, "STREAM.UPDATE.SEALED", config | {"sealed": True})
        await client.close()

    asyncio.run(finish())
    return cluster


def states(cluster: Cluster) -> dict[str, Any]:
    """What the server says of each stream."""
    listed = cluster.monitor("n1", "/jsz?streams=true&accounts=true")
    return {s["name"]: s["state"] for account in listed["account_details"] for s in account["stream_detail"]}


def test_every_kind_of_stream_is_read_and_none_is_changed(house: Cluster) -> None:
    names = [*STREAMS, "EVENTS", "HOLES", "SEALED"]
    before, had = states(house), consumers(house)
    samples = scan(house, *names)
    assert gaps(samples) == []
    by_name = stored(samples)
    assert set(by_name) == set(names)
    for name in names:
        state = before[name]
        assert (by_name[name].messages, by_name[name].account, by_name[name].whole) == (
            state["messages"],
            "APP",
            True,
        ), name
        assert by_name[name].inversions.count == by_name[name].future.count == 0, name
    assert (by_name["LIMITS"].first_seq, by_name["LIMITS"].last_seq) == (1, MESSAGES)
    assert (by_name["HOLES"].first_seq, by_name["HOLES"].last_seq, by_name["HOLES"].messages) == (3, MESSAGES - 1, 196)
    assert by_name["EMPTY"].messages == 0
    gets = dict.fromkeys(("WORK", "EVENTS", "FULL"), "STREAM.MSG.GET")
    assert ways(samples) == dict.fromkeys(names, "CONSUMER") | {"WORKD": "DIRECT.GET"} | gets
    assert states(house) == before
    assert consumers(house) == had


def test_ids_are_counted_by_subject_and_never_kept(house: Cluster) -> None:
    names = ("LIMITS", "WORK", "WORKD")
    samples = scan(house, *names, ids=True)
    for name, stream in stored(samples).items():
        assert [row.subject for row in stream.subjects] == [f"{name}.{number}" for number in range(4)]
        assert (stream.with_id, sum(row.without_id for row in stream.subjects)) == (200, 100)
        assert sum(row.misnamed for row in stream.subjects) == 34
    exchanges = [e for e in samples[-1].exchanges if e.endpoint is Endpoint.STORED_MESSAGES]
    for exchange in exchanges:
        assert b"secret" not in exchange.body
        assert b"payload" not in exchange.body
        blocks = [unpack(block) for block in reply_of(exchange).blocks]
        assert sum(len(block.ids) for block in blocks) == MESSAGES
        assert not any(block.digests for block in blocks), "no id came twice, so no digest is kept"


def reply_of(exchange: Exchange) -> StoredReply:
    return msgspec.json.decode(exchange.body, type=StoredReply)


def test_dates_are_those_of_the_server(house: Cluster) -> None:
    """All ways of reading tell the same date, to the nanosecond, that the server tells of the message."""

    async def ask(name: str) -> str:
        client = await nats.connect(house.servers("app"))
        message = (await api(client, f"STREAM.MSG.GET.{name}", {"seq": 7}))["message"]
        await client.close()
        return str(message["time"])

    samples = scan(house, "LIMITS", "WORK", "WORKD")
    for exchange in samples[-1].exchanges:
        if exchange.endpoint is Endpoint.STORED_MESSAGES:
            reply = reply_of(exchange)
            rows = unpack(reply.blocks[0])
            fraction = asyncio.run(ask(reply.stream)).partition(".")[2].rstrip("Z").ljust(9, "0")
            assert rows.sequences[6] == 7
            assert f"{rows.dates[6] % 1_000_000_000:09}" == fraction, reply.stream


@pytest.mark.parametrize("server_version", NIGHTLY_UNLESS_DEFAULT)
def test_only_the_newest_are_read(house: Cluster) -> None:
    """The first of them is deleted in HOLED, which is read by DIRECT.GET."""
    names = ("LIMITS", "WORK", "WORKD", "HOLES", "HOLED")
    by_name = stored(scan(house, *(ScanTarget(name, 10) for name in names)))
    for name in names:
        assert not by_name[name].whole
        assert by_name[name].first_seq == MESSAGES - (8 if name == "HOLED" else 9)
        assert by_name[name].messages == (9 if name in ("HOLES", "HOLED") else 10)


@pytest.mark.parametrize("server_version", NIGHTLY_UNLESS_DEFAULT)
def test_a_stream_that_is_not_there(house: Cluster) -> None:
    samples = scan(house, "NOWHERE", "LIMITS")
    assert list(stored(samples)) == ["LIMITS"]
    (gap,) = gaps(samples)
    assert (gap.kind, gap.subject.name, gap.subject.account) == ("scan", "NOWHERE", "APP")
    assert "stream not found" in gap.reason


@pytest.mark.parametrize("user", ["look", "make"])
def test_a_login_that_may_not(shared_cluster: ClusterFactory, user: str) -> None:
    cluster = shared_cluster(accounts=LTD)

    async def fill() -> None:
        client = await nats.connect(cluster.servers("ltd"))
        if not (await api(client, "STREAM.NAMES"))["streams"]:
            await add_stream(client, "LIMITS", subjects=["LIMITS.>"])
            await publish(client, "LIMITS")
        await client.close()

    asyncio.run(fill())
    samples = scan(cluster, "LIMITS", user=user)
    assert stored(samples) == {}
    (gap,) = gaps(samples)
    missing = {"look": "$JS.API.CONSUMER.CREATE.LIMITS.*", "make": "$JS.API.CONSUMER.MSG.NEXT.LIMITS.*"}[user]
    assert gap.kind == "scan"
    assert missing in gap.how_to_get
    wait_until(lambda: consumers(cluster) == 0, "no consumer to be left")
    absent = assemble(list(samples)).gaps
    assert any("could be read" in gap.reason for gap in absent if not gap.requested)


@pytest.mark.parametrize("version", [VERSIONS[0], VERSIONS[-1]])
def test_three_servers(shared_cluster: ClusterFactory, version: str) -> None:
    streams: dict[str, dict[str, Any]] = {
        "TRIO": {"num_replicas": 3},
        "TRIOWORK": {"num_replicas": 3, "retention": "workqueue"},
    }
    cluster = furnished(shared_cluster(version, 3, extra_config="# scan\n"), **streams)
    by_name = stored(scan(cluster, *streams))
    assert {name: stream.messages for name, stream in by_name.items()} == dict.fromkeys(streams, MESSAGES)
    assert {stream.answered_by for stream in by_name.values()} <= set(cluster.names)
    wait_until(lambda: consumers(cluster) == 0, "no consumer to be left")


def test_an_interrupt_leaves_no_consumer(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    cluster = cluster_factory()

    async def fill() -> None:
        client = await nats.connect(cluster.servers("app"))
        await add_stream(client, "LARGE", subjects=["LARGE.>"], storage="memory")
        for number in range(200_000):
            await client.publish("LARGE.x", b"x")
            if number % 10_000 == 9_999:
                await client.flush(30)
        await client.close()

    asyncio.run(fill())
    command = [sys.executable, "-m", "jsdoctor", "check", "--isolated", "--server", cluster.url("app")]
    process = subprocess.Popen(
        [*command, "--select", "JSD105", "--scan", "LARGE"],
        env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(lambda: process.poll() is not None or consumers(cluster) == 1, "the consumer", timeout=60)
        assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (130, "", "jsdoctor: interrupted\n")
    assert consumers(cluster) == 0


def test_the_server_can_delete_the_consumer_without_us(shared_cluster: ClusterFactory) -> None:
    """What matters when jsdoctor is killed. And nothing else is asked that could change anything."""
    cluster = furnished(shared_cluster(extra_config="# scan\n"), **STREAMS)

    async def advisories_of_a_scan() -> list[dict[str, Any]]:
        client = await nats.connect(cluster.servers("app"))
        events = await client.subscribe("$JS.EVENT.ADVISORY.API")
        await client.flush()
        scan_process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "jsdoctor", "check", "--isolated", "--server", cluster.url("app")),
            *("--select", "JSD105", "--scan", "LIMITS", "--quiet"),
        )
        assert await scan_process.wait() == 0
        received = []
        while True:
            event = json.loads((await events.next_msg(timeout=10)).data)
            received.append(event)
            if ".CONSUMER.DELETE." in event["subject"]:
                await client.close()
                return received

    advisories = asyncio.run(advisories_of_a_scan())
    # Mirrors make consumers of their own.
    (create,) = [json.loads(e["request"]) for e in advisories if ".CONSUMER.CREATE.LIMITS.jsdoctor-" in e["subject"]]
    config = create["config"]
    assert config["inactive_threshold"] <= 10_000_000_000
    assert (config["ack_policy"], config["headers_only"], config["mem_storage"]) == ("none", True, True)
    assert "durable_name" not in config
    deleted = [e["subject"] for e in advisories if ".CONSUMER.DELETE." in e["subject"]]
    assert deleted == [f"$JS.API.CONSUMER.DELETE.LIMITS.{config['name']}"]
    asked = {".".join(e["subject"].split(".")[2:4]) for e in advisories}
    assert asked <= {"STREAM.LIST", "CONSUMER.LIST", "STREAM.INFO", "CONSUMER.CREATE", "CONSUMER.DELETE"}


def test_a_report_with_a_scan(shared_cluster: ClusterFactory) -> None:
    """Together with everything else that a check looks at."""
    cluster = furnished(shared_cluster(extra_config="# scan\n"), **STREAMS)
    _, report = run_check("--server", cluster.url("app"), "--scan", "LIMITS", "--scan", "WORK:20", "--interval", "1ms")
    (verdict,) = [rule for rule in report["rules"] if rule["code"] == "JSD105"]
    assert (verdict["outcome"], verdict["subjects"]["pass"]) == ("pass", 2)
    (none,) = [gap for gap in report["gaps"] if gap["kind"] == "scan"]
    assert (none["reason"], none["requested"]) == ("no stream of advisories was read", False)
