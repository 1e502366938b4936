"""JSD410 from the server's own measurements: a consumer with `sample_freq`, and workers that are slow or quick."""

from __future__ import annotations

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

from tests.collect.looking import NIGHTLY_UNLESS_DEFAULT
from tests.real.test_clock import typed
from tests.real.ward import Json, failures, run_check
from tests.servers import Cluster, ClusterFactory
from tests.support.deployment import HOUR_NS, add_consumer, add_stream

pytestmark = pytest.mark.real

SECOND_NS = 1_000_000_000
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


def with_client(servers: list[str], act: Any) -> None:
    async def run() -> None:
        client = await nats.connect(servers)
        try:
            await act(client)
        finally:
            await client.close()

    asyncio.run(run())


def failure(report: Json, consumer: str) -> Json:
    return next(r for r in report["results"] if r["subject"]["name"] == consumer and r["outcome"] == "fail")


@pytest.mark.parametrize("server_version", NIGHTLY_UNLESS_DEFAULT)
@pytest.mark.parametrize("nodes", [1, pytest.param(3, marks=pytest.mark.nightly)])
def test_slow_workers_are_measured(
    cluster_factory: ClusterFactory, server_version: str, nodes: int, nats_cli: Path, tmp_path: Path
) -> None:
    cluster: Cluster = cluster_factory(server_version, nodes=nodes)
    with_client(cluster.servers("app"), furnish)
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
    with_client([f"nats://hears:hears-secret@{address}"], furnish)
    url = f"nats://deaf:deaf-secret@{address}"
    code, report = run_check("--server", url, "--select=JSD410", "--interval=200ms", "--scan=P410")
    assert code == 3
    (gap,) = [gap for gap in report["gaps"] if gap["kind"] == "metrics"]
    assert "$JS.EVENT.METRIC.CONSUMER.ACK.>" in gap["how_to_get"]
    assert [r["code"] for r in report["results"] if r["outcome"] == "fail"] == [], "nothing else is hurt by it"
