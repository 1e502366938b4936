"""How healthy applications store: publishers, key-value buckets, object stores and copies, each on its own stream.

As in `habits.py`, the name of a habit begins the names of its streams, and `jsdoctor` must find nothing wrong.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import itertools
import json
from typing import Any

import nats
from nats.aio.msg import Msg

from tests.support.deployment import add_consumer, api
from tests.topologies.habits import SECOND_NS, Furnish, Habits, Place, publishes, works

STREAM_HABITS = Habits()
habit = STREAM_HABITS.habit
_TIMEOUTS = (TimeoutError, nats.errors.TimeoutError)
BUCKET: dict[str, Any] = {"discard": "new", "allow_rollup_hdrs": True, "deny_delete": True, "allow_direct": True}
"""What every client sets on the stream of a key-value bucket."""


def again(work: Furnish, pause_s: float) -> Furnish:
    """Do that for ever."""

    async def for_ever(place: Place) -> None:
        while True:
            with contextlib.suppress(*_TIMEOUTS):
                await work(place)
            await asyncio.sleep(pause_s)

    return for_ever


def stores(subject: str, body: bytes = b"x", pause_s: float = 0.05, headers: dict[str, str] | None = None) -> Furnish:
    """A publisher with headers."""
    return again(lambda place: place.store(subject, body, headers), pause_s)


@habit("TTL", stores("ttl.x", headers={"Nats-TTL": "2s"}), works("TTL", "reader"), since=(2, 11))
async def messages_that_expire_one_by_one(place: Place) -> None:
    await place.stream("TTL", allow_msg_ttl=True)
    await add_consumer(place.client, "TTL", "reader")


@habit("TALLIES", stores("tallies.a.hits", b"", headers={"Nats-Incr": "1"}), since=(2, 12))
async def counters_that_are_added_up(place: Place) -> None:
    """A source of counters, as regions have it."""
    counting: dict[str, Any] = {"allow_msg_counter": True, "allow_direct": True}
    await place.stream("TALLIES", subjects=["tallies.>"], **counting)
    await place.store("tallies.a.hits", b"", {"Nats-Incr": "1"})
    transforms = [{"src": "tallies.a.>", "dest": "total.>"}]
    await place.stream("TALLIESTOTAL", sources=[{"name": "TALLIES", "subject_transforms": transforms}], **counting)


async def commit_a_batch(place: Place) -> None:
    batch = place.client.new_inbox().rsplit(".", 1)[-1]
    for number in range(1, 11):
        headers = {"Nats-Batch-Id": batch, "Nats-Batch-Sequence": str(number)}
        await place.store("committed.x", b"x", headers | ({"Nats-Batch-Commit": "1"} if number == 10 else {}))


@habit("COMMITTED", again(commit_a_batch, 0.1), works("COMMITTED", "reader"), since=(2, 12))
async def atomic_batches_at_work(place: Place) -> None:
    await place.stream("COMMITTED", allow_atomic=True)
    await add_consumer(place.client, "COMMITTED", "reader")


async def schedule(place: Place) -> None:
    """Due in two seconds, on a subject of its own."""
    number = place.client.new_inbox().rsplit(".", 1)[-1]
    due = (dt.datetime.now(dt.UTC) + dt.timedelta(seconds=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
    headers = {"Nats-Schedule": f"@at {due}", "Nats-Schedule-Target": "due.now"}
    await place.store(f"due.later.{number}", b"x", headers)


@habit("DUE", again(schedule, 0.3), works("DUE", "worker"), since=(2, 12))
async def schedules_that_become_due(place: Place) -> None:
    await place.stream("DUE", subjects=["due.>"], allow_msg_schedules=True, allow_msg_ttl=True)
    await add_consumer(place.client, "DUE", "worker", filter_subject="due.now")
    await schedule(place)


@habit("EVERY", works("EVERY", "worker"), since=(2, 14))
async def schedule_that_repeats(place: Place) -> None:
    await place.stream("EVERY", subjects=["every.>"], allow_msg_schedules=True, allow_msg_ttl=True)
    await add_consumer(place.client, "EVERY", "worker", filter_subject="every.tick")
    headers = {"Nats-Schedule": "@every 1s", "Nats-Schedule-Target": "every.tick"}
    await place.store("every.schedule", b"x", headers)


async def lock_and_release(place: Place) -> None:
    """Two clients want one lock: one of them is refused, again and again."""
    for key in ("one", "two"):
        headers = {"Nats-Expected-Last-Subject-Sequence": "0"}
        for _ in range(2):
            await place.client.request(f"$KV.locks.{key}", b"me", timeout=5, headers=headers)
        await place.store(f"$KV.locks.{key}", b"", {"KV-Operation": "PURGE", "Nats-Rollup": "sub"})
        await api(place.client, "STREAM.PURGE.KV_locks", {"filter": f"$KV.locks.{key}"})


@habit("KV_locks", again(lock_and_release, 0.2))
async def locks_that_are_taken_and_refused(place: Place) -> None:
    await place.stream("KV_locks", subjects=["$KV.locks.>"], max_msgs_per_subject=1, **BUCKET)


async def put_and_forget(place: Place) -> None:
    bucket = await place.client.jetstream().key_value("markers")
    for key in range(5):
        await place.store(f"$KV.markers.session{key}", b"x", {"Nats-TTL": "1s"})
    await bucket.put("stays", b"x")


@habit("KV_markers", again(put_and_forget, 0.3), since=(2, 11))
async def key_value_bucket_whose_keys_expire_with_markers(place: Place) -> None:
    markers = {"allow_msg_ttl": True, "subject_delete_marker_ttl": 2 * SECOND_NS}
    await place.stream("KV_markers", subjects=["$KV.markers.>"], max_msgs_per_subject=1, **BUCKET, **markers)
    bucket = await place.client.jetstream().key_value("markers")
    await bucket.watchall()


@habit("KV_origin", stores("$KV.origin.key"))
async def key_value_bucket_with_a_mirror(place: Place) -> None:
    await place.stream("KV_origin", subjects=["$KV.origin.>"], max_msgs_per_subject=3, **BUCKET)
    await place.publish("$KV.origin.key", 5)
    mirror = {"mirror": {"name": "KV_origin"}, "mirror_direct": True, "max_msgs_per_subject": 3}
    await place.stream("KV_origin_near", **mirror, **BUCKET)


async def put_and_delete_a_file(place: Place) -> None:
    bucket = await place.client.jetstream().object_store("uploads")
    await bucket.put("photo.jpg", b"x" * 300_000)
    await bucket.put("note.txt", b"x")
    await bucket.delete("note.txt")


@habit("OBJ_uploads", again(put_and_delete_a_file, 0.3))
async def object_store_that_is_written_to(place: Place) -> None:
    store = {"discard": "new", "allow_rollup_hdrs": True, "allow_direct": True}
    await place.stream("OBJ_uploads", subjects=["$O.uploads.C.>", "$O.uploads.M.>"], **store)


async def get_directly(place: Place) -> None:
    for body in ({"last_by_subj": "direct.3"}, {"seq": 1}, {"seq": 1, "next_by_subj": "direct.>"}):
        await place.client.request("$JS.API.DIRECT.GET.DIRECT", json.dumps(body).encode(), timeout=5)


@habit("DIRECT", again(get_directly, 0.02), stores("direct.3"))
async def direct_gets(place: Place) -> None:
    await place.stream("DIRECT", allow_direct=True)
    for number in range(10):
        await place.publish(f"direct.{number}", 1)


@habit("REPUBLISHED", stores("republished.x"))
async def republished_headers(place: Place) -> None:
    await place.stream("REPUBLISHED", republish={"src": "republished.>", "dest": "note.>", "headers_only": True})


@habit("SUBJECTS", publishes("subjects.a.1"))
async def many_subjects(place: Place) -> None:
    await place.stream("SUBJECTS", max_msgs_per_subject=2, allow_direct=True)
    for start in range(0, 20_000, 500):
        await asyncio.gather(*(place.client.publish(f"subjects.{n % 50}.{n}", b"x") for n in range(start, start + 500)))
        await place.client.flush(30)


async def publish_some_twice(place: Place) -> None:
    """A publisher that lost a reply sends a message again, under its id."""
    batch = place.client.new_inbox().rsplit(".", 1)[-1]
    for number in (*range(20), 3, 7):
        await place.store("ids.x", b"x", {"Nats-Msg-Id": f"{batch}-{number}"})


@habit("IDS", again(publish_some_twice, 0.2), works("IDS", "worker"))
async def ids_of_which_some_repeat(place: Place) -> None:
    await place.stream("IDS", duplicate_window=120 * SECOND_NS)
    await add_consumer(place.client, "IDS", "worker")


async def append_if_nobody_else_did(place: Place) -> None:
    """Two writers of an event store: one of them wins."""
    info = await api(place.client, "STREAM.INFO.EVENTSTORE")
    for _ in range(2):
        headers = {"Nats-Expected-Last-Sequence": str(info["state"]["last_seq"])}
        await place.client.request("eventstore.order", b"x", timeout=5, headers=headers)


@habit("EVENTSTORE", again(append_if_nobody_else_did, 0.1), works("EVENTSTORE", "projection"))
async def optimistic_writers(place: Place) -> None:
    await place.stream("EVENTSTORE")
    await add_consumer(place.client, "EVENTSTORE", "projection")


async def finish_orders(place: Place) -> None:
    """An order's messages go once it is done."""
    for order in range(3):
        await place.publish(f"purged.{order}", 5)
        await api(place.client, "STREAM.PURGE.PURGED", {"filter": f"purged.{order}", "keep": 1})


