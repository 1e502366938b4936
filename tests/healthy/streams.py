"""Healthy streams: limits, retention, removals, and writers of all kinds."""

import asyncio
import contextlib
import datetime as dt
import json
from typing import Any

import nats
from nats.aio.msg import Msg
from nats.js.api import ConsumerConfig
from nats.js.errors import NotFoundError, ServiceUnavailableError

from tests.healthy.frame import habit
from tests.support.applications import again, publishes, stores, works
from tests.support.deployment import HOUR_NS
from tests.support.site import SECOND_NS, Site


@habit("PERKEY", publishes("perkey.a"))
async def newest_message_of_each_subject(site: Site) -> None:
    await site.stream("PERKEY", max_msgs_per_subject=1)
    for key in range(30):
        await site.publish(f"perkey.{key}", 2)


@habit("RING", publishes("ring.x"), works("RING", "reader"))
async def ring_with_a_reader_that_keeps_up(site: Site) -> None:
    await site.stream("RING", max_msgs=200, discard="old")
    await site.consumer("RING", "reader")
    await site.publish("ring.x", 100)


@habit("PACKED")
async def compressed_stream(site: Site) -> None:
    await site.stream("PACKED", compression="s2")
    await site.publish("packed.x", 50)


@habit("CACHE", publishes("cache.x"))
async def cache_in_memory(site: Site) -> None:
    await site.stream("CACHE", storage="memory", num_replicas=1, max_age=60 * SECOND_NS, max_bytes=4 << 20)
    await site.publish("cache.x", 50)


@habit("SEALED")
async def archive_that_is_sealed(site: Site) -> None:
    await site.stream("SEALED")
    await site.publish("sealed.x", 10)
    info = await site.api("STREAM.INFO.SEALED")
    await site.api("STREAM.UPDATE.SEALED", {**info["config"], "sealed": True})


async def make_and_delete_streams(site: Site) -> None:
    """Streams of jobs that are made, filled, read by a consumer and deleted, all the time."""
    number = 0
    while True:
        number += 1
        name = f"JOBS{number}"
        with contextlib.suppress(TimeoutError, nats.errors.TimeoutError, AssertionError):
            await site.stream(name)
            await site.consumer(name, "worker")
            await site.publish(name.lower(), 5)
            await asyncio.sleep(0.5)
            await site.api(f"STREAM.DELETE.{name}")
        await asyncio.sleep(0.2)


@habit("JOBS", make_and_delete_streams)
async def streams_that_come_and_go(site: Site) -> None:
    """Besides one that stays."""
    await site.stream("JOBS")


@habit("SCALED")
async def stream_that_was_scaled(site: Site) -> None:
    """From one replica to as many as there are, or from three to one and back."""
    await site.stream("SCALED", num_replicas=1)
    await site.publish("scaled.x", 20)
    info = await site.api("STREAM.INFO.SCALED")
    await site.api("STREAM.UPDATE.SCALED", {**info["config"], "num_replicas": site.replicas})


async def roll_up(site: Site) -> None:
    """Each message replaces everything before it."""
    while True:
        with contextlib.suppress(TimeoutError, nats.errors.TimeoutError):
            await site.publish("snapshots.x", 1, headers={"Nats-Rollup": "all"})
        await asyncio.sleep(0.1)


@habit("SNAPSHOTS", roll_up, works("SNAPSHOTS", "reader"))
async def snapshots_that_replace_all_before_them(site: Site) -> None:
    await site.stream("SNAPSHOTS", allow_rollup_hdrs=True)
    await site.consumer("SNAPSHOTS", "reader")


async def delete_what_was_stored(site: Site) -> None:
    """Single messages are erased, as data protection requires, before and after they are read."""
    while True:
        await site.publish("erased.x", 3)
        state = (await site.api("STREAM.INFO.ERASED"))["state"]
        with contextlib.suppress(AssertionError):
            await site.api("STREAM.MSG.DELETE.ERASED", {"seq": state["last_seq"] - 1})
        await asyncio.sleep(0.2)


@habit("ERASED", delete_what_was_stored, works("ERASED", "reader"))
async def messages_that_are_deleted_one_by_one(site: Site) -> None:
    await site.stream("ERASED", max_msgs=100)
    await site.consumer("ERASED", "reader")


@habit("TTL", stores("ttl.x", headers={"Nats-TTL": "2s"}), works("TTL", "reader"), since=(2, 11))
async def messages_that_expire_one_by_one(site: Site) -> None:
    await site.stream("TTL", allow_msg_ttl=True)
    await site.consumer("TTL", "reader")


