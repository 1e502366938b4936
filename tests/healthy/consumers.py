"""Healthy consumers that pull: workers, their habits and their limits."""

import asyncio
import contextlib
import json
from typing import Any

import nats

from tests.healthy.frame import habit
from tests.support.applications import TIMEOUTS, acknowledge, acknowledges, publishes, pulls, slowly, works
from tests.support.deployment import HOUR_NS
from tests.support.site import SECOND_NS, Site, Work


@habit("QUEUE", works("QUEUE", "workers"), works("QUEUE", "workers"), publishes("queue.jobs"))
async def work_queue(site: Site) -> None:
    await site.stream("QUEUE", retention="workqueue")
    await site.consumer("QUEUE", "workers")


@habit("PARTS", works("PARTS", "even"), works("PARTS", "odd"), publishes("parts.even"), publishes("parts.odd"))
async def partitioned_work_queue(site: Site) -> None:
    await site.stream("PARTS", subjects=["parts.even", "parts.odd"], retention="workqueue")
    for part in ("even", "odd"):
        await site.consumer("PARTS", part, filter_subject=f"parts.{part}")


@habit("INTEREST", works("INTEREST", "a"), works("INTEREST", "b"), publishes("interest.x"))
async def interest(site: Site) -> None:
    await site.stream("INTEREST", retention="interest")
    for name in ("a", "b"):
        await site.consumer("INTEREST", name)


@habit("MINUTE")
async def worker_that_comes_once_a_minute(site: Site) -> None:
    await site.stream("MINUTE", retention="workqueue")
    await site.consumer("MINUTE", "cron")
    await site.publish("minute.job", 120)


@habit("NIGHTLY")
async def job_that_comes_at_night(site: Site) -> None:
    await site.stream("NIGHTLY")
    await site.consumer("NIGHTLY", "report")
    await site.publish("nightly.sale", 300)


@habit("PAUSED", publishes("paused.x"), since=(2, 11))
async def paused_consumer(site: Site) -> None:
    """A pause costs time, where nothing expires meanwhile."""
    await site.stream("PAUSED", max_age=0)
    await site.consumer("PAUSED", "later", pause_until="2100-01-01T00:00:00Z")


@habit("PRIORITY", publishes("priority.x"), since=(2, 11))
async def priority_group_of_which_one_client_overflows(site: Site) -> None:
    await site.stream("PRIORITY")
    await site.consumer("PRIORITY", "over", priority_policy="overflow", priority_groups=["jobs"])

    async def pull() -> None:
        inbox = site.client.new_inbox()

        async def acknowledge(message: Any) -> None:
            if message.reply:
                await message.respond(b"+ACK")

        await site.client.subscribe(inbox, cb=acknowledge)
        while True:
            body = {"batch": 100, "expires": 5 * SECOND_NS, "group": "jobs"}
            subject = "$JS.API.CONSUMER.MSG.NEXT.PRIORITY.over"
            await site.client.publish(subject, json.dumps(body).encode(), reply=inbox)
            await asyncio.sleep(4)

    site.client._puller = asyncio.create_task(pull())  # type: ignore[attr-defined]  # lives as long as the client


async def pull_as_a_pinned_client(site: Site) -> None:
    """Asks again with the id by which the server has pinned it, and acknowledges what comes."""
    inbox, pinned = site.client.new_inbox(), ""
    subscription = await site.client.subscribe(inbox)
    subject = "$JS.API.CONSUMER.MSG.NEXT.PINNED.one"
    while True:
        body = {"batch": 10, "expires": 2 * SECOND_NS, "group": "jobs"} | ({"id": pinned} if pinned else {})
        await site.client.publish(subject, json.dumps(body).encode(), reply=inbox)
        with contextlib.suppress(TimeoutError, nats.errors.TimeoutError):
            for _ in range(10):
                message = await subscription.next_msg(timeout=1)
                headers = message.headers or {}
                pinned = "" if headers.get("Status") == "423" else headers.get("Nats-Pin-Id", pinned)
                if message.reply:
                    await message.respond(b"+ACK")


