"""What the tests of broken deployments share: what servers report of themselves, and disks that are full."""

import asyncio
import contextlib
import os
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

import pytest
from nats.aio.client import Client

from tests.servers import Cluster, wait_until
from tests.servers.deployments import T, do
from tests.support.deployment import add_stream, api
from tests.support.reports import Json

SILENCE_NS = 10_000_000_000
"""So long a leader must not have heard a peer before JSD703 names it."""

HANG_S = 30
"""A run that takes longer than this hangs. With its default timeout of 5 s the longest takes some 15 s."""


def with_client(cluster: Cluster, work: Callable[[Client], Awaitable[T]], user: str = "app") -> T:
    """What comes of some work with a client of that user."""
    return do(cluster.url(user), work, connect_timeout=10)


def peers_of(
    cluster: Cluster, stream: str, account: str = "APP", asked: Sequence[str] | None = None
) -> dict[str, Json]:
    """The peers of a stream as its leader shows them, by name; empty while none of those `asked` leads it."""
    for name in cluster.names if asked is None else asked:
        if not cluster.node(name).running:
            continue
        for detail in cluster.monitor(name, "/jsz?accounts=true&streams=true").get("account_details") or []:
            for stream_detail in detail.get("stream_detail") or []:
                placed = stream_detail.get("cluster") or {}
                if detail["name"] == account and stream_detail["name"] == stream and placed.get("leader") == name:
                    return {peer["name"]: peer for peer in placed.get("replicas") or []}
    return {}


def consumer_peers(cluster: Cluster, stream: str, consumer: str, account: str = "APP") -> dict[str, Json]:
    """The peers of a consumer as its leader shows them, by name; empty while no server leads it."""
    for name in cluster.names:
        for detail in cluster.monitor(name, "/jsz?accounts=true&consumers=true").get("account_details") or []:
            for stream_detail in detail.get("stream_detail") or []:
                for consumer_detail in stream_detail.get("consumer_detail") or []:
                    placed = consumer_detail.get("cluster") or {}
                    if (detail["name"], stream_detail["name"], consumer_detail["name"]) == (
                        account,
                        stream,
                        consumer,
                    ) and (placed.get("leader") == name):
                        return {peer["name"]: peer for peer in placed.get("replicas") or []}
    return {}


def lasting(condition: Callable[[], bool]) -> Callable[[], bool]:
    """Whether a condition has held for ten seconds, each time it was asked."""
    began = time.monotonic()

    def lasts() -> bool:
        nonlocal began
        if not condition():
            began = time.monotonic()
        return (time.monotonic() - began) * 1e9 > SILENCE_NS

    return lasts


def wait_until_silent(peer: Callable[[], Json | None], description: str) -> None:
    """Until a leader, whose view of a peer is given, has not heard that peer for ten seconds. One that was just
    elected never did (`active` is 0), and has to lead for so long.
    """

    def missed() -> Json | None:
        reported = peer()
        return None if reported is None or reported["current"] else reported

    never_heard = lasting(lambda: (reported := missed()) is not None and not reported["active"])
    wait_until(
        lambda: never_heard() or ((reported := missed()) is not None and reported["active"] > SILENCE_NS),
        description,
        timeout=90,
    )


async def fill(client: Client, stream: str, follower: str, until: Callable[[], bool]) -> None:
    """Publish 50 kB messages to a new stream on three servers `until` the disk of `follower` is found to be full.

    That server does not lead: a leader that meets a full disk leaves publishers without an answer.
    """
    await add_stream(client, stream, subjects=[stream.lower()], num_replicas=3)
    while (leader := (await api(client, f"STREAM.INFO.{stream}"))["cluster"].get("leader")) in (None, follower):
        if leader:
            await api(client, f"STREAM.LEADER.STEPDOWN.{stream}")
        await asyncio.sleep(0.2)
    for number in range(2000):
        await client.request(stream.lower(), b"x" * 50_000, timeout=10)
        if number % 20 == 0 and await asyncio.to_thread(until):
            return
    raise AssertionError("the disk never filled")


@contextlib.contextmanager
def small_disk(directory: Path, megabytes: int) -> Iterator[None]:
    """A file system of that size at `directory`. Skips the test where mounting is not permitted."""
    directory.mkdir(parents=True)
    if os.geteuid() != 0:
        pytest.skip("a full disk needs a small file system, and mounting one needs root")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(directory)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"mounting a small file system is not permitted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)
