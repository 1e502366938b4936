"""The second table of faults on streams of their own: retention, limits, mirrors, sources and what pins an ack floor.

As in `faults.py`, the rule that must name each fault was declared before the first run.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import nats

from tests.support.deployment import add_consumer, api
from tests.topologies.faults import Table, fetches
from tests.topologies.habits import SECOND_NS, Furnish, Place

STREAM_FAULTS = Table()
fault = STREAM_FAULTS.fault


def publishes(subject: str, count: int = 5, pause_s: float = 0.1, size: int = 64) -> Furnish:
    """A publisher that never stops."""

    async def publish(place: Place) -> None:
        while True:
            for _ in range(count):
                await place.store(subject, b"x" * size)
            await asyncio.sleep(pause_s)

    return publish


async def acknowledge_all_but_the_first(place: Place) -> None:
    subscription = await place.client.jetstream().pull_subscribe_bind("worker", "F_FLOOR")
    while True:
        with contextlib.suppress(TimeoutError, nats.errors.TimeoutError):
            for message in await subscription.fetch(100, timeout=1):
                if message.metadata.sequence.stream != 1:
                    await message.ack()


@fault("JSD419", "F_FLOOR/worker", acknowledge_all_but_the_first, publishes("f_floor.x", 10, 0.2))
async def one_old_message_that_pins_the_floor_of_an_interest_stream(place: Place) -> None:
    await place.stream("F_FLOOR", retention="interest")
    await add_consumer(place.client, "F_FLOOR", "worker", ack_wait=2 * SECOND_NS)
    await place.publish("f_floor.x", 1500)


@fault("JSD618", "F_EATEN/never", publishes("f_eaten.x"))
async def full_stream_that_discards_what_nobody_has_read(place: Place) -> None:
    await place.stream("F_EATEN", max_msgs=100, discard="old")
    await add_consumer(place.client, "F_EATEN", "never")
    await place.publish("f_eaten.x", 150)


@fault("JSD617", "F_HOLES", publishes("f_holes.c"))
async def interest_stream_whose_filters_leave_a_branch_out(place: Place) -> None:
    await place.stream("F_HOLES", subjects=["f_holes.*"], retention="interest")
    for branch in "ab":
        await add_consumer(place.client, "F_HOLES", branch, filter_subject=f"f_holes.{branch}")


@fault("JSD604", "F_NOBODY")
async def work_queue_without_a_consumer(place: Place) -> None:
    await place.stream("F_NOBODY", retention="workqueue")
    await place.publish("f_nobody.x", 20)


@fault("JSD604", "F_DROPPED", publishes("f_dropped.x"))
async def interest_stream_without_a_consumer(place: Place) -> None:
    await place.stream("F_DROPPED", retention="interest")


@fault("JSD604", "F_POISON", fetches("F_POISON", "worker", b""))
async def work_queue_that_keeps_what_ran_out_of_attempts(place: Place) -> None:
    await place.stream("F_POISON", retention="workqueue")
    await add_consumer(place.client, "F_POISON", "worker", max_deliver=2, ack_wait=SECOND_NS)
    await place.publish("f_poison.x", 20)


@fault("JSD607", "F_MISNAMED")
async def source_with_a_misspelled_name(place: Place) -> None:
    await place.stream("F_ORDERS")
    await place.publish("f_orders.x", 10)
    await place.stream("F_MISNAMED", sources=[{"name": "F_ORDRES"}])


@fault("JSD607", "F_WRONGFILTER")
async def source_with_a_filter_that_its_origin_cannot_match(place: Place) -> None:
    await place.stream("F_SALES")
    await place.publish("f_sales.shop", 30)
    await place.stream("F_WRONGFILTER", sources=[{"name": "F_SALES", "filter_subject": "sales.>"}])


@fault("JSD607", "F_MIRRORFILTER")
async def mirror_with_a_filter_that_its_origin_cannot_match(place: Place) -> None:
    await place.stream("F_STOCK")
    await place.publish("f_stock.depot", 30)
    await place.stream("F_MIRRORFILTER", mirror={"name": "F_STOCK", "filter_subject": "stock.>"})


@fault("JSD607", "F_WRONGTRANSFORM")
async def source_whose_transform_takes_none_of_its_origin(place: Place) -> None:
    await place.stream("F_PARCELS")
    await place.publish("f_parcels.x", 30)
    source = {"name": "F_PARCELS", "subject_transforms": [{"src": "parcels.>", "dest": "all.parcels.>"}]}
    await place.stream("F_WRONGTRANSFORM", sources=[source])


@fault("JSD607", "F_NARROW", publishes("f_wide.x", size=1000))
async def mirror_that_takes_smaller_messages_than_its_origin(place: Place) -> None:
    """The server refuses to create such a mirror, and lets the origin be changed later.

    With three replicas in 2.10.26 it is without a leader in some samples, and not judged then.
    """
    await place.stream("F_WIDE", max_msg_size=200)
    await place.stream("F_NARROW", mirror={"name": "F_WIDE"}, max_msg_size=200, num_replicas=1)
    info = await api(place.client, "STREAM.INFO.F_WIDE")
    await api(place.client, "STREAM.UPDATE.F_WIDE", {**info["config"], "max_msg_size": 1 << 20})


@fault("JSD603", "F_SOURCEFULL", publishes("f_supply.x"))
async def stream_with_a_source_that_is_full(place: Place) -> None:
    """Declared first: JSD607. A replicated one of 2.10.26 drops messages and reports no lag."""
    await place.stream("F_SUPPLY")
    await place.stream("F_SOURCEFULL", sources=[{"name": "F_SUPPLY"}], max_msgs=20, discard="new")
    await place.publish("f_supply.x", 60)


@fault("JSD607", "F_STALEMIRROR")
async def mirror_that_is_past_an_origin_that_was_made_again(place: Place) -> None:
    await place.stream("F_AGAIN")
    await place.publish("f_again.x", 100)
    await place.stream("F_STALEMIRROR", mirror={"name": "F_AGAIN"})
    for _ in range(100):
        if (await api(place.client, "STREAM.INFO.F_STALEMIRROR"))["state"]["messages"] == 100:
            break
        await asyncio.sleep(0.2)
    await api(place.client, "STREAM.DELETE.F_AGAIN")
    await place.stream("F_AGAIN")
    await place.publish("f_again.x", 10)


@fault("JSD405", "F_UNBOUND/push")
async def push_consumer_of_a_work_queue_without_a_subscriber(place: Place) -> None:
    await place.stream("F_UNBOUND", retention="workqueue")
    await add_consumer(place.client, "F_UNBOUND", "push", deliver_subject="deliver.f_unbound")
    await place.publish("f_unbound.x", 30)


@fault("JSD603", "F_FULL")
async def stream_that_is_full_and_refuses(place: Place) -> None:
    await place.stream("F_FULL", discard="new", max_msgs=30)
    await place.publish("f_full.x", 30)


@fault("JSD602", "F_NEARLY")
async def stream_that_is_nearly_full_and_will_refuse(place: Place) -> None:
    await place.stream("F_NEARLY", discard="new", max_msgs=100)
    await place.publish("f_nearly.x", 97)


@fault("JSD602", "F_CONSUMERS")
async def stream_at_its_limit_of_consumers(place: Place) -> None:
    await place.stream("F_CONSUMERS", max_consumers=10)
    for number in range(10):
        await add_consumer(place.client, "F_CONSUMERS", f"c{number}")


@fault("JSD610", "F_SILENT")
async def stream_that_acknowledges_nothing(place: Place) -> None:
    await place.stream("F_SILENT", no_ack=True)


@fault("JSD301", "F_WINDOW")
async def duplicate_window_shorter_than_a_retry(place: Place) -> None:
    await place.stream("F_WINDOW", duplicate_window=SECOND_NS)


@fault("JSD407", "F_BEYOND/late")
async def consumer_that_starts_far_past_the_end(place: Place) -> None:
    await place.stream("F_BEYOND")
    await place.publish("f_beyond.x", 10)
    await add_consumer(place.client, "F_BEYOND", "late", deliver_policy="by_start_sequence", opt_start_seq=1_000_000)


@fault("JSD416", "F_MOVED/old")
async def filter_of_subjects_that_the_stream_has_no_more(place: Place) -> None:
    await place.stream("F_MOVED", subjects=["f_moved.v1.>"])
    await add_consumer(place.client, "F_MOVED", "old", filter_subject="f_moved.v1.x")
    info = await api(place.client, "STREAM.INFO.F_MOVED")
    await api(place.client, "STREAM.UPDATE.F_MOVED", {**info["config"], "subjects": ["f_moved.v2.>"]})
    await place.publish("f_moved.v2.x", 10)


async def receive_too_slowly(place: Place) -> None:
    """A subscriber that acknowledges what comes: the rate of the consumer is what is too small."""

    async def acknowledge(message: Any) -> None:
        if message.reply:
            await message.respond(b"+ACK")

    await place.client.subscribe("deliver.f_throttled", cb=acknowledge)
    await asyncio.sleep(3600)


@fault("JSD402", "F_THROTTLED/slow", receive_too_slowly, publishes("f_throttled.x", 20, 0.1, 1000))
async def rate_limit_below_what_is_published(place: Place) -> None:
    await place.stream("F_THROTTLED")
    await add_consumer(
        place.client, "F_THROTTLED", "slow", deliver_subject="deliver.f_throttled", rate_limit_bps=8 * 4000
    )
    await place.publish("f_throttled.x", 2500)


@fault("JSD605", "F_ALONE", clustered=True)
async def work_queue_with_one_replica_in_a_cluster(place: Place) -> None:
    await place.stream("F_ALONE", retention="workqueue", num_replicas=1)
    await add_consumer(place.client, "F_ALONE", "worker")


@fault("JSD605", "F_EVEN", clustered=True)
async def stream_with_two_replicas(place: Place) -> None:
    await place.stream("F_EVEN", num_replicas=2)


@fault("JSD410", "F_IMPATIENT/worker")
async def first_step_of_a_backoff_that_is_shorter_than_any_work(place: Place) -> None:
    await place.stream("F_IMPATIENT", retention="workqueue")
    backoff = [SECOND_NS // 10, SECOND_NS]
    await add_consumer(place.client, "F_IMPATIENT", "worker", max_deliver=5, backoff=backoff)


@fault("JSD414", "F_LEASED/worker")
async def durable_of_a_work_queue_that_the_server_deletes_after_minutes(place: Place) -> None:
    """Declared first: after one, which is over on a slow machine before anybody looks."""
    await place.stream("F_LEASED", retention="workqueue")
    await add_consumer(place.client, "F_LEASED", "worker", inactive_threshold=240 * SECOND_NS)


@fault("JSD429", "F_PLURAL/worker")
async def filter_in_the_plural(place: Place) -> None:
    await place.stream("F_PLURAL")
    await add_consumer(place.client, "F_PLURAL", "worker", filter_subject="f_plural.orders")
    await place.publish("f_plural.order", 10)