@habit("PINNED", pull_as_a_pinned_client, publishes("pinned.x"), since=(2, 11))
async def priority_group_with_a_pinned_client(site: Site) -> None:
    await site.stream("PINNED")
    group: dict[str, Any] = {"priority_policy": "pinned_client", "priority_groups": ["jobs"]}
    await site.consumer("PINNED", "one", priority_timeout=30 * SECOND_NS, **group)


@habit("RETRY", works("RETRY", "careful"), publishes("retry.x"))
async def limited_attempts_with_backoff(site: Site) -> None:
    await site.stream("RETRY")
    await site.consumer("RETRY", "careful", max_deliver=5, backoff=[30 * SECOND_NS, 120 * SECOND_NS])


@habit("LATEST", works("LATEST", "board"), publishes("latest.a"), publishes("latest.b"))
async def board_of_the_newest_values(site: Site) -> None:
    """It starts with the newest message of each subject, and the others are removed without a delivery."""
    await site.stream("LATEST", max_msgs=100)
    await site.publish("latest.a", 60)
    await site.publish("latest.b", 60)
    await site.consumer("LATEST", "board", deliver_policy="last_per_subject", filter_subject="latest.>")


@habit("ONEATATIME", acknowledges("ONEATATIME", "worker", batch=1), slowly("oneatatime.x", 0.2))
async def strictly_ordered_worker(site: Site) -> None:
    """One message in flight, so all of its slots are taken whenever it works."""
    await site.stream("ONEATATIME", retention="workqueue")
    await site.consumer("ONEATATIME", "worker", max_ack_pending=1)


@habit("BACKLOG", works("BACKLOG", "reader"))
async def reader_that_catches_up(site: Site) -> None:
    await site.stream("BACKLOG")
    for _ in range(10):
        await asyncio.gather(*(site.client.publish("backlog.x", b"x") for _ in range(200)))
    await site.consumer("BACKLOG", "reader")


async def work_for_long(site: Site) -> None:
    """A job takes fifteen seconds, and reports progress meanwhile."""
    subscription = await site.client.jetstream().pull_subscribe_bind("renderer", "LONGJOB")
    while True:
        with contextlib.suppress(*TIMEOUTS):
            (message,) = await subscription.fetch(1, timeout=1)
            for _ in range(15):
                await message.in_progress()
                await asyncio.sleep(1)
            await message.ack()


@habit("LONGJOB", work_for_long, slowly("longjob.x", 10))
async def long_jobs_that_report_progress(site: Site) -> None:
    await site.stream("LONGJOB", retention="workqueue")
    await site.consumer("LONGJOB", "renderer", ack_wait=5 * SECOND_NS)
    await site.publish("longjob.x", 2)


@habit(
    "NAKDELAY",
    acknowledges("NAKDELAY", "worker", rare=b'-NAK {"delay": 2000000000}', every=50),
    slowly("nakdelay.x", 0.1),
)
async def some_messages_are_tried_again_later(site: Site) -> None:
    await site.stream("NAKDELAY", retention="workqueue")
    await site.consumer("NAKDELAY", "worker")


@habit("TERMINATES", acknowledges("TERMINATES", "worker", rare=b"+TERM", every=50), slowly("terminates.x", 0.1))
async def broken_messages_are_terminated(site: Site) -> None:
    await site.stream("TERMINATES")
    await site.consumer("TERMINATES", "worker")


@habit("MANYFILTERS", works("MANYFILTERS", "two"), publishes("manyfilters.a"), publishes("manyfilters.b"))
async def several_filters(site: Site) -> None:
    await site.stream("MANYFILTERS")
    await site.publish("manyfilters.c", 5)
    await site.consumer("MANYFILTERS", "two", filter_subjects=["manyfilters.a", "manyfilters.b"])


@habit("PULLNONE", pulls("PULLNONE", "tail"), publishes("pullnone.x"))
async def pull_without_acknowledgements(site: Site) -> None:
    await site.stream("PULLNONE")
    await site.consumer("PULLNONE", "tail", ack_policy="none")


