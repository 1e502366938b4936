"""The sixth table of faults of applications: what ordinary operators reported of units, retries, buckets and leftovers.

As in `faults.py`, the rule that must name each fault was declared before the first run. A code that the rules do not
have is that of a rule which was found to be missing when the fault was written down: JSD626 (settings of buckets),
JSD628 (messages that expire at once), JSD629 (queues in memory) and JSD630 (jobs that are overwritten).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import nats

from tests.support.deployment import add_consumer
from tests.topologies.faults import Table
from tests.topologies.faults_of_applications import asks
from tests.topologies.faults_of_streams import publishes
from tests.topologies.habits import SECOND_NS, Furnish, Place

ORDINARY_FAULTS = Table()
fault = ORDINARY_FAULTS.fault
DAY_MS = 24 * 3600 * 1000


def handles(stream: str, refused_up_to: int, pause_s: float = 0.02) -> Furnish:
    """A worker that refuses the first messages of the stream at once, again and again, and acknowledges the rest."""

    async def handle(place: Place) -> None:
        subscription = await place.client.jetstream().pull_subscribe_bind("worker", stream)
        while True:
            with contextlib.suppress(TimeoutError, nats.errors.TimeoutError):
                for message in await subscription.fetch(10, timeout=1):
                    refused = message.metadata.sequence.stream <= refused_up_to
                    await message.respond(b"-NAK" if refused else b"+ACK")
            await asyncio.sleep(pause_s)

    return handle


# Durations in the wrong unit


@fault("JSD410", "S_NANO/worker", asks("S_NANO", "worker", 1, batch=5, expires=SECOND_NS))
async def wait_for_acknowledgements_of_a_nanosecond(place: Place) -> None:
    """https://github.com/nats-io/nack/issues/136: the default of a resource definition."""
    await place.stream("S_NANO")
    await add_consumer(place.client, "S_NANO", "worker", ack_wait=1)


@fault("JSD628", "S_MILLIS", publishes("s_millis.x", 1, 0.3))
async def age_of_a_week_in_milliseconds(place: Place) -> None:
    """https://github.com/Redningsselskapet/nestjs-plugins/issues/65: milliseconds or nanoseconds? It is 0.6 s."""
    await place.stream("S_MILLIS", max_age=7 * DAY_MS, duplicate_window=7 * DAY_MS)


# Retries


@fault("JSD408", "S_POISON/worker", handles("S_POISON", 1), publishes("s_poison.x", 1, 0.2))
async def one_message_that_is_refused_in_a_loop(place: Place) -> None:
    """https://github.com/kannon-email/kannon/pull/396: `Nak()` without a delay, and no `max_deliver`."""
    await place.stream("S_POISON")
    await add_consumer(place.client, "S_POISON", "worker")
    await place.publish("s_poison.x", 5)


@fault("JSD409", "S_BURNED/worker", handles("S_BURNED", 20), publishes("s_burned.x", 1, 0.3))
async def attempts_that_are_used_up_within_milliseconds(place: Place) -> None:
    """https://github.com/hmchangw/newchat/issues/346: a short outage of a database, and every attempt is gone."""
    await place.stream("S_BURNED")
    await add_consumer(place.client, "S_BURNED", "worker", max_deliver=5)
    await place.publish("s_burned.x", 40)


async def read_without_acknowledging(place: Place) -> None:
    await place.client.subscribe("deliver.s_ackall")
    await asyncio.sleep(3600)


@fault("JSD408", "S_ACKALL/reader", read_without_acknowledging)
async def reader_that_never_acknowledges_with_ack_all(place: Place) -> None:
    """https://github.com/cgrates/cgrates/pull/5337: everything comes again after each `ack_wait`."""
    await place.stream("S_ACKALL")
    push: dict[str, Any] = {"deliver_subject": "deliver.s_ackall", "ack_policy": "all", "ack_wait": 2 * SECOND_NS}
    await add_consumer(place.client, "S_ACKALL", "reader", **push)
    await place.publish("s_ackall.x", 60)