@habit("PURGED", again(finish_orders, 0.3))
async def subjects_that_are_purged(place: Place) -> None:
    await place.stream("PURGED")


@habit("FANIN", *(stores(f"fanin.{number}") for number in range(4)), works("FANINALL", "reader"))
async def sources_of_many(place: Place) -> None:
    for number in range(4):
        await place.stream(f"FANIN{number}", subjects=[f"fanin.{number}"])
    await place.stream("FANINALL", sources=[{"name": f"FANIN{number}"} for number in range(4)])
    await add_consumer(place.client, "FANINALL", "reader")


@habit("CHAIN", stores("chain.x"))
async def mirror_of_a_mirror(place: Place) -> None:
    await place.stream("CHAIN")
    await place.publish("chain.x", 10)
    await place.stream("CHAINNEAR", mirror={"name": "CHAIN"})
    await place.stream("CHAINFAR", mirror={"name": "CHAINNEAR"})


@habit("TAILRING", publishes("tailring.x"))
async def full_ring_that_is_read_on_request(place: Place) -> None:
    await place.stream("TAILRING", max_msgs=100, discard="old", allow_direct=True)
    await place.publish("tailring.x", 150)


async def order_twice(place: Place) -> None:
    """The second request for a key is refused: that is what the stream is for."""
    key = place.client.new_inbox().rsplit(".", 1)[-1]
    for _ in range(2):
        await place.client.request(f"unique.{key}", b"x", timeout=5)


