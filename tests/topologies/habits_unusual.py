"""Healthy habits of projects that few deployments have: workers that are scaled to none, semaphores, controllers."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import nats

from tests.support.deployment import HOUR_NS, add_consumer, api
from tests.topologies.habits import SECOND_NS, Habits, Place, works
from tests.topologies.habits_of_streams import again

UNUSUAL_HABITS = Habits()
habit = UNUSUAL_HABITS.habit


async def scale_with_the_backlog(place: Place) -> None:
    """A worker is started once ten messages wait, and ended when none has waited for a while."""
    while True:
        waiting = (await api(place.client, "CONSUMER.INFO.U_SCALE.worker"))["num_pending"]
        if waiting >= 10:
            subscription = await place.client.jetstream().pull_subscribe_bind("worker", "U_SCALE")
            with contextlib.suppress(TimeoutError, nats.errors.TimeoutError):
                while True:
                    for message in await subscription.fetch(10, timeout=2):
                        await message.ack()
            await subscription.unsubscribe()
        await asyncio.sleep(1)


async def order_a_job(place: Place) -> None:
    await place.publish("u_scale.job", 1)


@habit("U_SCALE", scale_with_the_backlog, again(order_a_job, 0.5))
async def workers_that_are_scaled_to_none(place: Place) -> None:
    """https://keda.sh/docs/2.19/scalers/nats-jetstream: `minReplicaCount: 0`, `activationLagThreshold`."""
    await place.stream("U_SCALE", retention="workqueue")
    await add_consumer(place.client, "U_SCALE", "worker")
    await place.publish("u_scale.job", 4)


async def enter_and_leave(place: Place) -> None:
    """One program more than the governor lets in tries again every second."""
    for _ in range(6):
        reply = await place.client.request("$GOVERNOR.campaign.u_builds", b"host", timeout=10)
        answer = json.loads(reply.data)
        assert "error" not in answer or "maximum messages" in answer["error"]["description"], answer
    await asyncio.sleep(3)
    info = await api(place.client, "STREAM.INFO.GOVERNOR_u_builds")
    with contextlib.suppress(AssertionError):
        await api(place.client, "STREAM.MSG.DELETE.GOVERNOR_u_builds", {"seq": info["state"]["first_seq"]})


@habit("GOVERNOR_u_builds", again(enter_and_leave, 0.5))
async def semaphore_of_which_all_places_are_taken(place: Place) -> None:
    """https://github.com/nats-io/jsm.go/tree/main/governor: a full stream that refuses is what it is for."""
    slots = {"max_msgs": 5, "max_age": 300 * SECOND_NS, "discard": "new"}
    await place.stream("GOVERNOR_u_builds", subjects=["$GOVERNOR.campaign.u_builds"], **slots)
    await place.publish("$GOVERNOR.campaign.u_builds", 5)


async def control(place: Place) -> None:
    """Events of hosts, commands that follow from them, and the status of the application."""
    await place.publish("u_wadmbus.evt.default.heartbeat", 1)
    await place.publish("u_wadm.cmd.default", 1)
    await place.publish("u_wadm.notify.default", 1)
    await place.publish("u_wadm.status.default.shop", 1)


@habit(
    "U_WADM",
    again(control, 0.3),
    works("U_WADMcommands", "wadm_command_default"),
    works("U_WADMconsumer", "wadm_event_default"),
    works("U_WADMnotify", "wadm_notify_default"),
)
async def streams_of_an_application_manager(place: Place) -> None:
    """https://github.com/wasmCloud/wadm/blob/main/crates/wadm/src/nats.rs: a queue that collects and renames."""
    brief = {"max_age": HOUR_NS, "max_bytes": -1}
    await place.stream("U_WADMbus", subjects=["u_wadmbus.evt.*.>"], **brief)
    await place.stream("U_WADMcommands", subjects=["u_wadm.cmd.*"], retention="workqueue", **brief)
    await place.stream("U_WADMnotify", subjects=["u_wadm.notify.*"], retention="interest", **brief)
    renamed = [{"src": "u_wadmbus.evt.*.>", "dest": "u_wadm_consumer.evt.{{wildcard(1)}}.>"}]
    collected = [{"name": "U_WADMbus", "subject_transforms": renamed}]
    await place.stream("U_WADMconsumer", sources=collected, retention="workqueue", **brief)
    last_ten = {"max_msgs_per_subject": 10, "max_age": 0, "max_bytes": -1, "allow_direct": True}
    await place.stream("U_WADMstatus", subjects=["u_wadm.status.*.*"], **last_ten)
    await place.bucket("u_wadm_state", max_age=0)
    await add_consumer(place.client, "U_WADMcommands", "wadm_command_default", filter_subject="u_wadm.cmd.default")
    event: dict[str, Any] = {"filter_subject": "u_wadm_consumer.evt.default.>", "max_deliver": 3}
    await add_consumer(place.client, "U_WADMconsumer", "wadm_event_default", ack_wait=2 * SECOND_NS, **event)
    await add_consumer(place.client, "U_WADMnotify", "wadm_notify_default")
