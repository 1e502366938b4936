"""Healthy habits of client examples, guides and tools that no other table has.

As in `habits.py`, the name of a habit begins the names of its streams, and `jsdoctor` must find nothing wrong. They
were declared before their first run.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import nats
from nats.aio.msg import Msg

from tests.support.deployment import HOUR_NS, add_consumer, api
from tests.topologies.habits import SECOND_NS, Furnish, Habits, Place, publishes, works
from tests.topologies.habits_of_consumers import slowly
from tests.topologies.habits_of_streams import again, stores

EXAMPLE_HABITS = Habits()
habit = EXAMPLE_HABITS.habit
_TIMEOUTS = (TimeoutError, nats.errors.TimeoutError)


async def acknowledge_and_wait(place: Place) -> None:
    subscription = await place.client.jetstream().pull_subscribe_bind("worker", "H_SURE")
    while True:
        with contextlib.suppress(*_TIMEOUTS):
            for message in await subscription.fetch(5, timeout=1):
                await message.ack_sync(timeout=5)


@habit("H_SURE", acknowledge_and_wait, publishes("h_sure.x"))
async def acknowledgements_that_are_acknowledged(place: Place) -> None:
    """https://natsbyexample.com/examples/jetstream/ack-ack/go"""
    await place.stream("H_SURE")
    await add_consumer(place.client, "H_SURE", "worker")


async def take_the_next(place: Place) -> None:
    """An acknowledgement that requests the next message at the same time."""
    inbox = place.client.new_inbox()
    subscription = await place.client.subscribe(inbox)
    request = json.dumps({"batch": 1, "expires": 2 * SECOND_NS}).encode()
    await place.client.publish("$JS.API.CONSUMER.MSG.NEXT.H_NEXT.worker", request, inbox)
    while True:
        try:
            message = await subscription.next_msg(timeout=3)
        except _TIMEOUTS:
            message = None
        if message is None or (message.headers or {}).get("Status"):
            await place.client.publish("$JS.API.CONSUMER.MSG.NEXT.H_NEXT.worker", request, inbox)
        else:
            await place.client.publish(message.reply, b'+NXT {"batch": 1, "expires": 2000000000}', inbox)


@habit("H_NEXT", take_the_next, slowly("h_next.x", 0.1))
async def one_after_the_other_by_acknowledgements(place: Place) -> None:
    """https://docs.nats.io/using-nats/developer/develop_jetstream/model_deep_dive: `AckNext`."""
    await place.stream("H_NEXT", retention="workqueue")
    await add_consumer(place.client, "H_NEXT", "worker")


def consumes(stream: str, consumer: str, pause_s: float = 0.0) -> Furnish:
    """As current clients consume: one request for 500 messages with heartbeats, and the next when half of it came."""

    async def consume(place: Place) -> None:
        inbox = place.client.new_inbox()
        subscription = await place.client.subscribe(inbox)
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        body = {"batch": 500, "expires": 30 * SECOND_NS, "idle_heartbeat": 5 * SECOND_NS}
        left = 0
        while True:
            if left <= 250:
                await place.client.publish(subject, json.dumps(body).encode(), inbox)
                left = 500
            try:
                message = await subscription.next_msg(timeout=10)
            except _TIMEOUTS:
                left = 0
                continue
            status = (message.headers or {}).get("Status") if not message.reply else None
            if status in ("404", "408", "409"):
                left = 0
            elif message.reply:
                left -= 1
                await message.respond(b"+ACK")
                await asyncio.sleep(pause_s)

    return consume


@habit("H_CONSUME", consumes("H_CONSUME", "service"), consumes("H_CONSUME", "service"), publishes("h_consume.x"))
async def clients_that_consume_continuously(place: Place) -> None:
    """https://github.com/nats-io/nats.go/blob/main/jetstream/README.md: `Consume` with its defaults."""
    await place.stream("H_CONSUME")
    await add_consumer(place.client, "H_CONSUME", "service")


async def postpone_some(place: Place) -> None:
    """One in forty has to wait for an hour for what it needs; the others are done at once."""
    subscription = await place.client.jetstream().pull_subscribe_bind("worker", "H_LATER")
    while True:
        with contextlib.suppress(*_TIMEOUTS):
            for message in await subscription.fetch(10, timeout=1):
                later = message.metadata.sequence.stream % 40 == 0
                await (message.nak(delay=3600) if later else message.ack())


@habit("H_LATER", postpone_some, slowly("h_later.x", 0.1))
async def some_jobs_are_postponed_for_an_hour(place: Place) -> None:
    """https://docs.nats.io/using-nats/developer/develop_jetstream/consumers: `nak` with a delay; places are left."""
    await place.stream("H_LATER", retention="workqueue")
    await add_consumer(place.client, "H_LATER", "worker")
    await place.publish("h_later.x", 200)


@habit("H_WIDE", works("H_WIDE", "loader"), publishes("h_wide.x"))
async def no_limit_of_pending_acknowledgements(place: Place) -> None:
    """https://docs.nats.io/nats-concepts/jetstream/consumers: `max_ack_pending: -1` for loaders of large batches."""
    await place.stream("H_WIDE")
    await add_consumer(place.client, "H_WIDE", "loader", max_ack_pending=-1, max_waiting=16)


async def report_on_everything(place: Place) -> None:
    """What a dashboard or an exporter requests every few seconds."""
    for subject in ("INFO", "STREAM.NAMES", "STREAM.INFO.H_REPORT", "CONSUMER.LIST.H_REPORT"):
        await api(place.client, subject)