@habit("UNIQUE", again(order_twice, 0.2), works("UNIQUE", "worker"))
async def one_message_for_each_key(place: Place) -> None:
    await place.stream("UNIQUE", discard="new", discard_new_per_subject=True, max_msgs_per_subject=1)
    await add_consumer(place.client, "UNIQUE", "worker")


@habit("FASTLANE", publishes("fastlane.x"), works("FASTLANE", "reader"))
async def replicated_stream_in_memory(place: Place) -> None:
    await place.stream("FASTLANE", storage="memory", max_bytes=4 << 20)
    await add_consumer(place.client, "FASTLANE", "reader")


@habit("NUMBERED", publishes("numbered.x"), works("NUMBERED", "reader"))
async def stream_that_begins_with_a_high_number(place: Place) -> None:
    await place.stream("NUMBERED", first_seq=1_000_000)
    await place.publish("numbered.x", 10)
    await add_consumer(place.client, "NUMBERED", "reader")


async def edit(place: Place) -> None:
    config = (await api(place.client, "STREAM.INFO.REVISED"))["config"]
    for number in range(3):
        config |= {"description": f"revision {number}", "max_msgs": 100_000 + number}
        await api(place.client, "STREAM.UPDATE.REVISED", config)
        await asyncio.sleep(0.5)