# Consumers


@fault("JSD405", "S_PODS/", asks("S_PODS", "svc-5", 1, batch=10, expires=SECOND_NS), publishes("s_pods.x", 2, 0.2))
async def durable_of_each_start_of_a_process(place: Place) -> None:
    """https://github.com/bbvch-ai/aihub-core/pull/1828: four old ones keep every message of an interest stream."""
    await place.stream("S_PODS", retention="interest")
    for number in range(1, 6):
        await add_consumer(place.client, "S_PODS", f"svc-{number}")
    await place.publish("s_pods.x", 20)


async def work_slowly(place: Place) -> None:
    subscription = await place.client.jetstream().pull_subscribe_bind("worker", "S_CONTRACTS")
    while True:
        with contextlib.suppress(TimeoutError, nats.errors.TimeoutError):
            for message in await subscription.fetch(10, timeout=1):
                await asyncio.sleep(0.5)
                await message.ack()


@fault(
    "JSD206",
    "S_CONTRACTS/worker",
    work_slowly,
    publishes("s_contracts.a", 10, 0.1),
    missed="a stream that replaces messages by newer ones does so by design: its readers are not judged",
)
async def messages_that_newer_ones_replace_while_they_are_worked_on(place: Place) -> None:
    """https://github.com/nats-io/nats.net/issues/860: `max_msgs_per_subject` and acknowledgements."""
    await place.stream("S_CONTRACTS", max_msgs_per_subject=5)
    last: dict[str, Any] = {"deliver_policy": "last_per_subject", "filter_subject": "s_contracts.>"}
    await add_consumer(place.client, "S_CONTRACTS", "worker", **last)
    await place.publish("s_contracts.a", 20)


@fault(
    "JSD402",
    "S_ONEBYONE/worker",
    *(asks("S_ONEBYONE", "worker", 0.5, batch=1, expires=SECOND_NS) for _ in range(4)),
    publishes("s_onebyone.x", 20, 0.2),
)
async def four_workers_of_a_consumer_that_lets_one_work(place: Place) -> None:
    """https://github.com/nats-io/nats.docs/pull/641: `max_ack_pending` is a limit of the consumer, not of a client."""
    await place.stream("S_ONEBYONE")
    await add_consumer(place.client, "S_ONEBYONE", "worker", max_ack_pending=1)
    await place.publish("s_onebyone.x", 200)


async def wait_for_a_full_batch(place: Place) -> None:
    """Handles messages once five hundred have arrived."""
    inbox = place.client.new_inbox()
    await place.client.subscribe(inbox)
    while True:
        body = json.dumps({"batch": 500, "expires": 10 * SECOND_NS}).encode()
        await place.client.publish("$JS.API.CONSUMER.MSG.NEXT.S_DEADLOCK.worker", body, inbox)
        await asyncio.sleep(10)


@fault("JSD403", "S_DEADLOCK/worker", wait_for_a_full_batch)
async def batch_that_is_larger_than_what_may_be_pending(place: Place) -> None:
    """https://github.com/nats-io/jetstream/pull/494: client and consumer wait for each other."""
    await place.stream("S_DEADLOCK")
    await add_consumer(place.client, "S_DEADLOCK", "worker", max_ack_pending=5)
    await place.publish("s_deadlock.x", 600)


# Buckets


@fault("JSD626", "KV_s_raw")
async def bucket_that_was_made_as_a_stream(place: Place) -> None:
    """https://github.com/nats-io/nack/issues/75: no history, no rollups: clients refuse it, and keep every value."""
    await place.stream("KV_s_raw", subjects=["$KV.s_raw.>"])
    await place.publish("$KV.s_raw.key", 20)


@fault("JSD626", "KV_s_old")
async def bucket_that_drops_keys_when_it_is_full(place: Place) -> None:
    """https://github.com/nats-io/nats-architecture-and-design/pull/102: made by an older client."""
    await place.bucket("s_old", discard="old", max_bytes=20_000)
    for number in range(40):
        await place.store(f"$KV.s_old.{number}", b"x" * 1000)


