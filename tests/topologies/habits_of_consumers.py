"""How healthy applications consume: what a worker, a subscriber or a reader does with messages, each on its own stream.

As in `habits.py`, the name of a habit begins the names of its streams, and `jsdoctor` must find nothing wrong.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import nats
from nats.aio.msg import Msg
from nats.js.api import ConsumerConfig
from nats.js.errors import NotFoundError

from tests.support.deployment import HOUR_NS, add_consumer, api
from tests.topologies.habits import SECOND_NS, Furnish, Habits, Place, publishes, works

CONSUMER_HABITS = Habits()
habit = CONSUMER_HABITS.habit
_TIMEOUTS = (TimeoutError, nats.errors.TimeoutError)


def acknowledges(stream: str, consumer: str, *, rare: bytes = b"+ACK", every: int = 10, batch: int = 10) -> Furnish:
    """A worker that answers each `every`th delivery, but no second delivery of a message, with `rare`."""

    async def work(place: Place) -> None:
        subscription = await place.client.jetstream().pull_subscribe_bind(consumer, stream)
        number = 0
        while True:
            with contextlib.suppress(*_TIMEOUTS):
                for message in await subscription.fetch(batch, timeout=1):
                    number += 1
                    first = message.metadata.num_delivered == 1
                    await message.respond(rare if first and number % every == 0 else b"+ACK")

    return work


def pulls(stream: str, consumer: str, batch: int = 10, **request: Any) -> Furnish:
    """A client that keeps a pull request open, with more fields of the request, and acknowledges what comes."""

    async def pull(place: Place) -> None:
        subscription = await place.client.subscribe(place.client.new_inbox(), cb=acknowledge)
        body = json.dumps({"batch": batch, "expires": 3 * SECOND_NS, **request}).encode()
        while True:
            subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
            await place.client.publish(subject, body, reply=subscription.subject)
            await asyncio.sleep(2.5)

    return pull


async def acknowledge(message: Msg) -> None:
    """Acknowledge a delivery; status messages have no reply subject."""
    if message.reply:
        await message.respond(b"+ACK")


def slowly(subject: str, pause_s: float) -> Furnish:
    return lambda place: place.keep_publishing(subject, pause_s)


@habit("ONEATATIME", acknowledges("ONEATATIME", "worker", batch=1), slowly("oneatatime.x", 0.2))
async def strictly_ordered_worker(place: Place) -> None:
    """One message in flight, so all of its slots are taken whenever it works."""
    await place.stream("ONEATATIME", retention="workqueue")
    await add_consumer(place.client, "ONEATATIME", "worker", max_ack_pending=1)


@habit("BACKLOG", works("BACKLOG", "reader"))
async def reader_that_catches_up(place: Place) -> None:
    await place.stream("BACKLOG")
    for _ in range(10):
        await asyncio.gather(*(place.client.publish("backlog.x", b"x") for _ in range(200)))
    await add_consumer(place.client, "BACKLOG", "reader")


async def work_for_long(place: Place) -> None:
    """A job takes fifteen seconds, and reports progress meanwhile."""
    subscription = await place.client.jetstream().pull_subscribe_bind("renderer", "LONGJOB")
    while True:
        with contextlib.suppress(*_TIMEOUTS):
            (message,) = await subscription.fetch(1, timeout=1)
            for _ in range(15):
                await message.in_progress()
                await asyncio.sleep(1)
            await message.ack()


@habit("LONGJOB", work_for_long, slowly("longjob.x", 10))
async def long_jobs_that_report_progress(place: Place) -> None:
    await place.stream("LONGJOB", retention="workqueue")
    await add_consumer(place.client, "LONGJOB", "renderer", ack_wait=5 * SECOND_NS)
    await place.publish("longjob.x", 2)


@habit(
    "NAKDELAY",
    acknowledges("NAKDELAY", "worker", rare=b'-NAK {"delay": 2000000000}', every=50),
    slowly("nakdelay.x", 0.1),
)
async def some_messages_are_tried_again_later(place: Place) -> None:
    await place.stream("NAKDELAY", retention="workqueue")
    await add_consumer(place.client, "NAKDELAY", "worker")


@habit("TERMINATES", acknowledges("TERMINATES", "worker", rare=b"+TERM", every=50), slowly("terminates.x", 0.1))
async def broken_messages_are_terminated(place: Place) -> None:
    await place.stream("TERMINATES")
    await add_consumer(place.client, "TERMINATES", "worker")


@habit("HEADERS", works("HEADERS", "index"), publishes("headers.x"))
async def headers_only(place: Place) -> None:
    await place.stream("HEADERS")
    await add_consumer(place.client, "HEADERS", "index", headers_only=True)


@habit("MANYFILTERS", works("MANYFILTERS", "two"), publishes("manyfilters.a"), publishes("manyfilters.b"))
async def several_filters(place: Place) -> None:
    await place.stream("MANYFILTERS")
    await place.publish("manyfilters.c", 5)
    await add_consumer(place.client, "MANYFILTERS", "two", filter_subjects=["manyfilters.a", "manyfilters.b"])


@habit("PULLNONE", pulls("PULLNONE", "tail"), publishes("pullnone.x"))
async def pull_without_acknowledgements(place: Place) -> None:
    await place.stream("PULLNONE")
    await add_consumer(place.client, "PULLNONE", "tail", ack_policy="none")


async def acknowledge_each_batch(place: Place) -> None:
    subscription = await place.client.jetstream().pull_subscribe_bind("loader", "PULLALL")
    while True:
        with contextlib.suppress(*_TIMEOUTS):
            await (await subscription.fetch(20, timeout=1))[-1].ack()


@habit("PULLALL", acknowledge_each_batch, publishes("pullall.x"))
async def batches_that_are_acknowledged_by_their_last_message(place: Place) -> None:
    await place.stream("PULLALL")
    await add_consumer(place.client, "PULLALL", "loader", ack_policy="all")


async def receive_with_flow_control(place: Place) -> None:
    """Answers flow control; heartbeats come while nothing is published."""

    async def receive(message: Msg) -> None:
        if (message.headers or {}).get("Status"):
            stalled = (message.headers or {}).get("Nats-Consumer-Stalled")
            if message.reply or stalled:
                await place.client.publish(message.reply or str(stalled))
        elif message.reply:
            await message.respond(b"+ACK")

    await place.client.subscribe("deliver.flow", cb=receive)
    await asyncio.sleep(3600)


@habit("FLOW", receive_with_flow_control, publishes("flow.x"))
async def push_with_flow_control(place: Place) -> None:
    await place.stream("FLOW")
    push: dict[str, Any] = {"deliver_subject": "deliver.flow", "flow_control": True, "idle_heartbeat": SECOND_NS}
    await add_consumer(place.client, "FLOW", "mirror", **push)


@habit("WAITING", *(pulls("WAITING", "pool") for _ in range(20)), slowly("waiting.x", 0.5))
async def pool_of_clients_that_wait(place: Place) -> None:
    await place.stream("WAITING", retention="workqueue")
    await add_consumer(place.client, "WAITING", "pool")


@habit("FANOUT", *(works("FANOUT", f"app{number}") for number in range(6)), publishes("fanout.x"))
async def six_applications_on_one_interest_stream(place: Place) -> None:
    await place.stream("FANOUT", retention="interest")
    for number in range(6):
        await add_consumer(place.client, "FANOUT", f"app{number}")


@habit("SHARDS", publishes("shards.1"))
async def a_consumer_for_each_shard(place: Place) -> None:
    """Their workers have not been started yet."""
    await place.stream("SHARDS")
    for number in range(30):
        await add_consumer(place.client, "SHARDS", f"shard{number}", filter_subject=f"shards.{number}")


async def live_with_ephemeral_consumers(place: Place) -> None:
    """As `consume()` of the clients makes them."""
    context = place.client.jetstream()
    subscriptions = [
        await context.pull_subscribe("live.>", stream="LIVE", config=ConsumerConfig(inactive_threshold=300.0))
        for _ in range(4)
    ]
    while True:
        for subscription in subscriptions:
            with contextlib.suppress(*_TIMEOUTS):
                for message in await subscription.fetch(20, timeout=0.5):
                    await message.ack()


@habit("LIVE", live_with_ephemeral_consumers, publishes("live.x"))
async def ephemeral_consumers_of_clients_that_live(place: Place) -> None:
    await place.stream("LIVE")


@habit("TAIL", works("TAIL", "new"), works("TAIL", "since"), publishes("tail.x"))
async def consumers_that_start_with_what_is_new(place: Place) -> None:
    await place.stream("TAIL")
    await place.publish("tail.x", 50)
    await add_consumer(place.client, "TAIL", "new", deliver_policy="new")
    start: dict[str, Any] = {"deliver_policy": "by_start_time", "opt_start_time": "2020-01-01T00:00:00Z"}
    await add_consumer(place.client, "TAIL", "since", **start)


async def edit(place: Place) -> None:
    """A deployment tool that changes the consumer again and again."""
    number = 0
    while True:
        number += 1
        with contextlib.suppress(*_TIMEOUTS):
            await add_consumer(place.client, "EDITED", "worker", max_ack_pending=100 + number % 5)
        await asyncio.sleep(0.5)


@habit("EDITED", edit, works("EDITED", "worker"), publishes("edited.x"))
async def consumer_whose_settings_change(place: Place) -> None:
    await place.stream("EDITED")
    await add_consumer(place.client, "EDITED", "worker", max_ack_pending=100)


@habit("INMEMORY", works("INMEMORY", "light"), publishes("inmemory.x"))
async def consumer_with_one_replica_in_memory(place: Place) -> None:
    await place.stream("INMEMORY")
    await add_consumer(place.client, "INMEMORY", "light", mem_storage=True, num_replicas=1)


@habit(
    "PRIORITIZED",
    pulls("PRIORITIZED", "jobs", group="g", priority=0),
    pulls("PRIORITIZED", "jobs", group="g", priority=5),
    publishes("prioritized.x"),
    since=(2, 12),
)
async def clients_of_different_priority(place: Place) -> None:
    await place.stream("PRIORITIZED")
    await add_consumer(place.client, "PRIORITIZED", "jobs", priority_policy="prioritized", priority_groups=["g"])


async def poll(place: Place) -> None:
    """A script that takes what there is, once a second."""
    inbox = place.client.new_inbox()
    await place.client.subscribe(inbox, cb=acknowledge)
    while True:
        body = json.dumps({"batch": 100, "no_wait": True}).encode()
        await place.client.publish("$JS.API.CONSUMER.MSG.NEXT.POLLED.script", body, reply=inbox)
        await asyncio.sleep(1)


@habit("POLLED", poll, slowly("polled.x", 0.1))
async def script_that_polls(place: Place) -> None:
    await place.stream("POLLED", retention="workqueue")
    await add_consumer(place.client, "POLLED", "script")


async def publish_in_bursts(place: Place) -> None:
    while True:
        await asyncio.gather(*(place.client.publish("bursts.x", b"x" * 200) for _ in range(300)))
        await asyncio.sleep(4)


@habit("BURSTS", publish_in_bursts, works("BURSTS", "worker"), works("BURSTS", "worker"))
async def bursts_that_are_worked_off(place: Place) -> None:
    await place.stream("BURSTS", retention="workqueue")
    await add_consumer(place.client, "BURSTS", "worker")


async def read_for_each_request(place: Place) -> None:
    """A web application: each request reads the newest messages with an ordered consumer, and drops it."""
    while True:
        with contextlib.suppress(*_TIMEOUTS, NotFoundError):
            subscription = await place.client.jetstream().subscribe("perrequest.>", ordered_consumer=True)
            await subscription.next_msg(timeout=2)
            await subscription.unsubscribe()
        await asyncio.sleep(1)


@habit("PERREQUEST", read_for_each_request, slowly("perrequest.x", 0.3))
async def ordered_consumer_for_each_request(place: Place) -> None:
    await place.stream("PERREQUEST")
    await place.publish("perrequest.x", 10)


@habit("UNLIKE", works("UNLIKE", "fast"), acknowledges("UNLIKE", "careful", batch=1), slowly("unlike.x", 0.3))
async def readers_of_different_speed(place: Place) -> None:
    await place.stream("UNLIKE")
    for name in ("fast", "careful"):
        await add_consumer(place.client, "UNLIKE", name)


async def watch_and_leave(place: Place) -> None:
    """Pages that are opened and closed: each watches the keys for two seconds."""
    bucket = await place.client.jetstream().key_value("watched")
    while True:
        with contextlib.suppress(*_TIMEOUTS):
            watcher = await bucket.watchall()
            await bucket.put("clicks", b"x")
            await asyncio.sleep(2)
            await watcher.stop()  # type: ignore[no-untyped-call]


@habit("KV_watched", watch_and_leave)
async def key_value_watchers_that_come_and_go(place: Place) -> None:
    await place.bucket("watched")
    await place.publish("$KV.watched.name", 3)


@habit("RESETS", works("RESETS", "worker"), publishes("resets.x"))
async def consumer_that_was_made_again(place: Place) -> None:
    """A deployment deletes it and creates it with another start, under the same name."""
    await place.stream("RESETS")
    await place.publish("resets.x", 30)
    await add_consumer(place.client, "RESETS", "worker")
    await api(place.client, "CONSUMER.DELETE.RESETS.worker")
    await add_consumer(place.client, "RESETS", "worker", deliver_policy="new")


@habit("LIMITED", works("LIMITED", "small"), publishes("limited.x"))
async def consumer_with_limits_of_requests(place: Place) -> None:
    await place.stream("LIMITED")
    limits: dict[str, Any] = {"max_batch": 100, "max_expires": 60 * SECOND_NS, "max_waiting": 20, "max_bytes": 1 << 20}
    await add_consumer(place.client, "LIMITED", "small", **limits)


@habit("LEASED", works("LEASED", "pod1"), publishes("leased.x"))
async def consumers_of_pods_that_expire_a_day_after_the_pod(place: Place) -> None:
    await place.stream("LEASED")
    for number in range(3):
        await add_consumer(
            place.client, "LEASED", f"pod{number}", deliver_policy="new", inactive_threshold=24 * HOUR_NS
        )