async def acknowledge_each_batch(site: Site) -> None:
    subscription = await site.client.jetstream().pull_subscribe_bind("loader", "PULLALL")
    while True:
        with contextlib.suppress(*TIMEOUTS):
            await (await subscription.fetch(20, timeout=1))[-1].ack()


@habit("PULLALL", acknowledge_each_batch, publishes("pullall.x"))
async def batches_that_are_acknowledged_by_their_last_message(site: Site) -> None:
    await site.stream("PULLALL")
    await site.consumer("PULLALL", "loader", ack_policy="all")


@habit("WAITING", *(pulls("WAITING", "pool") for _ in range(20)), slowly("waiting.x", 0.5))
async def pool_of_clients_that_wait(site: Site) -> None:
    await site.stream("WAITING", retention="workqueue")
    await site.consumer("WAITING", "pool")


@habit("FANOUT", *(works("FANOUT", f"app{number}") for number in range(6)), publishes("fanout.x"))
async def six_applications_on_one_interest_stream(site: Site) -> None:
    await site.stream("FANOUT", retention="interest")
    for number in range(6):
        await site.consumer("FANOUT", f"app{number}")


@habit("SHARDS", publishes("shards.1"))
async def a_consumer_for_each_shard(site: Site) -> None:
    """Their workers have not been started yet."""
    await site.stream("SHARDS")
    for number in range(30):
        await site.consumer("SHARDS", f"shard{number}", filter_subject=f"shards.{number}")


@habit("TAIL", works("TAIL", "new"), works("TAIL", "since"), publishes("tail.x"))
async def consumers_that_start_with_what_is_new(site: Site) -> None:
    await site.stream("TAIL")
    await site.publish("tail.x", 50)
    await site.consumer("TAIL", "new", deliver_policy="new")
    start: dict[str, Any] = {"deliver_policy": "by_start_time", "opt_start_time": "2020-01-01T00:00:00Z"}
    await site.consumer("TAIL", "since", **start)


async def edit(site: Site) -> None:
    """A deployment tool that changes the consumer again and again."""
    number = 0
    while True:
        number += 1
        with contextlib.suppress(*TIMEOUTS):
            await site.consumer("EDITED", "worker", max_ack_pending=100 + number % 5)
        await asyncio.sleep(0.5)


@habit("EDITED", edit, works("EDITED", "worker"), publishes("edited.x"))
async def consumer_whose_settings_change(site: Site) -> None:
    await site.stream("EDITED")
    await site.consumer("EDITED", "worker", max_ack_pending=100)


@habit("INMEMORY", works("INMEMORY", "light"), publishes("inmemory.x"))
async def consumer_with_one_replica_in_memory(site: Site) -> None:
    await site.stream("INMEMORY")
    await site.consumer("INMEMORY", "light", mem_storage=True, num_replicas=1)


@habit(
    "PRIORITIZED",
    pulls("PRIORITIZED", "jobs", group="g", priority=0),
    pulls("PRIORITIZED", "jobs", group="g", priority=5),
    publishes("prioritized.x"),
    since=(2, 12),
)
async def clients_of_different_priority(site: Site) -> None:
    await site.stream("PRIORITIZED")
    await site.consumer("PRIORITIZED", "jobs", priority_policy="prioritized", priority_groups=["g"])


async def poll(site: Site) -> None:
    """A script that takes what there is, once a second."""
    inbox = site.client.new_inbox()
    await site.client.subscribe(inbox, cb=acknowledge)
    while True:
        body = json.dumps({"batch": 100, "no_wait": True}).encode()
        await site.client.publish("$JS.API.CONSUMER.MSG.NEXT.POLLED.script", body, reply=inbox)
        await asyncio.sleep(1)


@habit("POLLED", poll, slowly("polled.x", 0.1))
async def script_that_polls(site: Site) -> None:
    await site.stream("POLLED", retention="workqueue")
    await site.consumer("POLLED", "script")


async def publish_in_bursts(site: Site) -> None:
    while True:
        await asyncio.gather(*(site.client.publish("bursts.x", b"x" * 200) for _ in range(300)))
        await asyncio.sleep(4)


