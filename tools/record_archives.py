"""Records `fixtures/archives`: archives of old versions of `nats audit gather`, whose formats new ones no longer write.

    python -m tools.record_archives NATS NAME VERSION NODES

NATS is an old `nats` command, VERSION that of the servers. Beside each archive goes a bundle of jsdoctor, captured from
the same servers at the same time. nats 0.2 did not compress: one server fills as much as three in 0.1.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nats

from tests.servers import Cluster
from tests.support.deployment import HOUR_NS, add_consumer, add_stream
from tests.support.evidence import FIXTURES

ARCHIVES = FIXTURES / "archives"
LOGIN = ("--user", "sys", "--password", "sys")


async def plant(url: str, replicas: int) -> None:
    """One healthy stream, and faults that show in one look; each is told of in the test of the archives."""
    client = await nats.connect(url.split(","))
    bounded: dict[str, Any] = {"num_replicas": replicas, "max_age": 72 * HOUR_NS, "max_bytes": 8 << 20}
    await add_stream(client, "GOOD", subjects=["good"], **bounded)
    await add_consumer(client, "GOOD", "reader")
    await add_stream(client, "FULL", subjects=["full"], **bounded | {"max_msgs": 10}, discard="new")
    await add_stream(client, "ONE", subjects=["one"], **bounded | {"num_replicas": 1})
    watched = {"io.nats.monitor.enabled": "true", "io.nats.monitor.outstanding-ack-critical": "2"}
    await add_stream(client, "SLOTS", subjects=["slots"], **bounded)
    await add_consumer(client, "SLOTS", "worker", max_ack_pending=3, ack_wait=HOUR_NS, metadata=watched)
    for subject in ("good", "full", "one", "slots"):
        for _ in range(10):
            await client.jetstream().publish(subject, b"x")
    worker = await client.jetstream().pull_subscribe_bind("worker", stream="SLOTS")
    await worker.fetch(3)
    reader = await client.jetstream().pull_subscribe_bind("reader", stream="GOOD")
    for message in await reader.fetch(10):
        await message.ack_sync()
    await client.close()


def gather(
    nats_cli: Path | str,
    urls: Iterable[str],
    target: Path,
    *flags: str,
    login: Iterable[str] = LOGIN,
    profiles: bool = False,
) -> Path:
    """Run `nats audit gather`. Profiles take seconds for each server."""
    # The login apart from the address, which 0.1.x writes into the archive as it is.
    command = [str(nats_cli), "-s", ",".join(urls), *login, "--timeout", "1s"]
    command += ["audit", "gather", "--no-progress", "-o", str(target), *flags]
    command += [] if profiles else ["--no-server-profiles"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    # It writes what it has when it fails. 0.5.0 always does on streams outside of a cluster.
    unclustered = 'tag "cluster" value "" is not a valid path component' in done.stderr
    assert done.returncode == 0 or unclustered, done.stdout + done.stderr
    return target


def capture(cluster: Cluster, target: Path) -> Path:
    """The same in one sample of jsdoctor."""
    command = [sys.executable, "-m", "jsdoctor", "capture", "-o", str(target), "--force"]
    command += ["-s", cluster.url("sys"), "--samples", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return target


def main() -> None:
    """Record one archive."""
    nats_cli, name, version, nodes = sys.argv[1:]
    ARCHIVES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory, Cluster.launch(Path(directory), version, int(nodes)) as cluster:
        asyncio.run(plant(cluster.url("app"), int(nodes)))
        cluster.wait_ready()
        gather(nats_cli, cluster.urls, ARCHIVES / f"{name}.zip")
        capture(cluster, ARCHIVES / f"{name}.capture.zip")


if __name__ == "__main__":
    main()