@habit("REVISED", again(edit, 0.1), publishes("revised.x"))
async def stream_whose_settings_change(place: Place) -> None:
    await place.stream("REVISED")


async def back_up(place: Place) -> None:
    """A snapshot of the stream, as `nats stream backup` takes it."""
    inbox = place.client.new_inbox()
    done = asyncio.Event()

    async def receive(message: Msg) -> None:
        if message.data:
            await message.respond(b"")
        else:
            done.set()

    subscription = await place.client.subscribe(inbox, cb=receive)
    await api(place.client, "STREAM.SNAPSHOT.BACKEDUP", {"deliver_subject": inbox, "no_consumers": False})
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(done.wait(), 10)
    await subscription.unsubscribe()


@habit("BACKEDUP", again(back_up, 1), publishes("backedup.x"))
async def stream_that_is_backed_up(place: Place) -> None:
    await place.stream("BACKEDUP")
    await place.publish("backedup.x", 100)
    await add_consumer(place.client, "BACKEDUP", "reader", deliver_policy="new", filter_subject="backedup.y")


@habit("LARGE", stores("large.x", b"x" * 500_000, 0.5), works("LARGE", "reader"))
async def large_messages(place: Place) -> None:
    await place.stream("LARGE", max_msgs=20)
    await add_consumer(place.client, "LARGE", "reader")


@habit("ASYNC", publishes("async.x"), since=(2, 12))
async def stream_that_is_written_later(place: Place) -> None:
    """Servers accept that without replicas only."""
    later = {"persist_mode": "async"} if place.replicas == 1 else {}
    await place.stream("ASYNC", max_age=600 * SECOND_NS, **later)


@habit("HANDED", stores("handed.x"), works("HANDEDQUEUE", "worker"))
async def work_queue_that_sources_from_a_log(place: Place) -> None:
    await place.stream("HANDED")
    await place.stream("HANDEDQUEUE", sources=[{"name": "HANDED"}], retention="workqueue")
    await add_consumer(place.client, "HANDEDQUEUE", "worker")


@habit("BRIEF", publishes("brief.x"))
async def messages_that_live_for_five_seconds(place: Place) -> None:
    """Read directly, by whoever needs the latest ones."""
    await place.stream("BRIEF", max_age=5 * SECOND_NS, duplicate_window=5 * SECOND_NS, allow_direct=True)


@habit("REPLACED", stores("replaced.a", headers={"Nats-Rollup": "sub"}), works("REPLACED", "reader"))
async def newest_state_of_each_subject_by_rollup(place: Place) -> None:
    await place.stream("REPLACED", allow_rollup_hdrs=True)
    await add_consumer(place.client, "REPLACED", "reader")


@habit("DAY", stores("day.7"))
async def a_stream_for_each_day(place: Place) -> None:
    for day in range(1, 8):
        await place.stream(f"DAY{day}", subjects=[f"day.{day}"])
        await place.publish(f"day.{day}", 5)


async def publish_to_all(place: Place) -> None:
    for region, number in itertools.product(("eu", "us"), range(3)):
        await place.store(f"mapped.{region}.{number}", b"x")


@habit("MAPPED", again(publish_to_all, 0.2), works("MAPPED", "reader"))
async def partitions_by_a_transform(place: Place) -> None:
    transform = {"src": "mapped.*.*", "dest": "parts.{{partition(4,1,2)}}.{{wildcard(1)}}.{{wildcard(2)}}"}
    await place.stream("MAPPED", subject_transform=transform)
    await add_consumer(place.client, "MAPPED", "reader")


BRIDGES = Habits()
"""The two sides of a bridge between accounts."""


@BRIDGES.habit("BRIDGED", stores("bridged.x"))
async def stream_that_another_account_copies(place: Place) -> None:
    await place.stream("BRIDGED")
    await place.publish("bridged.x", 20)


@BRIDGES.habit("BRIDGECOPY", works("BRIDGECOPY", "reader"))
async def copy_of_a_stream_of_another_account(place: Place) -> None:
    external = {"api": "JS.APP.API", "deliver": "bridge.shop"}
    await place.stream("BRIDGECOPY", sources=[{"name": "BRIDGED", "external": external}])
    await add_consumer(place.client, "BRIDGECOPY", "reader")
