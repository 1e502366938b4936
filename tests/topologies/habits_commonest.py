"""Healthy habits that look like faults: probes, dead letters, settings of one message, ordinary retries."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from typing import Any

import nats
from nats.aio.msg import Msg

from tests.support.deployment import add_consumer, api
from tests.topologies.habits import SECOND_NS, Habits, Place, publishes
from tests.topologies.habits_of_streams import again

COMMONEST_HABITS = Habits()
habit = COMMONEST_HABITS.habit
_NUMBERS = itertools.count()


async def probe(place: Place) -> None:
    """Publish, read it back with a consumer of its own, and remove both."""
    await place.publish("n_probe.beat", 1)
    config = {"deliver_policy": "last", "inactive_threshold": 30 * SECOND_NS}
    await add_consumer(place.client, "N_PROBE", "probe", durable=False, **config)
    subscription = await place.client.jetstream().pull_subscribe_bind("probe", "N_PROBE")
    with contextlib.suppress(TimeoutError, nats.errors.TimeoutError):
        for message in await subscription.fetch(1, timeout=2):
            await message.ack()
    await subscription.unsubscribe()
    with contextlib.suppress(AssertionError):
        await api(place.client, "CONSUMER.DELETE.N_PROBE.probe")
        await api(place.client, "STREAM.PURGE.N_PROBE")


@habit("N_PROBE", again(probe, 0.5))
async def monitor_that_publishes_reads_back_and_removes(place: Place) -> None:
    """https://github.com/nats-io/natscli/blob/main/cli/server_check_command.go: `nats server check message`."""
    await place.stream("N_PROBE", max_msgs=10)


async def fail_on_some(place: Place) -> None:
    """Each tenth message cannot be worked on, however often it is tried."""
    subscription = await place.client.jetstream().pull_subscribe_bind("worker", "N_DEAD")
    while True:
        with contextlib.suppress(TimeoutError, nats.errors.TimeoutError):
            for message in await subscription.fetch(10, timeout=1):
                if message.metadata.sequence.stream % 10:
                    await message.ack()
                else:
                    await message.nak(delay=0.5)
        await asyncio.sleep(0.05)


async def bury(place: Place) -> None:
    """Move what ran out of attempts into a stream of dead letters."""
    context = place.client.jetstream()

    async def move(advisory: Msg) -> None:
        number = json.loads(advisory.data)["stream_seq"]
        with contextlib.suppress(nats.js.errors.Error, nats.errors.Error, AssertionError):
            message = await context.get_msg("N_DEAD", number)
            await place.store("n_deadletters.x", message.data or b"")
            await api(place.client, "STREAM.MSG.DELETE.N_DEAD", {"seq": number})

    await place.client.subscribe("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.N_DEAD.worker", cb=move)
    await asyncio.sleep(3600)


@habit("N_DEAD", bury, fail_on_some, publishes("n_dead.x"))
async def dead_letters_that_are_moved(place: Place) -> None:
    """https://github.com/nats-io/nats.docs/pull/505: `max_deliver`, its advisory, and a stream for what is left."""
    await place.stream("N_DEAD", retention="workqueue")
    await place.stream("N_DEADLETTERS")
    await add_consumer(place.client, "N_DEAD", "worker", max_deliver=3, ack_wait=5 * SECOND_NS)


async def follow(place: Place) -> None:
    """A process that reads the newest settings when it starts, and each change after that."""
    newest: dict[str, Any] = {"ordered_consumer": True, "deliver_policy": nats.js.api.DeliverPolicy.LAST}
    for _ in range(3):
        await place.client.jetstream().subscribe("n_current.>", stream="N_CURRENT", **newest)
    await asyncio.sleep(3600)


@habit("N_CURRENT", follow, publishes("n_current.flags"))
async def stream_that_is_one_message_long(place: Place) -> None:
    """https://docs.nats.io/nats-concepts/jetstream/streams: `max_msgs: 1` and `discard: old` keep the newest."""
    await place.stream("N_CURRENT", max_msgs=1)
    await place.publish("n_current.flags", 3)


async def export(place: Place) -> None:
    bucket = await place.client.jetstream().object_store("n_exports")
    await bucket.put(f"export-{next(_NUMBERS)}", b"x" * 200_000)


@habit("OBJ_n_exports", again(export, 1))
async def files_that_expire(place: Place) -> None:
    """https://docs.nats.io/nats-concepts/jetstream/obj_store: a bucket with a time to live, for downloads."""
    files: dict[str, Any] = {"allow_rollup_hdrs": True, "allow_direct": True, "discard": "new"}
    subjects = ["$O.n_exports.C.>", "$O.n_exports.M.>"]
    await place.stream("OBJ_n_exports", subjects=subjects, max_age=20 * SECOND_NS, duplicate_window=0, **files)


async def call_a_flaky_service(place: Place) -> None:
    """Each fifth call fails at first; the message is tried again after two seconds."""
    subscription = await place.client.jetstream().pull_subscribe_bind("worker", "N_FLAKY")
    while True:
        with contextlib.suppress(TimeoutError, nats.errors.TimeoutError):
            for message in await subscription.fetch(10, timeout=1):
                if message.metadata.sequence.stream % 5 or message.metadata.num_delivered > 1:
                    await message.ack()
                else:
                    await message.nak(delay=2)
        await asyncio.sleep(0.05)


@habit("N_FLAKY", call_a_flaky_service, publishes("n_flaky.x"))
async def calls_that_fail_now_and_then(place: Place) -> None:
    """https://docs.nats.io/nats-concepts/jetstream/consumers: `NakWithDelay` as an ordinary retry."""
    await place.stream("N_FLAKY", retention="workqueue")
    await add_consumer(place.client, "N_FLAKY", "worker", max_deliver=10)
