"""The third table of faults on streams of their own: settings and clients that public issue trackers tell of.

As in `faults.py`, the rule that must name each fault was declared before the first run.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import nats

from tests.support.deployment import HOUR_NS, add_consumer, add_stream, api
from tests.topologies.faults import Table, fetches
from tests.topologies.faults_of_streams import publishes
from tests.topologies.habits import SECOND_NS, Furnish, Place
from tests.topologies.habits_of_streams import BUCKET

APPLICATION_FAULTS = Table()
fault = APPLICATION_FAULTS.fault


def asks(stream: str, consumer: str, pause_s: float, **request: Any) -> Furnish:
    """A client that requests messages again and again, and acknowledges what comes."""

    async def ask(place: Place) -> None:
        async def acknowledge(message: Any) -> None:
            if message.reply:
                await message.respond(b"+ACK")

        subscription = await place.client.subscribe(place.client.new_inbox(), cb=acknowledge)
        while True:
            subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
            await place.client.publish(subject, json.dumps(request).encode(), reply=subscription.subject)
            await asyncio.sleep(pause_s)

    return ask


async def messages_in(place: Place, stream: str, count: int) -> None:
    """Wait until a copy has so many."""
    for _ in range(100):
        if (await api(place.client, f"STREAM.INFO.{stream}"))["state"]["messages"] >= count:
            return
        await asyncio.sleep(0.2)
    raise AssertionError(f"{stream} does not have {count} messages")


@fault("JSD425", "F_POOL/worker", *(asks("F_POOL", "worker", 20, batch=1, expires=60 * SECOND_NS) for _ in range(8)))
async def more_clients_than_a_consumer_lets_wait(place: Place) -> None:
    await place.stream("F_POOL")
    await add_consumer(place.client, "F_POOL", "worker", max_waiting=5)


@fault("JSD424", "F_PERISHES/worker")
async def message_that_expires_before_it_can_come_again(place: Place) -> None:
    await place.stream("F_PERISHES", max_age=20 * SECOND_NS, duplicate_window=10 * SECOND_NS)
    await add_consumer(place.client, "F_PERISHES", "worker", ack_wait=60 * SECOND_NS)


@fault("JSD422", "F_TWICE/")
async def two_push_consumers_for_one_subscriber(place: Place) -> None:
    await place.stream("F_TWICE")
    await place.client.subscribe("deliver.f_twice")
    for name in ("old", "new"):
        await add_consumer(place.client, "F_TWICE", name, ack_policy="none", deliver_subject="deliver.f_twice")


@fault("JSD603", "KV_f_full")
async def key_value_bucket_without_room(place: Place) -> None:
    await place.stream(
        "KV_f_full", subjects=["$KV.f_full.>"], max_msgs_per_subject=1, **{**BUCKET, "max_bytes": 20_000}
    )
    with contextlib.suppress(AssertionError):
        for number in range(40):
            await place.store(f"$KV.f_full.{number}", b"x" * 1000)


@fault("JSD403", "F_TIMERS/worker")
async def worker_that_died_with_every_slot_and_a_wait_of_a_day(place: Place) -> None:
    """nats-server issue 7680."""
    await place.stream("F_TIMERS", retention="workqueue")
    await add_consumer(place.client, "F_TIMERS", "worker", max_ack_pending=20, ack_wait=22 * HOUR_NS)
    await place.publish("f_timers.x", 100)
    subscription = await place.client.jetstream().pull_subscribe_bind("worker", "F_TIMERS")
    taken = 0
    while taken < 20:
        taken += len(await subscription.fetch(20 - taken, timeout=5))


@fault("JSD607", "F_REMADECOPY", before=(2, 14))
async def source_that_was_made_again_with_fewer_messages(place: Place) -> None:
    """nats-server issue 6206. Newer servers go on by themselves."""
    await place.stream("F_REMADE")
    await place.publish("f_remade.x", 100)
    await place.stream("F_REMADECOPY", sources=[{"name": "F_REMADE"}])
    await messages_in(place, "F_REMADECOPY", 100)
    await api(place.client, "STREAM.DELETE.F_REMADE")
    await place.stream("F_REMADE")
    await place.publish("f_remade.x", 10)


@fault("JSD604", "F_REGIONS", publishes("f_regions.us.x", 1, 0.5))
async def work_queue_whose_filter_leaves_a_region_out(place: Place) -> None:
    await place.stream("F_REGIONS", retention="workqueue")
    await add_consumer(place.client, "F_REGIONS", "worker", filter_subject="f_regions.eu.>")
    await place.publish("f_regions.us.x", 20)


@fault(
    "JSD404",
    "F_TOOLARGE/worker",
    asks("F_TOOLARGE", "worker", 0.5, batch=10, max_bytes=500, expires=SECOND_NS),
    missed="requests that end at once leave no trace in the consumer: as if there was no request (JSD405)",
)
async def client_that_requests_fewer_bytes_than_a_message_has(place: Place) -> None:
    """Each request ends with `409 Message Size Exceeds MaxBytes`."""
    await place.stream("F_TOOLARGE", retention="workqueue")
    await add_consumer(place.client, "F_TOOLARGE", "worker")
    for _ in range(150):
        await place.store("f_toolarge.x", b"x" * 2000)


@fault("JSD612", "F_TINY")
async def stream_that_is_smaller_than_a_message(place: Place) -> None:
    await place.stream("F_TINY", max_bytes=50_000, max_msg_size=-1)
    await place.publish("f_tiny.x", 5)


def works_for(seconds: float) -> Furnish:
    """Takes ten at a time, and acknowledges them together once the last is done."""

    async def work(place: Place) -> None:
        subscription = await place.client.jetstream().pull_subscribe_bind("worker", "F_LATE")
        while True:
            with contextlib.suppress(TimeoutError, nats.errors.TimeoutError):
                messages = await subscription.fetch(10, timeout=1)
                await asyncio.sleep(seconds)
                for message in messages:
                    await message.ack()

    return work


@fault("JSD408", "F_LATE/worker", *(works_for(seconds) for seconds in (1.7, 2.3, 2.9, 3.7)))
async def batches_that_take_longer_than_the_wait_for_acknowledgements(place: Place) -> None:
    """Declared first: with workers that acknowledge each message when it is done, where 8 % of deliveries or fewer are
    repeats, then with workers in step, where there may be new messages only between two samples.
    """
    await place.stream("F_LATE", retention="workqueue")
    await add_consumer(place.client, "F_LATE", "worker", ack_wait=SECOND_NS)
    await place.publish("f_late.x", 1000)


async def ignore_flow_control(place: Place) -> None:
    """A subscriber of its own making: it takes messages, and does not answer flow control."""
    await place.client.subscribe("deliver.f_flow")
    await asyncio.sleep(3600)


@fault("JSD417", "F_FLOW/push", ignore_flow_control)
async def subscriber_that_ignores_flow_control(place: Place) -> None:
    await place.stream("F_FLOW")
    push: dict[str, Any] = {"deliver_subject": "deliver.f_flow", "flow_control": True, "idle_heartbeat": SECOND_NS}
    await add_consumer(place.client, "F_FLOW", "push", ack_policy="none", **push)
    for _ in range(200):
        await place.store("f_flow.x", b"x" * 20_000)


@fault("JSD429", "F_CASE/billing")
async def filter_with_another_case(place: Place) -> None:
    await place.stream("F_CASE")
    await add_consumer(place.client, "F_CASE", "billing", filter_subject="f_case.Order")
    await place.publish("f_case.order", 10)


@fault("JSD309", "F_NOWINDOW", since=(2, 14))
async def stream_with_sources_and_publishers_and_no_window(place: Place) -> None:
    await place.stream("F_UPSTREAM")
    config = {"subjects": ["f_nowindow.>"], "sources": [{"name": "F_UPSTREAM"}], "num_replicas": place.replicas}
    await add_stream(place.client, "F_NOWINDOW", **config, max_bytes=1 << 20, max_age=HOUR_NS)


@fault(
    "JSD413",
    "F_SOON/slow",
    fetches("F_SOON", "slow", b"+ACK", batch=1, pause_s=0.5),
    publishes("f_soon.x", 20, 0.2),
)
async def full_stream_that_will_overtake_its_reader(place: Place) -> None:
    await place.stream("F_SOON", max_msgs=20_000, discard="old")
    await add_consumer(place.client, "F_SOON", "slow")
    for _ in range(20):
        await asyncio.gather(*(place.client.publish("f_soon.x", b"x") for _ in range(400)))
        await place.client.flush(30)


@fault("JSD605", "KV_f_alone", clustered=True)
async def key_value_bucket_with_one_replica_in_a_cluster(place: Place) -> None:
    subjects = ["$KV.f_alone.>"]
    await place.stream("KV_f_alone", subjects=subjects, max_msgs_per_subject=1, num_replicas=1, **BUCKET)
    await place.publish("$KV.f_alone.key", 3)


@fault("JSD415", "F_WATCHED/worker")
async def consumer_past_the_threshold_in_its_metadata(place: Place) -> None:
    await place.stream("F_WATCHED")
    metadata = {"io.nats.monitor.enabled": "true", "io.nats.monitor.unprocessed-critical": "50"}
    await add_consumer(place.client, "F_WATCHED", "worker", metadata=metadata)
    await place.publish("f_watched.x", 100)


@fault("JSD402", "F_SIBLINGS/slow", fetches("F_SIBLINGS", "slow", b"+ACK", batch=1, pause_s=0.4))
async def one_of_two_readers_that_falls_behind(place: Place) -> None:
    await place.stream("F_SIBLINGS")
    for name in ("fast", "slow"):
        await add_consumer(place.client, "F_SIBLINGS", name)
    await place.publish("f_siblings.x", 3000)


async def publish_to_both(place: Place) -> None:
    while True:
        await asyncio.gather(*(place.client.publish("f_siblings.x", b"x") for _ in range(100)))
        await asyncio.sleep(0.3)


APPLICATION_FAULTS[-1].busy += (publish_to_both, fetches("F_SIBLINGS", "fast", b"+ACK", batch=500))


@fault("JSD607", "F_TRANSFORMED")
async def source_with_a_transform_of_a_subject_that_was_renamed(place: Place) -> None:
    """The origin maps its subjects, and the copy still names those from before."""
    await place.stream("F_MAPPED", subject_transform={"src": "f_mapped.>", "dest": "v2.mapped.>"})
    await place.publish("f_mapped.x", 30)
    await place.stream("F_TRANSFORMED", sources=[{"name": "F_MAPPED", "filter_subject": "f_mapped.>"}])