@habit("BURSTS", publish_in_bursts, works("BURSTS", "worker"), works("BURSTS", "worker"))
async def bursts_that_are_worked_off(site: Site) -> None:
    await site.stream("BURSTS", retention="workqueue")
    await site.consumer("BURSTS", "worker")


@habit("UNLIKE", works("UNLIKE", "fast"), acknowledges("UNLIKE", "careful", batch=1), slowly("unlike.x", 0.3))
async def readers_of_different_speed(site: Site) -> None:
    await site.stream("UNLIKE")
    for name in ("fast", "careful"):
        await site.consumer("UNLIKE", name)


@habit("RESETS", works("RESETS", "worker"), publishes("resets.x"))
async def consumer_that_was_made_again(site: Site) -> None:
    """A deployment deletes it and creates it with another start, under the same name."""
    await site.stream("RESETS")
    await site.publish("resets.x", 30)
    await site.consumer("RESETS", "worker")
    await site.api("CONSUMER.DELETE.RESETS.worker")
    await site.consumer("RESETS", "worker", deliver_policy="new")


@habit("LIMITED", works("LIMITED", "small"), publishes("limited.x"))
async def consumer_with_limits_of_requests(site: Site) -> None:
    await site.stream("LIMITED")
    limits: dict[str, Any] = {"max_batch": 100, "max_expires": 60 * SECOND_NS, "max_waiting": 20, "max_bytes": 1 << 20}
    await site.consumer("LIMITED", "small", **limits)


@habit("PATIENT", acknowledges("PATIENT", "worker", rare=b"-NAK", every=50), slowly("patient.x", 0.1))
async def backoff_that_is_longer_than_the_wait(site: Site) -> None:
    """The server takes the first step for the wait."""
    await site.stream("PATIENT", retention="workqueue")
    backoff = [10 * SECOND_NS, 60 * SECOND_NS, 300 * SECOND_NS]
    await site.consumer("PATIENT", "worker", ack_wait=5 * SECOND_NS, backoff=backoff, max_deliver=10)


@habit("ONCE", works("ONCE", "worker"), slowly("once.x", 0.1))
async def one_attempt_for_each_message(site: Site) -> None:
    await site.stream("ONCE")
    # The worker is cancelled at the end of its busy time: the messages in its hands are not to be lost meanwhile.
    await site.consumer("ONCE", "worker", max_deliver=1, ack_wait=HOUR_NS)


@habit("PODS", works("PODS", "pod-7f9c"), publishes("pods.x"))
async def durables_of_pods_that_expire_an_hour_after_the_pod(site: Site) -> None:
    """Three of four pods were replaced a moment ago."""
    await site.stream("PODS")
    for pod in ("7f9c", "1aa0", "1aa1", "1aa2"):
        await site.consumer("PODS", f"pod-{pod}", deliver_policy="new", inactive_threshold=HOUR_NS)


async def work_on_one_for_long(site: Site) -> None:
    """A job takes twenty seconds, and nothing is said meanwhile."""
    subscription = await site.client.jetstream().pull_subscribe_bind("worker", "SERIAL")
    while True:
        with contextlib.suppress(*TIMEOUTS):
            (message,) = await subscription.fetch(1, timeout=1)
            await asyncio.sleep(20)
            await message.ack()


@habit("SERIAL", work_on_one_for_long, slowly("serial.x", 15))
async def one_long_job_after_the_other(site: Site) -> None:
    """`max_ack_pending: 1`, with a wait that is long enough for a job, and jobs that wait their turn."""
    await site.stream("SERIAL", retention="workqueue")
    await site.consumer("SERIAL", "worker", max_ack_pending=1, ack_wait=120 * SECOND_NS)
    await site.publish("serial.x", 5)


async def acknowledge_and_wait(site: Site) -> None:
    subscription = await site.client.jetstream().pull_subscribe_bind("worker", "H_SURE")
    while True:
        with contextlib.suppress(*TIMEOUTS):
            for message in await subscription.fetch(5, timeout=1):
                await message.ack_sync(timeout=5)