@habit("H_REPORT", again(report_on_everything, 1), works("H_REPORT", "worker"), publishes("h_report.x"))
async def dashboard_that_polls(place: Place) -> None:
    """https://github.com/nats-io/prometheus-nats-exporter and others, once a second."""
    await place.stream("H_REPORT")
    await add_consumer(place.client, "H_REPORT", "worker")


@habit("H_LATENCY", works("H_LATENCY", "worker"), publishes("h_latency.x"), works("H_METRICS", "dashboard"))
async def sampled_acknowledgements_that_are_kept(place: Place) -> None:
    """https://docs.nats.io/running-a-nats-service/nats_admin/monitoring/monitoring_jetstream: a stream of metrics."""
    await place.stream("H_LATENCY")
    await add_consumer(place.client, "H_LATENCY", "worker", sample_freq="50")
    await place.stream("H_METRICS", subjects=["$JS.EVENT.METRIC.CONSUMER.ACK.H_LATENCY.>"], max_age=HOUR_NS)
    await add_consumer(place.client, "H_METRICS", "dashboard")


@habit("H_ADVISORIES")
async def archive_of_advisories(place: Place) -> None:
    """https://docs.nats.io/running-a-nats-service/nats_admin/monitoring/monitoring_jetstream: for audits, in memory."""
    subjects = ["$JS.EVENT.ADVISORY.>"]
    await place.stream("H_ADVISORIES", subjects=subjects, storage="memory", max_msgs=10_000, max_bytes=8 << 20)


@habit("H_EAST", publishes("h_east.local.x"), publishes("h_west.local.x"), works("H_EAST", "reader"))
async def two_streams_that_source_each_other(place: Place) -> None:
    """https://github.com/nats-io/nats-server/pull/3825: each takes what is local to the other."""
    await place.stream("H_EAST", subjects=["h_east.local.>"])
    source = {"name": "H_EAST", "filter_subject": "h_east.local.>"}
    await place.stream("H_WEST", subjects=["h_west.local.>"], sources=[source], duplicate_window=60 * SECOND_NS)
    info = await api(place.client, "STREAM.INFO.H_EAST")
    back = {"name": "H_WEST", "filter_subject": "h_west.local.>"}
    await api(place.client, "STREAM.UPDATE.H_EAST", {**info["config"], "sources": [back]})
    await add_consumer(place.client, "H_EAST", "reader")


@habit("H_CHAIN", stores("h_chain.raw.x"), works("H_CHAINED", "reader"))
async def stream_that_republishes_into_another(place: Place) -> None:
    """https://docs.nats.io/nats-concepts/jetstream/streams: `republish`, to the next stage and on to a dashboard."""
    to_stage = {"src": "h_chain.raw.>", "dest": "h_chained.>"}
    await place.stream("H_CHAIN", subjects=["h_chain.raw.>"], republish=to_stage)
    await place.stream("H_CHAINED", republish={"src": "h_chained.>", "dest": "h_dash.>"})
    await add_consumer(place.client, "H_CHAINED", "reader")


async def answer(message: Msg) -> None:
    await message.respond(b"done")


async def serve(place: Place) -> None:
    await place.client.subscribe("h_service.add", queue="q", cb=answer)
    await asyncio.sleep(3600)


async def call(place: Place) -> None:
    with contextlib.suppress(*_TIMEOUTS, nats.errors.NoRespondersError):
        await place.client.request("h_service.add", b"1", timeout=2)


@habit("H_LOG", serve, again(call, 0.05), publishes("h_log.x"), works("H_LOG", "reader"))
async def service_beside_a_stream(place: Place) -> None:
    """https://natsbyexample.com/examples/services/intro/go"""
    await place.stream("H_LOG")
    await add_consumer(place.client, "H_LOG", "reader", inactive_threshold=24 * HOUR_NS)


async def publish_without_waiting(place: Place) -> None:
    """A collector of logs that publishes and does not wait for acknowledgements."""
    for _ in range(20):
        await place.client.publish("h_logs.app", b"x" * 200)
    await place.client.flush()


@habit("H_LOGS", again(publish_without_waiting, 0.2), works("H_LOGS", "indexer"))
async def collector_that_does_not_wait(place: Place) -> None:
    """https://vector.dev/docs/reference/configuration/sinks/nats/ without JetStream acknowledgements."""
    await place.stream("H_LOGS", max_msgs=200_000, discard="old", compression="s2")
    await add_consumer(place.client, "H_LOGS", "indexer", max_ack_pending=10_000)


async def watch_objects(place: Place) -> None:
    bucket = await place.client.jetstream().object_store("h_watched")
    await bucket.watch()
    await asyncio.sleep(3600)


async def replace_an_object(place: Place) -> None:
    bucket = await place.client.jetstream().object_store("h_watched")
    await bucket.put("report", b"x" * 300_000)


@habit("OBJ_h_watched", watch_objects, again(replace_an_object, 0.5))
async def object_that_is_replaced_while_others_watch(place: Place) -> None:
    """https://natsbyexample.com/examples/os/intro/go"""
    files: dict[str, Any] = {"allow_rollup_hdrs": True, "allow_direct": True, "discard": "new"}
    subjects = ["$O.h_watched.C.>", "$O.h_watched.M.>"]
    await place.stream("OBJ_h_watched", subjects=subjects, **files)


@habit("H_RETRY", slowly("h_retry.x", 0.2), works("H_RETRY", "worker"))
async def attempts_that_fit_into_the_age_of_the_stream(place: Place) -> None:
    """https://docs.nats.io/using-nats/developer/develop_jetstream/consumers: `backoff`."""
    await place.stream("H_RETRY", max_age=HOUR_NS)
    backoff = [5 * SECOND_NS, 60 * SECOND_NS, 600 * SECOND_NS]
    await add_consumer(place.client, "H_RETRY", "worker", max_deliver=4, backoff=backoff)
