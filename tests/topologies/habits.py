"""What healthy applications do with JetStream, each on streams of its own: `jsdoctor` must find nothing wrong with any.

A habit furnishes its streams, and may go on with them while `jsdoctor` looks. All of them fit on one deployment, so a
look at it judges every habit at once. Findings name the stream, whose name begins with that of the habit.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import nats
from nats.aio.client import Client
from nats.js.api import ConsumerConfig
from nats.js.errors import NotFoundError, ServiceUnavailableError

from tests.support.deployment import HOUR_NS, add_consumer, add_stream, api

SECOND_NS = 1_000_000_000
_ATTEMPTS = 50
BOUNDED: dict[str, Any] = {"max_bytes": 32 << 20, "max_age": 72 * HOUR_NS, "max_msg_size": 1 << 20}


class Place:
    """Where a habit lives: a client of the account, how many replicas streams have, and what applications log."""

    def __init__(self, client: Client, replicas: int) -> None:
        self.client, self.replicas = client, replicas
        self.logged: list[str] = []

    async def stream(self, name: str, **config: Any) -> None:
        """A bounded, replicated stream but for what is given; its subjects are its name in lower case and below."""
        subjects = [] if "mirror" in config or "sources" in config else [name.lower(), f"{name.lower()}.>"]
        full = {**({"subjects": subjects} if subjects else {}), "num_replicas": self.replicas, **BOUNDED, **config}
        await add_stream(self.client, name, **full)

    async def bucket(self, name: str, history: int = 1, **config: Any) -> None:
        """A key-value bucket as `nats kv add` makes it, but for what is given."""
        own = {"discard": "new", "allow_rollup_hdrs": True, "deny_delete": True, "allow_direct": True}
        await self.stream(f"KV_{name}", subjects=[f"$KV.{name}.>"], max_msgs_per_subject=history, **{**own, **config})

    async def publish(self, subject: str, count: int = 20, **headers: str) -> None:
        """Acknowledged messages."""
        for _ in range(count):
            await self.store(subject, b"x" * 64, headers)

    async def store(self, subject: str, body: bytes, headers: dict[str, str] | None = None) -> None:
        """One acknowledged message. Tries again while our server does not know a stream that was just created, and
        while a stream that is scaled refuses (503: 2.10 with `expected stream sequence does not match`).
        """
        for attempt in range(_ATTEMPTS):
            last = attempt == _ATTEMPTS - 1
            try:
                reply = await self.client.request(subject, body, timeout=10, headers=headers or None)
            except nats.errors.NoRespondersError:
                if last:
                    raise
                await asyncio.sleep(0.1)
                continue
            if b'"code":503' in reply.data and not last:
                await asyncio.sleep(0.1)
                continue
            assert b'"error"' not in reply.data, reply.data
            return

    async def work(self, stream: str, consumer: str, pause_s: float = 0.05) -> None:
        """A worker that fetches and acknowledges until it is cancelled."""
        subscription = await self.client.jetstream().pull_subscribe_bind(consumer, stream)
        while True:
            # While a stream changes its replicas, requests time out or find no leader; clients try again.
            with contextlib.suppress(TimeoutError, nats.errors.TimeoutError, ServiceUnavailableError):
                for message in await subscription.fetch(10, timeout=1):
                    await message.ack()
            await asyncio.sleep(pause_s)

    async def keep_publishing(self, subject: str, pause_s: float = 0.02) -> None:
        """A steady publisher until it is cancelled."""
        while True:
            with contextlib.suppress(TimeoutError, nats.errors.TimeoutError):
                await self.publish(subject, 1)
            await asyncio.sleep(pause_s)


Furnish = Callable[[Place], Awaitable[None]]


@dataclass
class Habit:
    """One habit: how it is set up, what goes on while `jsdoctor` looks, and the first version that has it."""

    name: str
    furnish: Furnish
    busy: tuple[Furnish, ...] = ()
    since: tuple[int, int] = (2, 10)

    def fits(self, version: str) -> bool:
        """Whether that version has what the habit needs."""
        return tuple(int(part) for part in version.split(".")[:2]) >= self.since


class Habits(list[Habit]):
    """Habits that fit beside each other on one deployment."""

    def habit(self, name: str, *busy: Furnish, since: tuple[int, int] = (2, 10)) -> Callable[[Furnish], Furnish]:
        """Register a habit."""

        def register(furnish: Furnish) -> Furnish:
            self.append(Habit(name, furnish, busy, since))
            return furnish

        return register


HABITS = Habits()
habit = HABITS.habit


def works(stream: str, consumer: str) -> Furnish:
    return lambda place: place.work(stream, consumer)


def publishes(subject: str) -> Furnish:
    return lambda place: place.keep_publishing(subject)


@habit("QUEUE", works("QUEUE", "workers"), works("QUEUE", "workers"), publishes("queue.jobs"))
async def work_queue(place: Place) -> None:
    await place.stream("QUEUE", retention="workqueue")
    await add_consumer(place.client, "QUEUE", "workers")


@habit("PARTS", works("PARTS", "even"), works("PARTS", "odd"), publishes("parts.even"), publishes("parts.odd"))
async def partitioned_work_queue(place: Place) -> None:
    await place.stream("PARTS", subjects=["parts.even", "parts.odd"], retention="workqueue")
    for part in ("even", "odd"):
        await add_consumer(place.client, "PARTS", part, filter_subject=f"parts.{part}")


@habit("INTEREST", works("INTEREST", "a"), works("INTEREST", "b"), publishes("interest.x"))
async def interest(place: Place) -> None:
    await place.stream("INTEREST", retention="interest")
    for name in ("a", "b"):
        await add_consumer(place.client, "INTEREST", name)


@habit("MINUTE")
async def worker_that_comes_once_a_minute(place: Place) -> None:
    await place.stream("MINUTE", retention="workqueue")
    await add_consumer(place.client, "MINUTE", "cron")
    await place.publish("minute.job", 120)


@habit("NIGHTLY")
async def job_that_comes_at_night(place: Place) -> None:
    await place.stream("NIGHTLY")
    await add_consumer(place.client, "NIGHTLY", "report")
    await place.publish("nightly.sale", 300)


@habit("ORIGIN", publishes("origin.x"))
async def mirror_and_source(place: Place) -> None:
    await place.stream("ORIGIN")
    await place.publish("origin.x")
    await place.stream("ORIGINMIRROR", mirror={"name": "ORIGIN"})
    await place.stream("ORIGINCOPY", sources=[{"name": "ORIGIN", "filter_subject": "origin.>"}])


@habit("ACKNONE", publishes("acknone.x"))
async def push_without_acknowledgements(place: Place) -> None:
    await place.stream("ACKNONE")
    await place.client.subscribe("deliver.acknone")
    await add_consumer(place.client, "ACKNONE", "tail", ack_policy="none", deliver_subject="deliver.acknone")


@habit("ACKALL", publishes("ackall.x"))
async def acknowledges_all_at_once(place: Place) -> None:
    await place.stream("ACKALL")

    async def acknowledge(message: Any) -> None:
        await message.respond(b"+ACK")

    await place.client.subscribe("deliver.ackall", cb=acknowledge)
    await add_consumer(place.client, "ACKALL", "batches", ack_policy="all", deliver_subject="deliver.ackall")


@habit("GROUP", publishes("group.x"))
async def queue_group(place: Place) -> None:
    await place.stream("GROUP")

    async def acknowledge(message: Any) -> None:
        await message.respond(b"+ACK")

    for _ in range(3):
        await place.client.subscribe("deliver.group", queue="workers", cb=acknowledge)
    await add_consumer(
        place.client,
        "GROUP",
        "workers",
        deliver_subject="deliver.group",
        deliver_group="workers",
        ack_policy="explicit",
    )


@habit("KV_plain", publishes("$KV.plain.key"))
async def key_value_bucket(place: Place) -> None:
    """History 1, as `nats kv add` makes it, and a watcher of all keys."""
    await place.bucket("plain")
    await place.publish("$KV.plain.key", 5)
    bucket = await place.client.jetstream().key_value("plain")
    await bucket.watchall()


@habit("KV_expiring", since=(2, 11))
async def key_value_bucket_with_expiry_and_markers(place: Place) -> None:
    await place.bucket(
        "expiring", history=5, max_age=HOUR_NS, allow_msg_ttl=True, subject_delete_marker_ttl=60 * SECOND_NS
    )
    await place.publish("$KV.expiring.key", 5, **{"Nats-TTL": "30s"})


@habit("OBJ_files")
async def object_store_with_large_chunks(place: Place) -> None:
    await place.stream(
        "OBJ_files",
        subjects=["$O.files.C.>", "$O.files.M.>"],
        discard="new",
        allow_rollup_hdrs=True,
        allow_direct=True,
    )
    bucket = await place.client.jetstream().object_store("files")
    await bucket.put("report.pdf", b"x" * 600_000)


@habit("PAUSED", publishes("paused.x"), since=(2, 11))
async def paused_consumer(place: Place) -> None:
    await place.stream("PAUSED")
    await add_consumer(place.client, "PAUSED", "later", pause_until="2100-01-01T00:00:00Z")


@habit("PRIORITY", publishes("priority.x"), since=(2, 11))
async def priority_group_of_which_one_client_overflows(place: Place) -> None:
    await place.stream("PRIORITY")
    await add_consumer(place.client, "PRIORITY", "over", priority_policy="overflow", priority_groups=["jobs"])

    async def pull() -> None:
        inbox = place.client.new_inbox()

        async def acknowledge(message: Any) -> None:
            if message.reply:
                await message.respond(b"+ACK")

        await place.client.subscribe(inbox, cb=acknowledge)
        while True:
            body = {"batch": 100, "expires": 5 * SECOND_NS, "group": "jobs"}
            subject = "$JS.API.CONSUMER.MSG.NEXT.PRIORITY.over"
            await place.client.publish(subject, json.dumps(body).encode(), reply=inbox)
            await asyncio.sleep(4)

    place.client._puller = asyncio.create_task(pull())  # type: ignore[attr-defined]  # lives as long as the client


async def pull_as_a_pinned_client(place: Place) -> None:
    """Asks again with the id by which the server has pinned it, and acknowledges what comes."""
    inbox, pinned = place.client.new_inbox(), ""
    subscription = await place.client.subscribe(inbox)
    subject = "$JS.API.CONSUMER.MSG.NEXT.PINNED.one"
    while True:
        body = {"batch": 10, "expires": 2 * SECOND_NS, "group": "jobs"} | ({"id": pinned} if pinned else {})
        await place.client.publish(subject, json.dumps(body).encode(), reply=inbox)
        with contextlib.suppress(TimeoutError, nats.errors.TimeoutError):
            for _ in range(10):
                message = await subscription.next_msg(timeout=1)
                headers = message.headers or {}
                pinned = "" if headers.get("Status") == "423" else headers.get("Nats-Pin-Id", pinned)
                if message.reply:
                    await message.respond(b"+ACK")


@habit("PINNED", pull_as_a_pinned_client, publishes("pinned.x"), since=(2, 11))
async def priority_group_with_a_pinned_client(place: Place) -> None:
    await place.stream("PINNED")
    group: dict[str, Any] = {"priority_policy": "pinned_client", "priority_groups": ["jobs"]}
    await add_consumer(place.client, "PINNED", "one", priority_timeout=30 * SECOND_NS, **group)


@habit("KV_history", publishes("$KV.history.key1"))
async def key_value_bucket_with_history_deletions_and_watchers(place: Place) -> None:
    await place.bucket("history", history=10)
    bucket = await place.client.jetstream().key_value("history")
    for key in range(30):
        await bucket.put(f"key{key}", b"x")
        await bucket.put(f"key{key}", b"y")
    await bucket.delete("key2")
    await bucket.purge("key3")
    for _ in range(3):
        await bucket.watchall()


@habit("SCHEDULES", since=(2, 12))
async def scheduled_messages(place: Place) -> None:
    await place.stream("SCHEDULES", subjects=["schedules.>"], allow_msg_schedules=True)
    headers = {"Nats-Schedule": "@at 2100-01-01T00:00:00Z", "Nats-Schedule-Target": "schedules.due"}
    await place.publish("schedules.later", 5, **headers)


@habit("COUNTERS", since=(2, 12))
async def counters(place: Place) -> None:
    await place.stream("COUNTERS", allow_msg_counter=True, allow_direct=True)
    for _ in range(20):
        await place.store("counters.hits", b"", {"Nats-Incr": "1"})


@habit("BATCHES", since=(2, 12))
async def atomic_batches(place: Place) -> None:
    await place.stream("BATCHES", allow_atomic=True)
    for batch in range(3):
        for number in range(1, 6):
            headers = {"Nats-Batch-Id": f"b{batch}", "Nats-Batch-Sequence": str(number)}
            last = {"Nats-Batch-Commit": "1"} if number == 5 else {}
            await place.store("batches.x", b"x", {**headers, **last})


@habit("PERKEY", publishes("perkey.a"))
async def newest_message_of_each_subject(place: Place) -> None:
    await place.stream("PERKEY", max_msgs_per_subject=1)
    for key in range(30):
        await place.publish(f"perkey.{key}", 2)


@habit("RING", publishes("ring.x"), works("RING", "reader"))
async def ring_with_a_reader_that_keeps_up(place: Place) -> None:
    await place.stream("RING", max_msgs=200, discard="old")
    await add_consumer(place.client, "RING", "reader")
    await place.publish("ring.x", 100)


@habit("PACKED")
async def compressed_stream(place: Place) -> None:
    await place.stream("PACKED", compression="s2")
    await place.publish("packed.x", 50)


@habit("CACHE", publishes("cache.x"))
async def cache_in_memory(place: Place) -> None:
    await place.stream("CACHE", storage="memory", num_replicas=1, max_age=60 * SECOND_NS, max_bytes=4 << 20)
    await place.publish("cache.x", 50)


@habit("SEALED")
async def archive_that_is_sealed(place: Place) -> None:
    await place.stream("SEALED")
    await place.publish("sealed.x", 10)
    info = await api(place.client, "STREAM.INFO.SEALED")
    await api(place.client, "STREAM.UPDATE.SEALED", {**info["config"], "sealed": True})


@habit("RENAMED", publishes("renamed.in.x"))
async def transform_and_republish(place: Place) -> None:
    await place.stream(
        "RENAMED",
        subjects=["renamed.in.>"],
        subject_transform={"src": "renamed.in.>", "dest": "renamed.out.>"},
        republish={"src": ">", "dest": "copy.>"},
    )


@habit("RETRY", works("RETRY", "careful"), publishes("retry.x"))
async def limited_attempts_with_backoff(place: Place) -> None:
    await place.stream("RETRY")
    await add_consumer(place.client, "RETRY", "careful", max_deliver=5, backoff=[30 * SECOND_NS, 120 * SECOND_NS])


async def churn(place: Place) -> None:
    """Consumers that are made, read once and deleted, all the time."""
    number = 0
    while True:
        number += 1
        config = ConsumerConfig(name=f"once{number}", inactive_threshold=5.0)
        # On a slow machine the server deletes it first, or has no meta leader for a moment.
        with contextlib.suppress(NotFoundError, nats.errors.TimeoutError, ServiceUnavailableError, AssertionError):
            subscription = await place.client.jetstream().pull_subscribe("churn.>", stream="CHURN", config=config)
            await subscription.fetch(1, timeout=1)
            await api(place.client, f"CONSUMER.DELETE.CHURN.once{number}")
        await asyncio.sleep(0.05)


async def make_and_delete_streams(place: Place) -> None:
    """Streams of jobs that are made, filled, read by a consumer and deleted, all the time."""
    number = 0
    while True:
        number += 1
        name = f"JOBS{number}"
        with contextlib.suppress(TimeoutError, nats.errors.TimeoutError, AssertionError):
            await place.stream(name)
            await add_consumer(place.client, name, "worker")
            await place.publish(name.lower(), 5)
            await asyncio.sleep(0.5)
            await api(place.client, f"STREAM.DELETE.{name}")
        await asyncio.sleep(0.2)


@habit("JOBS", make_and_delete_streams)
async def streams_that_come_and_go(place: Place) -> None:
    """Besides one that stays."""
    await place.stream("JOBS")


@habit("CHURN", churn)
async def consumers_that_come_and_go(place: Place) -> None:
    await place.stream("CHURN")
    await place.publish("churn.x", 20)


async def read_in_order(place: Place) -> None:
    await place.client.jetstream().subscribe("ordered.>", stream="ORDERED", ordered_consumer=True)
    await asyncio.sleep(3600)


@habit("ORDERED", read_in_order, publishes("ordered.x"))
async def ordered_consumer_that_lasts(place: Place) -> None:
    await place.stream("ORDERED")


@habit("SCALED")
async def stream_that_was_scaled(place: Place) -> None:
    """From one replica to as many as there are, or from three to one and back."""
    await place.stream("SCALED", num_replicas=1)
    await place.publish("scaled.x", 20)
    info = await api(place.client, "STREAM.INFO.SCALED")
    await api(place.client, "STREAM.UPDATE.SCALED", {**info["config"], "num_replicas": place.replicas})


@habit("SESSIONS")
async def devices_that_are_away(place: Place) -> None:
    """Durables of devices, most of them offline, with an inactivity threshold of a day."""
    await place.stream("SESSIONS", subjects=["sessions.*"], retention="interest")
    for number in range(20):
        name = f"device{number}"
        await add_consumer(
            place.client, "SESSIONS", name, filter_subject=f"sessions.{number}", inactive_threshold=24 * HOUR_NS
        )
    for number in range(20):
        await place.publish(f"sessions.{number}", 1)


async def roll_up(place: Place) -> None:
    """Each message replaces everything before it."""
    while True:
        with contextlib.suppress(TimeoutError, nats.errors.TimeoutError):
            await place.publish("snapshots.x", 1, **{"Nats-Rollup": "all"})
        await asyncio.sleep(0.1)


@habit("SNAPSHOTS", roll_up, works("SNAPSHOTS", "reader"))
async def snapshots_that_replace_all_before_them(place: Place) -> None:
    await place.stream("SNAPSHOTS", allow_rollup_hdrs=True)
    await add_consumer(place.client, "SNAPSHOTS", "reader")


async def delete_what_was_stored(place: Place) -> None:
    """Single messages are erased, as data protection requires, before and after they are read."""
    while True:
        await place.publish("erased.x", 3)
        state = (await api(place.client, "STREAM.INFO.ERASED"))["state"]
        with contextlib.suppress(AssertionError):
            await api(place.client, "STREAM.MSG.DELETE.ERASED", {"seq": state["last_seq"] - 1})
        await asyncio.sleep(0.2)


@habit("ERASED", delete_what_was_stored, works("ERASED", "reader"))
async def messages_that_are_deleted_one_by_one(place: Place) -> None:
    await place.stream("ERASED", max_msgs=100)
    await add_consumer(place.client, "ERASED", "reader")


@habit("LATEST", works("LATEST", "board"), publishes("latest.a"), publishes("latest.b"))
async def board_of_the_newest_values(place: Place) -> None:
    """It starts with the newest message of each subject, and the others are removed without a delivery."""
    await place.stream("LATEST", max_msgs=100)
    await place.publish("latest.a", 60)
    await place.publish("latest.b", 60)
    await add_consumer(place.client, "LATEST", "board", deliver_policy="last_per_subject", filter_subject="latest.>")


@habit("PARTIAL", publishes("partial.paid"))
async def copies_of_a_part(place: Place) -> None:
    """One of a subject that has no message yet, one with transforms, and one that takes larger messages."""
    await place.stream("PARTIAL")
    await place.publish("partial.paid", 5)
    await place.stream("PARTIALREFUNDS", mirror={"name": "PARTIAL", "filter_subject": "partial.refunded"})
    transforms = [{"src": "partial.paid", "dest": "copied.paid"}]
    await place.stream("PARTIALRENAMED", sources=[{"name": "PARTIAL", "subject_transforms": transforms}])
    await place.stream("PARTIALWIDE", mirror={"name": "PARTIAL"}, max_msg_size=2 << 20)
