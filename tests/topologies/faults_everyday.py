"""The seventh table of faults of applications: subjects, removals, priority groups, workers that hang, and buckets.

As in `faults.py`, the rule that must name each fault was declared before the first run. A code that the rules do not
have is that of a rule which was found to be missing when the fault was written down.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

from nats.aio.msg import Msg

from tests.support.deployment import add_consumer, api
from tests.topologies.faults import Table, fetches
from tests.topologies.faults_of_applications import asks
from tests.topologies.faults_of_streams import publishes
from tests.topologies.faults_ordinary import handles
from tests.topologies.habits import SECOND_NS, Place

EVERYDAY_FAULTS = Table()
fault = EVERYDAY_FAULTS.fault
OVERFLOW: dict[str, Any] = {"priority_policy": "overflow", "priority_groups": ["jobs"]}


# Subjects and filters


@fault("JSD429", "T_DEPTH/billing")
async def filter_with_a_wildcard_for_one_token_where_subjects_have_two(place: Place) -> None:
    """https://github.com/nats-io/nats-server/issues/2342: `events.*` does not take `events.user.created`."""
    await place.stream("T_DEPTH")
    await add_consumer(place.client, "T_DEPTH", "billing", filter_subject="t_depth.*")
    await place.publish("t_depth.eu.created", 20)


@fault("JSD604", "T_WIDENED")
async def filter_that_was_widened_after_its_consumer_had_passed_the_messages(place: Place) -> None:
    """https://github.com/nats-io/nats-server/issues/7268: what the filter had skipped is not delivered later."""
    await place.stream("T_WIDENED", retention="workqueue")
    await add_consumer(place.client, "T_WIDENED", "worker", filter_subject="t_widened.a")
    for _ in range(10):
        await place.publish("t_widened.b", 1)
        await place.publish("t_widened.a", 1)
    subscription = await place.client.jetstream().pull_subscribe_bind("worker", "T_WIDENED")
    for message in await subscription.fetch(10, timeout=5):
        await message.ack_sync()
    await add_consumer(place.client, "T_WIDENED", "worker", filter_subject="t_widened.>")


async def answer_requests(place: Place) -> None:
    async def answer(message: Msg) -> None:
        await message.respond(b"42")

    await place.client.subscribe("t_rpc.price", cb=answer)
    await asyncio.sleep(3600)


async def request_prices(place: Place) -> None:
    while True:
        await place.client.request("t_rpc.price", b"?", timeout=10)
        await asyncio.sleep(0.5)


@fault(
    "JSD631",
    "T_RPC",
    answer_requests,
    request_prices,
    missed="no rule: a subscriber of a stream's subject looks the same whether it replies or only reads",
)
async def stream_that_takes_the_requests_of_a_service(place: Place) -> None:
    """https://github.com/nats-io/nats.go/issues/772: the requester gets the stream's acknowledgement for a reply."""
    await place.stream("T_RPC")


# Messages that are removed before they are read


async def purge_now_and_then(place: Place) -> None:
    while True:
        await asyncio.sleep(4)
        await api(place.client, "STREAM.PURGE.T_PURGED")


@fault(
    "JSD206",
    "T_PURGED/worker",
    fetches("T_PURGED", "worker", b"+ACK", batch=1, pause_s=0.5),
    publishes("t_purged.x", 20, 0.5),
    purge_now_and_then,
)
async def job_that_purges_what_a_worker_has_not_read(place: Place) -> None:
    """https://github.com/nats-io/nats-server/issues/3106."""
    await place.stream("T_PURGED")
    await add_consumer(place.client, "T_PURGED", "worker")


async def roll_everything_up(place: Place) -> None:
    """One program stores the state of its device, and means its subject."""
    while True:
        await place.publish("t_rollup.state.1", 1, **{"Nats-Rollup": "all"})
        await asyncio.sleep(2)


@fault(
    "JSD206",
    "T_ROLLUP/worker",
    fetches("T_ROLLUP", "worker", b"+ACK", batch=1, pause_s=0.5),
    publishes("t_rollup.event", 10, 0.5),
    roll_everything_up,
)
async def rollup_of_all_subjects_where_one_was_meant(place: Place) -> None:
    """https://github.com/nats-io/nats-server/pull/2585: `all` removes the messages of every other subject."""
    await place.stream("T_ROLLUP", allow_rollup_hdrs=True)
    await add_consumer(place.client, "T_ROLLUP", "worker")


# Consumers


async def hang_and_report_progress(place: Place) -> None:
    """The handler waits for ever, and another thread goes on to extend the time for its acknowledgement."""
    subscription = await place.client.jetstream().pull_subscribe_bind("worker", "T_HUNG")
    messages = await subscription.fetch(5, timeout=10)
    while True:
        for message in messages:
            await message.respond(b"+WPI")
        await asyncio.sleep(0.5)


