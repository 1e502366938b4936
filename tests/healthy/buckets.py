"""Healthy key-value buckets and object stores."""

import asyncio
import contextlib
import itertools
import json
from typing import Any

from tests.healthy.frame import habit
from tests.support.applications import TIMEOUTS, again, publishes, stores
from tests.support.deployment import HOUR_NS
from tests.support.site import SECOND_NS, Site


@habit("KV_plain", publishes("$KV.plain.key"))
async def key_value_bucket(site: Site) -> None:
    """History 1, as `nats kv add` makes it, and a watcher of all keys."""
    await site.bucket("plain")
    await site.publish("$KV.plain.key", 5)
    bucket = await site.client.jetstream().key_value("plain")
    await bucket.watchall()


@habit("KV_expiring", since=(2, 11))
async def key_value_bucket_with_expiry_and_markers(site: Site) -> None:
    await site.bucket(
        "expiring", history=5, max_age=HOUR_NS, allow_msg_ttl=True, subject_delete_marker_ttl=60 * SECOND_NS
    )
    await site.publish("$KV.expiring.key", 5, headers={"Nats-TTL": "30s"})


@habit("OBJ_files")
async def object_store_with_large_chunks(site: Site) -> None:
    await site.stream(
        "OBJ_files", subjects=["$O.files.C.>", "$O.files.M.>"], discard="new", allow_rollup_hdrs=True, allow_direct=True
    )
    bucket = await site.client.jetstream().object_store("files")
    await bucket.put("report.pdf", b"x" * 600_000)


@habit("KV_history", publishes("$KV.history.key1"))
async def key_value_bucket_with_history_deletions_and_watchers(site: Site) -> None:
    await site.bucket("history", history=10)
    bucket = await site.client.jetstream().key_value("history")
    for key in range(30):
        await bucket.put(f"key{key}", b"x")
        await bucket.put(f"key{key}", b"y")
    await bucket.delete("key2")
    await bucket.purge("key3")
    for _ in range(3):
        await bucket.watchall()


async def watch_and_leave(site: Site) -> None:
    """Pages that are opened and closed: each watches the keys for two seconds."""
    bucket = await site.client.jetstream().key_value("watched")
    while True:
        with contextlib.suppress(*TIMEOUTS):
            watcher = await bucket.watchall()
            await bucket.put("clicks", b"x")
            await asyncio.sleep(2)
            await watcher.stop()  # type: ignore[no-untyped-call]


@habit("KV_watched", watch_and_leave)
async def key_value_watchers_that_come_and_go(site: Site) -> None:
    await site.bucket("watched")
    await site.publish("$KV.watched.name", 3)


BUCKET: dict[str, Any] = {"discard": "new", "allow_rollup_hdrs": True, "deny_delete": True, "allow_direct": True}
"""What every client sets on the stream of a key-value bucket."""


async def lock_and_release(site: Site) -> None:
    """Two clients want one lock: one of them is refused, again and again."""
    for key in ("one", "two"):
        headers = {"Nats-Expected-Last-Subject-Sequence": "0"}
        for _ in range(2):
            await site.client.request(f"$KV.locks.{key}", b"me", timeout=5, headers=headers)
        await site.store(f"$KV.locks.{key}", b"", {"KV-Operation": "PURGE", "Nats-Rollup": "sub"})
        await site.api("STREAM.PURGE.KV_locks", {"filter": f"$KV.locks.{key}"})


@habit("KV_locks", again(lock_and_release, 0.2))
async def locks_that_are_taken_and_refused(site: Site) -> None:
    await site.stream("KV_locks", subjects=["$KV.locks.>"], max_msgs_per_subject=1, **BUCKET)


async def put_and_forget(site: Site) -> None:
    bucket = await site.client.jetstream().key_value("markers")
    for key in range(5):
        await site.store(f"$KV.markers.session{key}", b"x", {"Nats-TTL": "1s"})
    await bucket.put("stays", b"x")


@habit("KV_markers", again(put_and_forget, 0.3), since=(2, 11))
async def key_value_bucket_whose_keys_expire_with_markers(site: Site) -> None:
    markers = {"allow_msg_ttl": True, "subject_delete_marker_ttl": 2 * SECOND_NS}
    await site.stream("KV_markers", subjects=["$KV.markers.>"], max_msgs_per_subject=1, **BUCKET, **markers)
    bucket = await site.client.jetstream().key_value("markers")
    await bucket.watchall()


async def put_and_delete_a_file(site: Site) -> None:
    bucket = await site.client.jetstream().object_store("uploads")
    await bucket.put("photo.jpg", b"x" * 300_000)
    await bucket.put("note.txt", b"x")
    await bucket.delete("note.txt")


@habit("OBJ_uploads", again(put_and_delete_a_file, 0.3))
async def object_store_that_is_written_to(site: Site) -> None:
    store = {"discard": "new", "allow_rollup_hdrs": True, "allow_direct": True}
    await site.stream("OBJ_uploads", subjects=["$O.uploads.C.>", "$O.uploads.M.>"], **store)


@habit("KV_region_eu", stores("$KV.region_eu.a"), stores("$KV.region_us.b"))
async def bucket_that_collects_others(site: Site) -> None:
    """As clients create a bucket with sources: each with a transform of its keys."""
    for region in ("eu", "us"):
        await site.bucket(f"region_{region}")
        await site.publish(f"$KV.region_{region}.name", 3)
    sources = [
        {
            "name": f"KV_region_{region}",
            "subject_transforms": [{"src": f"$KV.region_{region}.>", "dest": f"$KV.region_all.{region}.>"}],
        }
        for region in ("eu", "us")
    ]
    await site.bucket("region_all", sources=sources)