@fault("JSD626", "KV_s_locks", since=(2, 11))
async def bucket_whose_expired_values_bring_older_ones_back(place: Place) -> None:
    """https://github.com/nats-io/nats-server/issues/6959: a time to live is one of a value, not of a key."""
    await place.bucket("s_locks", history=5, allow_msg_ttl=True)
    await place.publish("$KV.s_locks.leader", 1)
    await place.publish("$KV.s_locks.leader", 1, **{"Nats-TTL": "5s"})


@fault("JSD626", "KV_s_core")
async def bucket_whose_source_maps_to_other_subjects(place: Place) -> None:
    """https://github.com/nats-io/nack/issues/277: messages arrive, and no key shows."""
    await place.stream("S_AGREEMENT")
    await place.publish("s_agreement.a", 10)
    transforms = [{"src": "s_agreement.>", "dest": "node.>"}]
    await place.bucket("s_core", sources=[{"name": "S_AGREEMENT", "subject_transforms": transforms}])


async def watch_presence(place: Place) -> None:
    bucket = await place.client.jetstream().key_value("s_presence")
    watcher = await bucket.watchall()
    async for _ in watcher:
        pass


@fault("JSD626", "KV_s_presence", watch_presence, publishes("$KV.s_presence.one", 1, 5), since=(2, 11))
async def bucket_with_expiry_whose_watchers_are_not_notified(place: Place) -> None:
    """https://github.com/nats-io/nats-server/issues/4640: keys vanish, and nobody gets to know."""
    await place.bucket("s_presence", max_age=30 * SECOND_NS, duplicate_window=10 * SECOND_NS)
    await place.publish("$KV.s_presence.two", 1)


# Queues


@fault("JSD630", "S_JOBS", asks("S_JOBS", "worker", 1, batch=1, expires=SECOND_NS), publishes("s_jobs.render", 5, 0.5))
async def queue_whose_jobs_replace_each_other(place: Place) -> None:
    """https://github.com/nats-io/nats-server/issues/4247: one message for a subject, and jobs share a subject."""
    await place.stream("S_JOBS", retention="workqueue", max_msgs_per_subject=1)
    await add_consumer(place.client, "S_JOBS", "worker")


@fault("JSD630", "S_STEPS", asks("S_STEPS", "worker", 1, batch=1, expires=SECOND_NS), publishes("s_steps.x", 5, 0.5))
async def queue_that_was_to_refuse_and_replaces(place: Place) -> None:
    """The same issue: `discard: new` refuses nothing for a limit per subject, without `discard_new_per_subject`."""
    await place.stream("S_STEPS", retention="workqueue", max_msgs_per_subject=3, discard="new", max_msgs=1000)
    await add_consumer(place.client, "S_STEPS", "worker")


@fault("JSD629", "S_VOLATILE")
async def queue_in_the_memory_of_one_server(place: Place) -> None:
    """https://github.com/nats-io/nack: `storage: memory` of the first example; a restart, and the jobs are gone."""
    await place.stream("S_VOLATILE", storage="memory", retention="workqueue", num_replicas=1)
    await add_consumer(place.client, "S_VOLATILE", "worker")
    await place.publish("s_volatile.x", 10)


# Deployers


async def create_again_and_again(place: Place) -> None:
    body = json.dumps({"name": "S_NEWNAME", "subjects": ["s_oldname.>"]}).encode()
    while True:
        reply = await place.client.request("$JS.API.STREAM.CREATE.S_NEWNAME", body, timeout=10)
        assert b'"error"' in reply.data, reply.data
        await asyncio.sleep(0.5)


@fault("JSD807", ".", create_again_and_again, blurred=True)
async def stream_that_was_renamed_in_its_manifest(place: Place) -> None:
    """https://github.com/nats-io/nack/issues/120: the old one still has the subjects (10065)."""
    await place.stream("S_OLDNAME")