@habit("H_SURE", acknowledge_and_wait, publishes("h_sure.x"))
async def acknowledgements_that_are_acknowledged(site: Site) -> None:
    """https://natsbyexample.com/examples/jetstream/ack-ack/go"""
    await site.stream("H_SURE")
    await site.consumer("H_SURE", "worker")


async def take_the_next(site: Site) -> None:
    """An acknowledgement that requests the next message at the same time."""
    inbox = site.client.new_inbox()
    subscription = await site.client.subscribe(inbox)
    request = json.dumps({"batch": 1, "expires": 2 * SECOND_NS}).encode()
    await site.client.publish("$JS.API.CONSUMER.MSG.NEXT.H_NEXT.worker", request, inbox)
    while True:
        try:
            message = await subscription.next_msg(timeout=3)
        except TIMEOUTS:
            message = None
        if message is None or (message.headers or {}).get("Status"):
            await site.client.publish("$JS.API.CONSUMER.MSG.NEXT.H_NEXT.worker", request, inbox)
        else:
            await site.client.publish(message.reply, b'+NXT {"batch": 1, "expires": 2000000000}', inbox)


@habit("H_NEXT", take_the_next, slowly("h_next.x", 0.1))
async def one_after_the_other_by_acknowledgements(site: Site) -> None:
    """https://docs.nats.io/using-nats/developer/develop_jetstream/model_deep_dive: `AckNext`."""
    await site.stream("H_NEXT", retention="workqueue")
    await site.consumer("H_NEXT", "worker")


def consumes(stream: str, consumer: str, pause_s: float = 0.0) -> Work:
    """As current clients consume: one request for 500 messages with heartbeats, and the next when half of it came."""

    async def consume(site: Site) -> None:
        inbox = site.client.new_inbox()
        subscription = await site.client.subscribe(inbox)
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        body = {"batch": 500, "expires": 30 * SECOND_NS, "idle_heartbeat": 5 * SECOND_NS}
        left = 0
        while True:
            if left <= 250:
                await site.client.publish(subject, json.dumps(body).encode(), inbox)
                left = 500
            try:
                message = await subscription.next_msg(timeout=10)
            except TIMEOUTS:
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
async def clients_that_consume_continuously(site: Site) -> None:
    """https://github.com/nats-io/nats.go/blob/main/jetstream/README.md: `Consume` with its defaults."""
    await site.stream("H_CONSUME")
    await site.consumer("H_CONSUME", "service")


async def postpone_some(site: Site) -> None:
    """One in forty has to wait for an hour for what it needs; the others are done at once."""
    subscription = await site.client.jetstream().pull_subscribe_bind("worker", "H_LATER")
    while True:
        with contextlib.suppress(*TIMEOUTS):
            for message in await subscription.fetch(10, timeout=1):
                later = message.metadata.sequence.stream % 40 == 0
                await (message.nak(delay=3600) if later else message.ack())


@habit("H_LATER", postpone_some, slowly("h_later.x", 0.1))
async def some_jobs_are_postponed_for_an_hour(site: Site) -> None:
    """https://docs.nats.io/using-nats/developer/develop_jetstream/consumers: `nak` with a delay; places are left."""
    await site.stream("H_LATER", retention="workqueue")
    await site.consumer("H_LATER", "worker")
    await site.publish("h_later.x", 200)


@habit("H_WIDE", works("H_WIDE", "loader"), publishes("h_wide.x"))
async def no_limit_of_pending_acknowledgements(site: Site) -> None:
    """https://docs.nats.io/nats-concepts/jetstream/consumers: `max_ack_pending: -1` for loaders of large batches."""
    await site.stream("H_WIDE")
    await site.consumer("H_WIDE", "loader", max_ack_pending=-1, max_waiting=16)


@habit("K_INDEX", works("K_INDEX", "bodies"), works("K_INDEX", "headers"))
async def index_of_headers_beside_a_worker(site: Site) -> None:
    await site.stream("K_INDEX", retention="interest")
    await site.consumer("K_INDEX", "bodies")
    await site.consumer("K_INDEX", "headers", headers_only=True)
    await site.publish("k_index.x", 30)