async def log_in(site: Site) -> None:
    for number in range(3):
        await site.store(f"$KV.logins.user{number}", b"token")


@habit("KV_logins", again(log_in, 0.5))
async def bucket_whose_keys_expire_after_a_minute(site: Site) -> None:
    """https://docs.nats.io/nats-concepts/jetstream/key-value-store: `nats kv add logins --ttl=1m`."""
    await site.bucket("logins", max_age=60 * SECOND_NS, duplicate_window=60 * SECOND_NS)


async def change_an_object(site: Site) -> None:
    """Compare and set, and a deletion."""
    subject = "$KV.kine.registry.pods.web"
    last_message = await site.client.request(
        "$JS.API.DIRECT.GET.KV_kine", json.dumps({"last_by_subj": subject}).encode(), timeout=5
    )
    sequence = (last_message.headers or {}).get("Nats-Sequence", "0")
    for _ in range(2):
        await site.client.request(subject, b"x", timeout=5, headers={"Nats-Expected-Last-Subject-Sequence": sequence})
    await site.store("$KV.kine.registry.leases.node", b"", {"KV-Operation": "DEL"})


@habit("KV_kine", again(change_an_object, 0.2), stores("$KV.kine.registry.leases.node"))
async def store_of_a_kubernetes(site: Site) -> None:
    """https://github.com/k3s-io/kine: a bucket with ten revisions, writers that compare, and watchers."""
    await site.bucket("kine", 10, max_age=0, max_bytes=-1)
    for number in range(200):
        await site.store(f"$KV.kine.registry.pods.{number}", b"x" * 500)
    bucket = await site.client.jetstream().key_value("kine")
    for _ in range(4):
        await bucket.watch("registry.>")


DAY_NS = 24 * HOUR_NS


@habit("OBJ_shelf")
async def object_store_with_links_and_expiry(site: Site) -> None:
    """A link to an object, and one to a bucket, as clients store them."""
    files = {"allow_rollup_hdrs": True, "allow_direct": True, "discard": "new", "max_age": 7 * DAY_NS}
    for name in ("shelf", "shelf_other"):
        await site.stream(f"OBJ_{name}", subjects=[f"$O.{name}.C.>", f"$O.{name}.M.>"], **files)
    other = await site.client.jetstream().object_store("shelf_other")
    await other.put("report.pdf", b"x" * 200_000)
    for key, link in (
        ("bGluaw==", {"bucket": "shelf_other", "name": "report.pdf"}),
        ("YWxs", {"bucket": "shelf_other"}),
    ):
        meta = {"name": "link", "options": {"link": link}, "bucket": "shelf", "nuid": key, "size": 0, "chunks": 0}
        await site.store(f"$O.shelf.M.{key}", json.dumps(meta).encode(), {"Nats-Rollup": "sub"})


@habit("KV_shared", stores("$KV.shared.key"))
async def bucket_with_limits_and_a_copy_that_serves_reads(site: Site) -> None:
    """A replicated bucket with values of at most a kilobyte, and a mirror that answers direct gets."""
    await site.bucket("shared", 5, max_msg_size=1024, compression="s2", republish={"src": ">", "dest": "changes.>"})
    await site.publish("$KV.shared.key", 5)
    mirror = {"mirror": {"name": "KV_shared"}, "mirror_direct": True, "max_msgs_per_subject": 5}
    await site.stream("KV_shared_near", **{**BUCKET, **mirror, "storage": "memory", "max_bytes": 8 << 20})


async def replace_an_object(site: Site) -> None:
    bucket = await site.client.jetstream().object_store("h_watched")
    await bucket.put("report", b"x" * 300_000)


async def watch_objects(site: Site) -> None:
    bucket = await site.client.jetstream().object_store("h_watched")
    await bucket.watch()
    await asyncio.sleep(3600)


@habit("OBJ_h_watched", watch_objects, again(replace_an_object, 0.5))
async def object_that_is_replaced_while_others_watch(site: Site) -> None:
    """https://natsbyexample.com/examples/os/intro/go"""
    files: dict[str, Any] = {"allow_rollup_hdrs": True, "allow_direct": True, "discard": "new"}
    subjects = ["$O.h_watched.C.>", "$O.h_watched.M.>"]
    await site.stream("OBJ_h_watched", subjects=subjects, **files)


@habit("KV_k_edited", stores("$KV.k_edited.key"))
async def bucket_that_a_resource_definition_declares_in_full(site: Site) -> None:
    """As a stream, with all settings of a bucket, and one that is older than the policy of discarding nothing."""
    await site.bucket("k_edited", history=3)
    await site.bucket("k_older", discard="old")
    await site.publish("$KV.k_older.key", 3)


_NUMBERS = itertools.count()


async def export(site: Site) -> None:
    bucket = await site.client.jetstream().object_store("n_exports")
    await bucket.put(f"export-{next(_NUMBERS)}", b"x" * 200_000)


@habit("OBJ_n_exports", again(export, 1))
async def files_that_expire(site: Site) -> None:
    """https://docs.nats.io/nats-concepts/jetstream/obj_store: a bucket with a time to live, for downloads."""
    files: dict[str, Any] = {"allow_rollup_hdrs": True, "allow_direct": True, "discard": "new"}
    subjects = ["$O.n_exports.C.>", "$O.n_exports.M.>"]
    await site.stream("OBJ_n_exports", subjects=subjects, max_age=20 * SECOND_NS, duplicate_window=0, **files)