async def commit_a_batch(site: Site) -> None:
    batch = site.client.new_inbox().rsplit(".", 1)[-1]
    for number in range(1, 11):
        headers = {"Nats-Batch-Id": batch, "Nats-Batch-Sequence": str(number)}
        await site.store("committed.x", b"x", headers | ({"Nats-Batch-Commit": "1"} if number == 10 else {}))


@habit("COMMITTED", again(commit_a_batch, 0.1), works("COMMITTED", "reader"), since=(2, 12))
async def atomic_batches_at_work(site: Site) -> None:
    await site.stream("COMMITTED", allow_atomic=True)
    await site.consumer("COMMITTED", "reader")


async def schedule(site: Site) -> None:
    """Due in two seconds, on a subject of its own."""
    number = site.client.new_inbox().rsplit(".", 1)[-1]
    due = (dt.datetime.now(dt.UTC) + dt.timedelta(seconds=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
    headers = {"Nats-Schedule": f"@at {due}", "Nats-Schedule-Target": "due.now"}
    await site.store(f"due.later.{number}", b"x", headers)


@habit("DUE", again(schedule, 0.3), works("DUE", "worker"), since=(2, 12))
async def schedules_that_become_due(site: Site) -> None:
    await site.stream("DUE", subjects=["due.>"], allow_msg_schedules=True, allow_msg_ttl=True)
    await site.consumer("DUE", "worker", filter_subject="due.now")
    await schedule(site)


async def get_directly(site: Site) -> None:
    for body in ({"last_by_subj": "direct.3"}, {"seq": 1}, {"seq": 1, "next_by_subj": "direct.>"}):
        await site.client.request("$JS.API.DIRECT.GET.DIRECT", json.dumps(body).encode(), timeout=5)


@habit("DIRECT", again(get_directly, 0.02), stores("direct.3"))
async def direct_gets(site: Site) -> None:
    await site.stream("DIRECT", allow_direct=True)
    for number in range(10):
        await site.publish(f"direct.{number}", 1)


@habit("SUBJECTS", publishes("subjects.a.1"))
async def many_subjects(site: Site) -> None:
    await site.stream("SUBJECTS", max_msgs_per_subject=2, allow_direct=True)
    for start in range(0, 20_000, 500):
        await asyncio.gather(*(site.client.publish(f"subjects.{n % 50}.{n}", b"x") for n in range(start, start + 500)))
        await site.client.flush(30)


async def append_if_nobody_else_did(site: Site) -> None:
    """Two writers of an event store: one of them wins."""
    info = await site.api("STREAM.INFO.EVENTSTORE")
    for _ in range(2):
        headers = {"Nats-Expected-Last-Sequence": str(info["state"]["last_seq"])}
        await site.client.request("eventstore.order", b"x", timeout=5, headers=headers)


@habit("EVENTSTORE", again(append_if_nobody_else_did, 0.1), works("EVENTSTORE", "projection"))
async def optimistic_writers(site: Site) -> None:
    await site.stream("EVENTSTORE")
    await site.consumer("EVENTSTORE", "projection")


async def finish_orders(site: Site) -> None:
    """An order's messages go once it is done."""
    for order in range(3):
        await site.publish(f"purged.{order}", 5)
        await site.api("STREAM.PURGE.PURGED", {"filter": f"purged.{order}", "keep": 1})


@habit("PURGED", again(finish_orders, 0.3))
async def subjects_that_are_purged(site: Site) -> None:
    await site.stream("PURGED")


@habit("TAILRING", publishes("tailring.x"))
async def full_ring_that_is_read_on_request(site: Site) -> None:
    await site.stream("TAILRING", max_msgs=100, discard="old", allow_direct=True)
    await site.publish("tailring.x", 150)


@habit("FASTLANE", publishes("fastlane.x"), works("FASTLANE", "reader"))
async def replicated_stream_in_memory(site: Site) -> None:
    await site.stream("FASTLANE", storage="memory", max_bytes=4 << 20)
    await site.consumer("FASTLANE", "reader")


@habit("NUMBERED", publishes("numbered.x"), works("NUMBERED", "reader"))
async def stream_that_begins_with_a_high_number(site: Site) -> None:
    await site.stream("NUMBERED", first_seq=1_000_000)
    await site.publish("numbered.x", 10)
    await site.consumer("NUMBERED", "reader")


async def edit(site: Site) -> None:
    config = (await site.api("STREAM.INFO.REVISED"))["config"]
    for number in range(3):
        config |= {"description": f"revision {number}", "max_msgs": 100_000 + number}
        await site.api("STREAM.UPDATE.REVISED", config)
        await asyncio.sleep(0.5)


@habit("REVISED", again(edit, 0.1), publishes("revised.x"))
async def stream_whose_settings_change(site: Site) -> None:
    await site.stream("REVISED")


async def back_up(site: Site) -> None:
    """A snapshot of the stream, as `nats stream backup` takes it."""
    inbox = site.client.new_inbox()
    done = asyncio.Event()

    async def receive(message: Msg) -> None:
        if message.data:
            await message.respond(b"")
        else:
            done.set()

    subscription = await site.client.subscribe(inbox, cb=receive)
    await site.api("STREAM.SNAPSHOT.BACKEDUP", {"deliver_subject": inbox, "no_consumers": False})
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(done.wait(), 10)
    await subscription.unsubscribe()


@habit("BACKEDUP", again(back_up, 1), publishes("backedup.x"))
async def stream_that_is_backed_up(site: Site) -> None:
    await site.stream("BACKEDUP")
    await site.publish("backedup.x", 100)
    await site.consumer("BACKEDUP", "reader", deliver_policy="new", filter_subject="backedup.y")


@habit("LARGE", stores("large.x", b"x" * 500_000, 0.5), works("LARGE", "reader"))
async def large_messages(site: Site) -> None:
    await site.stream("LARGE", max_msgs=20)
    await site.consumer("LARGE", "reader")


@habit("ASYNC", publishes("async.x"), since=(2, 12))
async def stream_that_is_written_later(site: Site) -> None:
    """Servers accept that without replicas only."""
    later = {"persist_mode": "async"} if site.replicas == 1 else {}
    await site.stream("ASYNC", max_age=600 * SECOND_NS, **later)


@habit("BRIEF", publishes("brief.x"))
async def messages_that_live_for_five_seconds(site: Site) -> None:
    """Read directly, by whoever needs the latest ones."""
    await site.stream("BRIEF", max_age=5 * SECOND_NS, duplicate_window=5 * SECOND_NS, allow_direct=True)


@habit("REPLACED", stores("replaced.a", headers={"Nats-Rollup": "sub"}), works("REPLACED", "reader"))
async def newest_state_of_each_subject_by_rollup(site: Site) -> None:
    await site.stream("REPLACED", allow_rollup_hdrs=True)
    await site.consumer("REPLACED", "reader")


@habit("DAY", stores("day.7"))
async def a_stream_for_each_day(site: Site) -> None:
    for day in range(1, 8):
        await site.stream(f"DAY{day}", subjects=[f"day.{day}"])
        await site.publish(f"day.{day}", 5)


DAY_NS = 24 * HOUR_NS


@habit("AUDIT", publishes("audit.login"))
async def record_that_nobody_may_change(site: Site) -> None:
    """Nothing is deleted or purged for a year, and nobody reads it but auditors."""
    await site.stream("AUDIT", max_age=365 * DAY_NS, deny_delete=True, deny_purge=True, allow_direct=True)


@habit("BACKPRESSURE", stores("backpressure.x"), works("BACKPRESSURE", "worker"))
async def work_queue_that_refuses_when_it_is_full(site: Site) -> None:
    await site.stream("BACKPRESSURE", retention="workqueue", discard="new", max_msgs=5000, max_age=DAY_NS)
    await site.consumer("BACKPRESSURE", "worker", max_ack_pending=50)


@habit("INGEST", publishes("ingest.x"), works("INGEST", "loader"), since=(2, 14))
async def stream_that_takes_batches(site: Site) -> None:
    await site.stream("INGEST", allow_batched=True, allow_atomic=True, allow_msg_ttl=True, compression="s2")
    await site.consumer("INGEST", "loader", max_ack_pending=5000)


async def request_a_job(site: Site) -> None:
    """Asked for twice, of which the second is refused while the first waits."""
    for _ in range(2):
        await site.client.request("pendingjobs.rebuild", b"x", timeout=5)


@habit("PENDINGJOBS", again(request_a_job, 0.3), works("PENDINGJOBS", "worker"))
async def work_queue_with_one_job_for_each_name(site: Site) -> None:
    own: dict[str, Any] = {"discard": "new", "max_msgs_per_subject": 1, "discard_new_per_subject": True}
    await site.stream("PENDINGJOBS", retention="workqueue", **own)
    await site.consumer("PENDINGJOBS", "worker")


async def expect_the_last_id(site: Site) -> None:
    """Names in each message the id of the one before it."""
    info = await site.api("STREAM.INFO.LINKED")
    await site.store("linked.x", b"x", {"Nats-Expected-Last-Sequence": str(info["state"]["last_seq"])})


@habit("LINKED", again(expect_the_last_id, 0.2), works("LINKED", "reader"))
async def single_writer_that_expects_its_last_message(site: Site) -> None:
    await site.stream("LINKED", max_msgs=50_000, discard="new")
    await site.consumer("LINKED", "reader", ack_policy="explicit", max_waiting=8)


async def start_over(site: Site) -> None:
    """A run of tests, or an import that begins again: everything is purged."""
    await site.publish("wiped.x", 30)
    await site.api("STREAM.PURGE.WIPED")


@habit("WIPED", again(start_over, 1), works("WIPED", "reader"))
async def stream_that_is_purged_while_it_is_read(site: Site) -> None:
    await site.stream("WIPED")
    await site.consumer("WIPED", "reader")


@habit("CURRENT", stores("current.x"), works("CURRENT", "display"))
async def stream_of_one_message(site: Site) -> None:
    """The current state and nothing else; a display takes what it can get."""
    await site.stream("CURRENT", max_msgs=1, discard="old", allow_direct=True)
    await site.consumer("CURRENT", "display", deliver_policy="last", ack_policy="none")


@habit("TRIMMED", stores("trimmed.x"), works("TRIMMED", "late"))
async def consumer_that_starts_at_what_is_gone(site: Site) -> None:
    """From the first message, most of which were removed before it was created."""
    await site.stream("TRIMMED", max_msgs=5000)
    await site.publish("trimmed.x", 60)
    await site.api("STREAM.PURGE.TRIMMED", {"keep": 20})
    await site.consumer("TRIMMED", "late", deliver_policy="by_start_sequence", opt_start_seq=1)


@habit("K_ARCHIVE")
async def archive_that_keeps_for_longer_and_window_that_keeps_less(site: Site) -> None:
    await site.stream("K_ARCHIVE", max_age=HOUR_NS)
    await site.publish("k_archive.x", 30)
    await site.stream("K_ARCHIVEALL", mirror={"name": "K_ARCHIVE"}, max_age=0)
    await site.stream("K_ARCHIVEWINDOW", mirror={"name": "K_ARCHIVE"}, max_msgs=10)


@habit("K_SWITCH")
async def locks_that_are_taken_once(site: Site) -> None:
    """Each subject takes one message, and a few streams some."""
    await site.stream("K_SWITCH", discard="new", discard_new_per_subject=True, max_msgs_per_subject=1)
    await site.stream("K_SWITCHES", discard="new", discard_new_per_subject=True, max_msgs_per_subject=5)
    for number in range(5):
        await site.publish(f"k_switch.{number}", 1)
        await site.publish(f"k_switches.{number}", number + 1)


@habit("K_LATEST", stores("k_latest.main"), stores("k_latest.fix"), works("K_LATEST", "builder"))
async def queue_that_keeps_the_newest_request_of_each_branch(site: Site) -> None:
    """A request to build a branch takes the place of the one before, done or not."""
    await site.stream("K_LATEST", retention="workqueue", max_msgs_per_subject=1)
    await site.consumer("K_LATEST", "builder")


@habit("K_MEMORY", works("K_MEMORY", "reader"))
async def queue_in_memory_and_cache_without_readers(site: Site) -> None:
    own = {"storage": "memory", "num_replicas": 1, "max_bytes": 1 << 20, "max_msg_size": 1000}
    await site.stream("K_MEMORY", retention="workqueue", **own)
    await site.consumer("K_MEMORY", "reader")
    await site.stream("K_MEMORYCACHE", **own)
    await site.publish("k_memory.x", 10)
    await site.publish("k_memorycache.x", 10)


@habit("H_ADVISORIES")
async def archive_of_advisories(site: Site) -> None:
    """https://docs.nats.io/running-a-nats-service/nats_admin/monitoring/monitoring_jetstream: for audits, in memory."""
    subjects = ["$JS.EVENT.ADVISORY.>"]
    await site.stream("H_ADVISORIES", subjects=subjects, storage="memory", max_msgs=10_000, max_bytes=8 << 20)


async def churn(site: Site) -> None:
    """Consumers that are made, read once and deleted, all the time."""
    while True:
        config = ConsumerConfig(inactive_threshold=5.0)  # nats-py gives it a name
        # On a slow machine the server deletes it first, or has no meta leader for a moment.
        with contextlib.suppress(NotFoundError, nats.errors.TimeoutError, ServiceUnavailableError, AssertionError):
            subscription = await site.client.jetstream().pull_subscribe("churn.>", stream="CHURN", config=config)
            await subscription.fetch(1, timeout=1)
            await site.api(f"CONSUMER.DELETE.CHURN.{config.name}")
        await asyncio.sleep(0.05)


@habit("CHURN", churn)
async def consumers_that_come_and_go(site: Site) -> None:
    await site.stream("CHURN")
    await site.publish("churn.x", 20)