@fault(
    "JSD403",
    "T_HUNG/worker",
    hang_and_report_progress,
    asks("T_HUNG", "worker", 1, batch=1, expires=SECOND_NS),
    missed="workers that report progress are at work: how long a job may take is known to its owner only",
)
async def workers_that_hang_while_they_report_progress(place: Place) -> None:
    """https://github.com/hmchangw/newchat/pull/501: a heartbeat without an end keeps a message for ever."""
    await place.stream("T_HUNG", retention="workqueue")
    await add_consumer(place.client, "T_HUNG", "worker", max_ack_pending=5, ack_wait=3 * SECOND_NS)
    await place.publish("t_hung.x", 200)


@fault(
    "JSD404",
    "T_OVERFLOW/worker",
    asks("T_OVERFLOW", "worker", 15, batch=10, expires=20 * SECOND_NS, group="jobs", min_pending=1000),
    since=(2, 11),
)
async def only_client_is_one_that_helps_out_above_a_backlog(place: Place) -> None:
    """https://github.com/nats-io/nats-architecture-and-design/pull/357: the consumer stalls below the threshold."""
    await place.stream("T_OVERFLOW")
    await add_consumer(place.client, "T_OVERFLOW", "worker", **OVERFLOW)
    await place.publish("t_overflow.x", 50)


@fault(
    "JSD405",
    "T_GROUPLESS/worker",
    asks("T_GROUPLESS", "worker", 0.5, batch=10, expires=SECOND_NS),
    since=(2, 11),
)
async def requests_without_the_priority_group_that_the_consumer_demands(place: Place) -> None:
    """https://github.com/nats-io/nats.py/issues/784: a client that knows no groups; each request ends with 400."""
    await place.stream("T_GROUPLESS", retention="workqueue")
    await add_consumer(place.client, "T_GROUPLESS", "worker", **OVERFLOW)
    await place.publish("t_groupless.x", 50)


@fault(
    "JSD411",
    "T_GONE/worker",
    asks("T_GONE", "worker", 0.5, batch=1, expires=SECOND_NS),
    missed="no rule: a request to a consumer that does not exist leaves no trace in the servers",
)
async def client_that_goes_on_with_a_consumer_which_was_deleted_for_being_idle(place: Place) -> None:
    """https://github.com/nats-io/nats-server/issues/5327: `no heartbeat received`, for ever."""
    await place.stream("T_GONE")
    await add_consumer(place.client, "T_GONE", "worker", inactive_threshold=SECOND_NS)
    await place.publish("t_gone.x", 20)
    for _ in range(100):
        if not (await api(place.client, "CONSUMER.NAMES.T_GONE"))["consumers"]:
            return
        await asyncio.sleep(0.2)
    raise AssertionError("the consumer was not deleted")


@fault("JSD409", "T_FAILS/worker", handles("T_FAILS", 10), mentions="T_LETTERS")
async def stream_of_dead_letters_with_a_subject_that_no_server_publishes(place: Place) -> None:
    """https://github.com/nats-io/nats.docs/pull/384: the documentation had it without `CONSUMER`."""
    await place.stream("T_LETTERS", subjects=["$JS.EVENT.ADVISORY.MAX_DELIVERIES.>"])
    await add_consumer(place.client, "T_LETTERS", "reader")
    await place.stream("T_FAILS")
    await add_consumer(place.client, "T_FAILS", "worker", max_deliver=3)
    await place.publish("t_fails.x", 30)


# Buckets


@fault("JSD626", "OBJ_t_small")
async def object_store_that_takes_smaller_messages_than_chunks_are(place: Place) -> None:
    """https://github.com/nats-io/nats-architecture-and-design/blob/main/adr/ADR-20.md: chunks have 128 KiB."""
    files: dict[str, Any] = {"allow_rollup_hdrs": True, "allow_direct": True, "discard": "new"}
    subjects = ["$O.t_small.C.>", "$O.t_small.M.>"]
    await place.stream("OBJ_t_small", subjects=subjects, max_msg_size=65_536, **files)


async def open_sessions(place: Place) -> None:
    for number in itertools.count():
        await place.publish(f"$KV.t_sessions.{number}", 1)
        await asyncio.sleep(0.02)


@fault("JSD601", "KV_t_sessions", open_sessions)
async def bucket_with_a_key_for_each_session_that_nothing_removes(place: Place) -> None:
    """https://github.com/opencloud-eu/opencloud/issues/2681: neither an age nor a size, and a new key each time."""
    await place.bucket("t_sessions", max_bytes=-1, max_age=0)


@fault("JSD632", "KV_t_locks", options=("--scan", "KV_t_locks"))
async def bucket_that_holds_markers_of_deleted_keys_and_hardly_a_key(place: Place) -> None:
    """https://github.com/openobserve/openobserve/issues/10642, https://github.com/nats-io/nats-server/issues/3251."""
    await place.bucket("t_locks", max_age=0)
    for number in range(200):
        await place.store(f"$KV.t_locks.{number}", b"", {"KV-Operation": "DEL"})
    await place.publish("$KV.t_locks.current", 1)
