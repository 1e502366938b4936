"""Healthy habits next to the faults of `faults_met.py`: clients that come and go, and settings that are on purpose."""

from __future__ import annotations

import asyncio
import contextlib

from tests.support.deployment import HOUR_NS, add_consumer, api
from tests.topologies.faults_met import named_client, raw_client, working_client
from tests.topologies.habits import Habits, Place, works
from tests.topologies.habits_of_streams import stores

CLIENT_HABITS = Habits()
habit = CLIENT_HABITS.habit


async def run_a_command(place: Place) -> None:
    """A script that calls a command line tool every few seconds."""
    while True:
        async with working_client(place, "k-script") as client:
            await client.publish("k.script", b"x")
        await asyncio.sleep(5)


async def replace_one_by_one(place: Place) -> None:
    """A rolling deploy of ten replicas."""
    old = [await named_client(place, "k-replica") for _ in range(10)]
    new = []
    try:
        for each in old:
            new.append(await named_client(place, "k-replica"))
            await each.drain()
            await asyncio.sleep(1)
        await asyncio.sleep(3600)
    finally:
        for each in (*old, *new):
            await each.close()


async def all_at_once(place: Place) -> None:
    """A proxy restarts, and thirty clients of one name reconnect."""
    for _ in range(2):
        async with contextlib.AsyncExitStack() as all_of_them:
            for _ in range(30):
                await all_of_them.enter_async_context(raw_client(place, "k-behind-a-proxy"))
            await asyncio.sleep(4)
    await asyncio.sleep(3600)


@habit("K_CLIENTS", run_a_command, replace_one_by_one, all_at_once)
async def clients_that_come_and_go(place: Place) -> None:
    """They need no stream."""


@habit("K_ARCHIVE")
async def archive_that_keeps_for_longer_and_window_that_keeps_less(place: Place) -> None:
    await place.stream("K_ARCHIVE", max_age=HOUR_NS)
    await place.publish("k_archive.x", 30)
    await place.stream("K_ARCHIVEALL", mirror={"name": "K_ARCHIVE"}, max_age=0)
    await place.stream("K_ARCHIVEWINDOW", mirror={"name": "K_ARCHIVE"}, max_msgs=10)


@habit("K_SWITCH")
async def locks_that_are_taken_once(place: Place) -> None:
    """Each subject takes one message, and a few streams some."""
    await place.stream("K_SWITCH", discard="new", discard_new_per_subject=True, max_msgs_per_subject=1)
    await place.stream("K_SWITCHES", discard="new", discard_new_per_subject=True, max_msgs_per_subject=5)
    for number in range(5):
        await place.publish(f"k_switch.{number}", 1)
        await place.publish(f"k_switches.{number}", number + 1)


@habit("K_SEALED", works("K_SEALED", "reader"))
async def sealed_archive_with_a_reader(place: Place) -> None:
    await place.stream("K_SEALED")
    await add_consumer(place.client, "K_SEALED", "reader")
    await place.publish("k_sealed.x", 30)
    info = await api(place.client, "STREAM.INFO.K_SEALED")
    await api(place.client, "STREAM.UPDATE.K_SEALED", {**info["config"], "sealed": True})


@habit("K_ALL", works("K_ALL", "worker"))
async def one_worker_that_acknowledges_all_before(place: Place) -> None:
    await place.stream("K_ALL")
    await add_consumer(place.client, "K_ALL", "worker", ack_policy="all")
    await place.publish("k_all.x", 30)


@habit("K_INDEX", works("K_INDEX", "bodies"), works("K_INDEX", "headers"))
async def index_of_headers_beside_a_worker(place: Place) -> None:
    await place.stream("K_INDEX", retention="interest")
    await add_consumer(place.client, "K_INDEX", "bodies")
    await add_consumer(place.client, "K_INDEX", "headers", headers_only=True)
    await place.publish("k_index.x", 30)


@habit("K_LATEST", stores("k_latest.main"), stores("k_latest.fix"), works("K_LATEST", "builder"))
async def queue_that_keeps_the_newest_request_of_each_branch(place: Place) -> None:
    """A request to build a branch takes the place of the one before, done or not."""
    await place.stream("K_LATEST", retention="workqueue", max_msgs_per_subject=1)
    await add_consumer(place.client, "K_LATEST", "builder")


@habit("K_MEMORY", works("K_MEMORY", "reader"))
async def queue_in_memory_and_cache_without_readers(place: Place) -> None:
    own = {"storage": "memory", "num_replicas": 1, "max_bytes": 1 << 20, "max_msg_size": 1000}
    await place.stream("K_MEMORY", retention="workqueue", **own)
    await add_consumer(place.client, "K_MEMORY", "reader")
    await place.stream("K_MEMORYCACHE", **own)
    await place.publish("k_memory.x", 10)
    await place.publish("k_memorycache.x", 10)


@habit("KV_k_edited", stores("$KV.k_edited.key"))
async def bucket_that_a_resource_definition_declares_in_full(place: Place) -> None:
    """As a stream, with all settings of a bucket, and one that is older than the policy of discarding nothing."""
    await place.bucket("k_edited", history=3)
    await place.bucket("k_older", discard="old")
    await place.publish("$KV.k_older.key", 3)
