"""`--budget`: servers report no more requests in a second than it allows."""

import asyncio
import json
from datetime import datetime
from pathlib import Path

import nats
import pytest
from nats.aio.msg import Msg

from tests.cli.invoke import jsdoctor
from tests.servers import Cluster, ClusterFactory
from tests.support.deployment import add_consumer, add_stream

pytestmark = pytest.mark.real

STREAMS, PER_SECOND = 20, 10
SENT_TOGETHER = 2
"""A request may wait for a processor while the next one becomes due."""


def test_requests_keep_to_the_budget(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    cluster = cluster_factory()
    times = asyncio.run(_requests_of_a_check(cluster, tmp_path))
    assert len(times) > STREAMS, "one request for the consumers of each stream, and more"
    for first, last in zip(times, times[PER_SECOND + SENT_TOGETHER :], strict=False):
        assert (last - first).total_seconds() >= 1


async def _requests_of_a_check(cluster: Cluster, directory: Path) -> list[datetime]:
    """When the server received each request of the JetStream API from a check, by its own clock."""
    client = await nats.connect(cluster.servers("app"))
    for number in range(STREAMS):
        await add_stream(client, f"S{number}", subjects=[f"s.{number}"])
        await add_consumer(client, f"S{number}", "worker")
    times: list[datetime] = []

    async def note(message: Msg) -> None:
        advisory = json.loads(message.data)
        if advisory["client"].get("name") == "jsdoctor":
            times.append(datetime.fromisoformat(advisory["timestamp"][:26].rstrip("Z")))

    await client.subscribe("$JS.EVENT.ADVISORY.API", cb=note)
    await client.flush()
    words = ("check", "--isolated", "--samples", "1", "--budget", str(PER_SECOND), "--format", "json")
    done = await asyncio.to_thread(jsdoctor, *words, "--server", cluster.url("app"), cwd=directory)
    await client.flush()
    await client.close()
    assert done.returncode == 0, done.stderr
    assert [gap for gap in json.loads(done.stdout)["gaps"] if gap["requested"]] == []
    return sorted(times)
