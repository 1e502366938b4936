"""Logins whose permissions lack a subject, on real servers: found in the logs of the server and of the application."""

from __future__ import annotations

import asyncio
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from nats.errors import TimeoutError as NatsTimeoutError

from tests.real.outage import with_client
from tests.real.test_logs_servers import VERSIONS, logs, severities, wait_for_line
from tests.servers import Cluster, ClusterFactory
from tests.support.deployment import add_consumer, add_stream

pytestmark = pytest.mark.real

NARROW = """NARROW: {
  jetstream: enabled
  users: [
    {user: owner, password: owner}
    {user: worker, password: worker, permissions: {publish: {deny: ["$JS.ACK.>", "$JS.API.STREAM.INFO.*"]}}}
  ]
}"""


async def furnish(client: Client) -> None:
    await add_stream(client, "ORDERS", subjects=["orders"])
    await add_consumer(client, "ORDERS", "worker")
    await client.jetstream().publish("orders", b"1")


def work_without_permissions(cluster: Cluster) -> list[str]:
    """A worker that fetches and acknowledges; returns what it logs."""
    logged: list[str] = []

    async def error(problem: Exception) -> None:
        logged.append(f"2026-11-21T10:00:00Z ERROR worker: {problem}")

    async def run() -> None:
        client = await nats.connect(cluster.url("worker"), error_cb=error)
        try:
            subscription = await client.jetstream().pull_subscribe_bind("worker", "ORDERS")
            [message] = await subscription.fetch(1)
            await message.ack()
            await client.flush()
            with pytest.raises(NatsTimeoutError):
                await client.request("$JS.API.STREAM.INFO.ORDERS", timeout=0.5)
        finally:
            await client.close()

    asyncio.run(run())
    return logged


@pytest.mark.parametrize("version", VERSIONS)
def test_permissions_that_lack_acknowledgements(version: str, cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    cluster = cluster_factory(version, 1, accounts=NARROW)
    with_client(cluster, furnish, "owner")
    logged = work_without_permissions(cluster)
    wait_for_line(cluster, "$JS.API.STREAM.INFO.ORDERS")
    [severity] = severities(*logs(cluster))["JSD825"].values()
    assert severity == "warning", "one refused acknowledgement is enough"

    app = tmp_path / "worker.log"
    app.write_text("\n".join([*logged, *["2026-11-21T10:00:01Z ERROR worker: publish failed: nats: timeout"] * 6, ""]))
    failures = severities(app)
    assert failures["JSD825"] == {"worker": "warning"}, logged
    assert failures["JSD826"] == {"worker": "warning"}
