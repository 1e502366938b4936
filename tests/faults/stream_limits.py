"""Faults of streams: limits, retention, replicas, copies, buckets, thresholds in their metadata."""

import asyncio
import contextlib
import itertools
import time
from datetime import UTC, datetime
from typing import Any

import nats
from nats.aio.client import Client
from nats.errors import Error, NoRespondersError

from tests.clients.mqtt import mqtt_session
from tests.faults.planting import fault
from tests.servers.deployments import (
    HUB,
    THREE,
    Application,
    cluster,
    do,
    formed,
    furnished,
    goes_on,
    hub,
    published,
    single,
    sites,
    stored,
    until,
)
from tests.servers.landscape import ACCOUNTS, Landscape, leaf_remotes, routed, server
from tests.support.applications import fetches, publishes, pulls, take
from tests.support.deployment import HOUR_NS, api
from tests.support.site import BOUNDED, SECOND_NS, Site, Work
from tests.support.stopped_mirror import add_stopped_mirror
from tests.support.stored import store, store_again


@fault("JSD601", "APP/P601", severity="warning", cure=lambda site: site.update("P601", max_msgs=1000))
async def no_limit(site: Site) -> None:
    await site.stream("P601", subjects=["p601"], max_age=0, max_bytes=-1)
    await site.publish("p601", 3)


@fault("JSD602", "APP/P602", severity="error", cure=lambda site: site.update("P602", max_msgs=40))
async def nearly_full(site: Site) -> None:
    """Nineteen of twenty, and the twenty-first would be refused."""
    await site.stream("P602", subjects=["p602"], max_msgs=20, discard="new")
    await site.publish("p602", 19)


@fault(
    "JSD602",
    "APP/P602_WORK",
    severity="error",
    also={"JSD206"},
    cure=lambda site: site.fetch("P602_WORK", "worker", 10),
)
async def work_about_to_be_deleted(site: Site) -> None:
    """A full work queue with the default discard policy: unprocessed work goes."""
    await site.stream("P602_WORK", subjects=["p602.work"], max_msgs=10, retention="workqueue")
    await site.consumer("P602_WORK", "worker")
    await site.publish("p602.work", 12)


@fault("JSD603", "APP/P603", severity="error", cure=lambda site: site.api("STREAM.PURGE.P603"))
async def full(site: Site) -> None:
    await site.stream("P603", subjects=["p603"], max_msgs=5, discard="new")
    await site.publish("p603", 5)
    await site.publish("p603", 1, refusable=True)  # refused, and nobody but the publisher is told


@fault("JSD603", "APP/P603_BYTES", severity="error", cure=lambda site: site.update("P603_BYTES", max_bytes=20_000))
async def full_of_bytes(site: Site) -> None:
    await site.stream("P603_BYTES", subjects=["p603.bytes"], max_bytes=10_000, discard="new")
    await site.publish("p603.bytes", 12, size=1000, refusable=True)


async def keep_publishing(site: Site, subject: str, size: int = 64) -> None:
    """A publisher that goes on while the check looks."""
    while not site.stopping:
        await site.publish(subject, 1, size)
        await asyncio.sleep(0.05)


@fault("JSD604", "APP/P604", severity="error", cure=lambda site: site.consumer("P604", "reader"))
async def nobody_interested(site: Site) -> None:
    """Everything is acknowledged and dropped."""
    await site.stream("P604", subjects=["p604"], retention="interest")
    site.background(keep_publishing(site, "p604"))


@fault("JSD604", "APP/P604_LEFT", severity="error", cure=lambda site: site.api("STREAM.PURGE.P604_LEFT"))
async def deliveries_used_up(site: Site) -> None:
    """One delivery each, no acknowledgement: the messages stay in the queue for ever."""
    await site.stream("P604_LEFT", subjects=["p604.left"], retention="workqueue")
    await site.consumer("P604_LEFT", "worker", max_deliver=1, ack_wait=300_000_000)
    await site.publish("p604.left", 4)
    await site.fetch("P604_LEFT", "worker", 4, ack=False)
    await asyncio.sleep(1)
    await site.fetch("P604_LEFT", "worker", 1, ack=False)  # makes the consumer notice that their time is up


@fault(
    "JSD604",
    "APP/P604_GAP",
    severity="warning",
    cure=lambda site: site.consumer("P604_GAP", "extra", filter_subject="p604.extra"),
)
async def subject_nobody_takes(site: Site) -> None:
    await site.stream("P604_GAP", subjects=["p604.gap.>", "p604.extra"], retention="workqueue")
    await site.consumer("P604_GAP", "worker", filter_subject="p604.gap.>")


@fault(
    "JSD604",
    "APP/P604_COPIED",
    severity="warning",
    before=(2, 14),
    cure=lambda site: site.api("STREAM.DELETE.P604_MIRROR"),
)
async def queue_read_by_a_mirror(site: Site) -> None:
    """From 2.14 on the mirror reads through a consumer that acknowledges: no trap any more."""
    await site.stream("P604_COPIED", subjects=["p604.copied"], retention="workqueue")
    await site.consumer("P604_COPIED", "worker")
    await site.stream("P604_MIRROR", mirror={"name": "P604_COPIED"})


@fault(
    "JSD605",
    "APP/P605",
    severity="warning",
    topologies=("three-nodes",),
    cure=lambda site: site.update("P605", num_replicas=3),
)
async def one_replica(site: Site) -> None:
    """A single server has no choice: this needs a cluster."""
    await site.stream("P605", subjects=["p605"], num_replicas=1)


@fault(
    "JSD605",
    "APP/P605_EVEN",
    severity="warning",
    topologies=("three-nodes",),
    cure=lambda site: site.update("P605_EVEN", num_replicas=3),
)
async def two_replicas(site: Site) -> None:
    await site.stream("P605_EVEN", subjects=["p605.even"], num_replicas=2)


@fault("JSD608", "APP/P608", severity="critical", cure=lambda site: site.publish("p608", 1))
async def too_few_messages(site: Site) -> None:
    wish = {"io.nats.monitor.enabled": "true", "io.nats.monitor.msgs-critical": "5"}
    await site.stream("P608", subjects=["p608"], metadata=wish)
    await site.publish("p608", 5)


@fault("JSD610", "APP/P610", severity="warning", cure=lambda site: site.update("P610", no_ack=False))
async def silence(site: Site) -> None:
    await site.stream("P610", subjects=["p610"], no_ack=True)


@fault("JSD612", "APP/P612", severity="error", cure=lambda site: site.update("P612", max_msg_size=400))
async def larger_than_the_stream(site: Site) -> None:
    """Each message is acknowledged and gone."""
    await site.stream("P612", subjects=["p612"], max_bytes=500)
    site.background(keep_publishing(site, "p612", size=1000))


@fault("JSD607", "APP/P607", severity="error")
async def mirror_of_nothing(site: Site) -> None:
    """The origin was deleted before anything was copied; that a server finds out about a later loss takes it 20 s."""
    await site.stream("P607", mirror={"name": "P607_ORIGIN"})


@mirror_of_nothing.cured_by
async def origin_made(site: Site) -> None:
    """A mirror looks for its origin again after some seconds, then later and later: making it anew is faster."""
    await site.api("STREAM.DELETE.P607")
    await site.stream("P607_ORIGIN", subjects=["p607"])
    await site.stream("P607", mirror={"name": "P607_ORIGIN"})


async def stalled(site: Site, stream: str) -> None:
    """Wait until the copy holds a message, and for as long as the rule gives a server out of breath."""
    await site.holds(stream, 1)
    await asyncio.sleep(10)


async def repeated_ids(site: Site, stream: str, subject: str) -> None:
    """Three messages of two ids: a window as short as servers allow lets the second one of an id in."""
    await site.stream(stream, subjects=[subject], duplicate_window=100_000_000)
    await store(site.client, subject, "1")
    await store_again(site.client, subject, "1")
    await store(site.client, subject, "2")


@fault(
    "JSD607",
    "APP/P607_REPEATED",
    severity="error",
    before=(2, 12),
    also={"JSD605"},
    cure=lambda site: site.api("STREAM.DELETE.P607_REPEATED"),
)
async def repeated_ids_upstream(site: Site) -> None:
    """Before 2.12.8 a mirror with one replica stops at a repeated id and says that its lag is 0."""
    await repeated_ids(site, "P607_ORIGINAL", "p607.repeated")
    await add_stopped_mirror(site.client, "P607_REPEATED", "P607_ORIGINAL", max_age=HOUR_NS, max_bytes=8 << 20)
    await stalled(site, "P607_REPEATED")


@fault("JSD607", "APP/P607_SOURCED", severity="error", before=(2, 12), also={"JSD605"})
async def repeated_ids_in_a_source(site: Site) -> None:
    await repeated_ids(site, "P607_SOURCE", "p607.source")
    await site.stream("P607_SOURCED", num_replicas=1, sources=[{"name": "P607_SOURCE"}])
    await stalled(site, "P607_SOURCED")


@repeated_ids_in_a_source.cured_by
async def total_given_up(site: Site) -> None:
    """A shorter window lets a single server go on, but not every cluster."""
    await site.api("STREAM.DELETE.P607_SOURCED")


@fault("JSD619", "APP/P619", severity="warning", cure=lambda site: site.update("P619", subjects=["p619.>"]))
async def inboxes_are_stored(site: Site) -> None:
    """Inboxes for a single reply: those of requests have a token more, and stay out of it."""
    await site.stream("P619", subjects=["_INBOX.*"])


@fault(
    "JSD617",
    "APP/P617",
    severity="warning",
    cure=lambda site: site.consumer("P617", "intake", filter_subject="p617.new"),
)
async def one_subject_has_no_listener(site: Site) -> None:
    """An interest stream of two subjects and a consumer of one of them."""
    await site.stream("P617", subjects=["p617.paid", "p617.new"], retention="interest")
    await site.consumer("P617", "billing", filter_subject="p617.paid")


@fault(
    "JSD618",
    "APP/P618/late",
    severity="warning",
    also={"JSD206", "JSD405", "JSD413"},
    cure=lambda site: take(site, "P618", "late", 100),
)
async def reader_is_overrun(site: Site) -> None:
    """A stream of a hundred messages took 150, and its only reader has not begun."""
    await site.stream("P618", subjects=["p618"], max_msgs=100)
    await site.consumer("P618", "late")
    await site.fill("p618", 150)


async def fill_steadily(site: Site) -> None:
    while True:
        await asyncio.gather(*(site.client.publish("f_endless.x", b"x" * 32_000) for _ in range(20)))
        await asyncio.sleep(0.1)


@fault("JSD601", "APP/F_ENDLESS", fill_steadily)
async def stream_without_a_bound_that_grows_fast(site: Site) -> None:
    await site.stream("F_ENDLESS", max_bytes=-1, max_age=0)


@fault("JSD607", "APP/F_REMOTE")
async def source_in_a_domain_that_does_not_exist(site: Site) -> None:
    source = {"name": "ANY", "external": {"api": "$JS.nowhere.API", "deliver": ""}}
    await site.stream("F_REMOTE", sources=[source])


@fault("JSD607", "APP/F_BLOCKED")
async def mirror_that_is_full_and_takes_no_more(site: Site) -> None:
    await site.stream("F_BLOCKEDORIGIN")
    await site.publish("f_blockedorigin", 50)
    # A replicated mirror of 2.15.1 goes past its limit: with it, nothing is missing.
    await site.stream("F_BLOCKED", mirror={"name": "F_BLOCKEDORIGIN"}, max_msgs=10, discard="new", num_replicas=1)
    await asyncio.sleep(1)
    await site.publish("f_blockedorigin", 50)


@fault("JSD602", "APP/F_CONSUMERS")
async def stream_at_its_limit_of_consumers(site: Site) -> None:
    await site.stream("F_CONSUMERS", max_consumers=10)
    for number in range(10):
        await site.consumer("F_CONSUMERS", f"c{number}")


@fault("JSD603", "APP/F_SOURCEFULL", publishes("f_supply.x", 5, 0.1))
async def stream_with_a_source_that_is_full(site: Site) -> None:
    await site.stream("F_SUPPLY")
    await site.stream("F_SOURCEFULL", sources=[{"name": "F_SUPPLY"}], max_msgs=20, discard="new")
    await site.publish("f_supply.x", 60)


@fault("JSD604", "APP/F_NOBODY")
async def work_queue_without_a_consumer(site: Site) -> None:
    await site.stream("F_NOBODY", retention="workqueue")
    await site.publish("f_nobody.x", 20)


@fault("JSD607", "APP/F_NARROW", publishes("f_wide.x", 5, 0.1, size=1000))
async def mirror_that_takes_smaller_messages_than_its_origin(site: Site) -> None:
    """The server refuses to create such a mirror, and lets the origin be changed later.

    With three replicas in 2.10.26 it is without a leader in some samples, and not judged then.
    """
    await site.stream("F_WIDE", max_msg_size=200)
    await site.stream("F_NARROW", mirror={"name": "F_WIDE"}, max_msg_size=200, num_replicas=1)
    await site.update("F_WIDE", max_msg_size=1 << 20)


@fault("JSD607", "APP/F_WRONGFILTER")
async def source_with_a_filter_that_its_origin_cannot_match(site: Site) -> None:
    await site.stream("F_SALES")
    await site.publish("f_sales.shop", 30)
    await site.stream("F_WRONGFILTER", sources=[{"name": "F_SALES", "filter_subject": "sales.>"}])


@fault("JSD607", "APP/F_WRONGTRANSFORM")
async def source_whose_transform_takes_none_of_its_origin(site: Site) -> None:
    await site.stream("F_PARCELS")
    await site.publish("f_parcels.x", 30)
    source = {"name": "F_PARCELS", "subject_transforms": [{"src": "parcels.>", "dest": "all.parcels.>"}]}
    await site.stream("F_WRONGTRANSFORM", sources=[source])


def tries(subject: str, code: int, **headers: str) -> Work:
    """A publisher whose messages are refused with that error."""

    async def publish(site: Site) -> None:
        while True:
            reply = await site.client.request(subject, b"1", timeout=10, headers=headers or None)
            assert f'"err_code":{code}'.encode() in reply.data, reply.data
            await asyncio.sleep(0.3)

    return publish


@fault("JSD603", "APP/M_SEALED", tries("m_sealed.x", 10109))
async def sealed_stream_that_applications_publish_to(site: Site) -> None:
    await site.stream("M_SEALED")
    await site.publish("m_sealed.x", 10)
    await site.update("M_SEALED", sealed=True)


@fault("JSD603", "APP/M_DEVICES", tries("m_devices.d1", 10077))
async def subject_that_is_full_in_a_stream_that_is_not(site: Site) -> None:
    await site.stream("M_DEVICES", discard="new", discard_new_per_subject=True, max_msgs_per_subject=10, max_msgs=1000)
    await site.publish("m_devices.d1", 10)
    await site.publish("m_devices.d2", 3)


@fault("JSD622", "APP/M_BRIEFMIRROR")
async def mirror_that_keeps_less_than_its_origin(site: Site) -> None:
    """Readers of the mirror miss what is still in the origin."""
    await site.stream("M_BRIEF")
    await site.stream("M_BRIEFMIRROR", mirror={"name": "M_BRIEF"}, max_age=HOUR_NS, max_msgs_per_subject=5)
    await site.publish("m_brief.x", 50)


@fault("JSD622", "APP/M_FOREVERMIRROR", since=(2, 11))
async def mirror_that_keeps_what_expires_in_its_origin(site: Site) -> None:
    """The origin allows a time to live for each message, its mirror does not: it keeps them for its own `max_age`."""
    await site.stream("M_FOREVER", allow_msg_ttl=True)
    await site.stream("M_FOREVERMIRROR", mirror={"name": "M_FOREVER"})
    await site.publish("m_forever.x", 50, headers={"Nats-TTL": "5s"})


def logs_refusals(subject: str, **headers: str) -> Work:
    """A publisher that logs the error which its client library raises: servers log and count no refused publish."""

    async def publish(site: Site) -> None:
        while True:
            try:
                await site.client.jetstream().publish(subject, b"1", timeout=10, headers=headers)
            except nats.js.errors.APIError as error:
                site.logged.append(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S},000 ERROR publish failed: {error}")
            await asyncio.sleep(0.3)

    return publish


@fault("JSD623", "", logs_refusals("m_ttl.x", **{"Nats-TTL": "60s"}), since=(2, 11), mentions="allow_msg_ttl")
async def publisher_with_a_time_to_live_that_the_stream_does_not_allow(site: Site) -> None:
    """https://github.com/nats-io/nats-server/discussions: every publish ends with `per-message TTL is disabled`."""
    await site.stream("M_TTL")


_SCHEDULE = {"Nats-Schedule": "@at 2038-01-01T00:00:00Z"}


@fault(
    "JSD623",
    "",
    logs_refusals("m_jobs.a", **_SCHEDULE, **{"Nats-Schedule-Target": "m_jobs.a"}),
    since=(2, 12),
    mentions="Nats-Schedule-Target must be another",
)
async def schedule_whose_target_is_its_own_subject(site: Site) -> None:
    """https://github.com/JasperFx/wolverine/pull/3017: scheduled messages never arrive."""
    await site.stream("M_JOBS", allow_msg_schedules=True)


@fault(
    "JSD623",
    "",
    logs_refusals(
        "m_sampled.a", **_SCHEDULE, **{"Nats-Schedule-Target": "m_sampled.b", "Nats-Schedule-Source": "m_sampled.*"}
    ),
    since=(2, 14),
    mentions="Nats-Schedule-Source must be another",
)
async def schedule_of_a_source_with_a_wildcard(site: Site) -> None:
    await site.stream("M_SAMPLED", allow_msg_schedules=True)


@fault("JSD623", "", logs_refusals("m_counter.x", **{"Nats-Incr": "+1"}), since=(2, 12), mentions="allow_msg_counter")
async def increment_on_a_stream_that_counts_nothing(site: Site) -> None:
    await site.stream("M_COUNTER")


@fault("JSD604", "APP/R_STRANDED", fetches("R_STRANDED", "worker", b""))
async def interest_stream_that_keeps_what_ran_out_of_attempts(site: Site) -> None:
    """https://docs.nats.io/nats-concepts/jetstream/consumers: the stream keeps what reached `max_deliver`."""
    await site.stream("R_STRANDED", retention="interest")
    await site.consumer("R_STRANDED", "worker", max_deliver=2, ack_wait=SECOND_NS)
    await site.publish("r_stranded.x", 20)


@fault("JSD605", "APP/R_FRAGILE/worker", topologies=("three-nodes",))
async def durable_with_one_replica_on_a_stream_with_three(site: Site) -> None:
    """https://github.com/nats-io/nats-server/issues/3260: its place is lost with its server."""
    await site.stream("R_FRAGILE")
    await site.consumer("R_FRAGILE", "worker", num_replicas=1)


@fault("JSD604", "APP/T_WIDENED")
async def filter_that_was_widened_after_its_consumer_had_passed_the_messages(site: Site) -> None:
    """https://github.com/nats-io/nats-server/issues/7268: what the filter had skipped is not delivered later."""
    await site.stream("T_WIDENED", retention="workqueue")
    await site.consumer("T_WIDENED", "worker", filter_subject="t_widened.a")
    for _ in range(10):
        await site.publish("t_widened.b", 1)
        await site.publish("t_widened.a", 1)
    subscription = await site.client.jetstream().pull_subscribe_bind("worker", "T_WIDENED")
    for message in await subscription.fetch(10, timeout=5):
        await message.ack_sync()
    await site.consumer("T_WIDENED", "worker", filter_subject="t_widened.>")


@fault("JSD626", "APP/OBJ_t_small")
async def object_store_that_takes_smaller_messages_than_chunks_are(site: Site) -> None:
    """https://github.com/nats-io/nats-architecture-and-design/blob/main/adr/ADR-20.md: chunks have 128 KiB."""
    files: dict[str, Any] = {"allow_rollup_hdrs": True, "allow_direct": True, "discard": "new"}
    subjects = ["$O.t_small.C.>", "$O.t_small.M.>"]
    await site.stream("OBJ_t_small", subjects=subjects, max_msg_size=65_536, **files)


@fault("JSD632", "APP/KV_t_locks", options=("--scan", "KV_t_locks"))
async def bucket_that_holds_markers_of_deleted_keys_and_hardly_a_key(site: Site) -> None:
    """https://github.com/openobserve/openobserve/issues/10642, https://github.com/nats-io/nats-server/issues/3251."""
    await site.bucket("t_locks", max_age=0)
    for number in range(200):
        await site.store(f"$KV.t_locks.{number}", b"", {"KV-Operation": "DEL"})
    await site.publish("$KV.t_locks.current", 1)


@fault("JSD607", "APP/F_REMADECOPY", before=(2, 14))
async def source_that_was_made_again_with_fewer_messages(site: Site) -> None:
    """nats-server issue 6206. Newer servers go on by themselves."""
    await site.stream("F_REMADE")
    await site.publish("f_remade.x", 100)
    await site.stream("F_REMADECOPY", sources=[{"name": "F_REMADE"}])
    await site.holds("F_REMADECOPY", 100)
    await site.api("STREAM.DELETE.F_REMADE")
    await site.stream("F_REMADE")
    await site.publish("f_remade.x", 10)


@fault("JSD626", "APP/KV_s_raw")
async def bucket_that_was_made_as_a_stream(site: Site) -> None:
    """https://github.com/nats-io/nack/issues/75: no history, no rollups: clients refuse it, and keep every value."""
    await site.stream("KV_s_raw", subjects=["$KV.s_raw.>"])
    await site.publish("$KV.s_raw.key", 20)


@fault("JSD626", "APP/KV_s_old")
async def bucket_that_drops_keys_when_it_is_full(site: Site) -> None:
    """https://github.com/nats-io/nats-architecture-and-design/pull/102: made by an older client."""
    await site.bucket("s_old", discard="old", max_bytes=20_000)
    for number in range(40):
        await site.store(f"$KV.s_old.{number}", b"x" * 1000)


@fault("JSD626", "APP/KV_s_locks", since=(2, 11))
async def bucket_whose_expired_values_bring_older_ones_back(site: Site) -> None:
    """https://github.com/nats-io/nats-server/issues/6959: a time to live is one of a value, not of a key."""
    await site.bucket("s_locks", history=5, allow_msg_ttl=True)
    await site.publish("$KV.s_locks.leader", 1)
    await site.publish("$KV.s_locks.leader", 1, headers={"Nats-TTL": "5s"})


@fault("JSD626", "APP/KV_s_core")
async def bucket_whose_source_maps_to_other_subjects(site: Site) -> None:
    """https://github.com/nats-io/nack/issues/277: messages arrive, and no key shows."""
    await site.stream("S_AGREEMENT")
    await site.publish("s_agreement.a", 10)
    transforms = [{"src": "s_agreement.>", "dest": "node.>"}]
    await site.bucket("s_core", sources=[{"name": "S_AGREEMENT", "subject_transforms": transforms}])


async def watch_presence(site: Site) -> None:
    bucket = await site.client.jetstream().key_value("s_presence")
    watcher = await bucket.watchall()
    async for _ in watcher:
        pass


@fault("JSD626", "APP/KV_s_presence", watch_presence, publishes("$KV.s_presence.one", 1, 5), since=(2, 11))
async def bucket_with_expiry_whose_watchers_are_not_notified(site: Site) -> None:
    """https://github.com/nats-io/nats-server/issues/4640: keys vanish, and nobody gets to know."""
    await site.bucket("s_presence", max_age=30 * SECOND_NS, duplicate_window=10 * SECOND_NS)
    await site.publish("$KV.s_presence.two", 1)


DAY_MS = 24 * 3600 * 1000


@fault("JSD628", "APP/S_MILLIS", publishes("s_millis.x", 1, 0.3))
async def age_of_a_week_in_milliseconds(site: Site) -> None:
    """https://github.com/Redningsselskapet/nestjs-plugins/issues/65: milliseconds or nanoseconds? It is 0.6 s."""
    await site.stream("S_MILLIS", max_age=7 * DAY_MS, duplicate_window=7 * DAY_MS)


@fault(
    "JSD630",
    "APP/S_JOBS",
    pulls("S_JOBS", "worker", pause_s=1, batch=1, expires=SECOND_NS),
    publishes("s_jobs.render", 5, 0.5),
)
async def queue_whose_jobs_replace_each_other(site: Site) -> None:
    """https://github.com/nats-io/nats-server/issues/4247: one message for a subject, and jobs share a subject."""
    await site.stream("S_JOBS", retention="workqueue", max_msgs_per_subject=1)
    await site.consumer("S_JOBS", "worker")


@fault("JSD629", "APP/S_VOLATILE")
async def queue_in_the_memory_of_one_server(site: Site) -> None:
    """https://github.com/nats-io/nack: `storage: memory` of the first example; a restart, and the jobs are gone."""
    await site.stream("S_VOLATILE", storage="memory", retention="workqueue", num_replicas=1)
    await site.consumer("S_VOLATILE", "worker")
    await site.publish("s_volatile.x", 10)


@fault("JSD614", "", logs=True, always=True)
def stream_whose_subjects_another_stream_has(land: Landscape) -> str:
    """https://github.com/nats-io/nack/issues/120, https://github.com/nuclia/nucliadb/pull/1414: 10065."""
    single(land)
    stored(land.url(), "ORDERS", subjects=["orders", "orders.>"])
    shipping = Application(land, "shipping")

    async def create(client: Client) -> None:
        for _ in range(8):
            try:
                await client.jetstream().add_stream(name="SHIPPING", subjects=["orders.shipped"])
            except Error as error:
                shipping.log("ERROR", f"failed, trying again: {error}")
            await asyncio.sleep(0.3)

    do(land.url(), create)
    return land.url(user="sys")


@fault("JSD605", "APP/$MQTT_sess")
def mqtt_sessions_on_one_of_three_servers(land: Landscape) -> str:
    """`mqtt.stream_replicas: 1`: all devices lose their sessions with that server."""
    formed(
        land,
        lambda key: (
            server(key)
            + routed(land, "C", key, THREE)
            + f'mqtt {{ listen: "127.0.0.1:{land.port(f"mqtt/{key}")}", stream_replicas: 1 }}\n'
        ),
    )
    land.keep(mqtt_session(land.port("mqtt/n1"), subscribe=True))
    time.sleep(3)
    return land.url("n1", user="sys")


DAY_S = 24 * 3600


@fault("JSD607", "APP/LATE")
def mirror_that_starts_next_year(land: Landscape) -> str:
    single(land)
    stored(land.url(), "ORDERS")
    start = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 365 * DAY_S))
    furnished(land, ("LATE", {"subjects": [], "mirror": {"name": "ORDERS", "opt_start_time": start}}))
    published(land.url(), "orders")
    time.sleep(3)
    return land.url(user="sys")


@fault("JSD607", "APP/LATE")
def source_that_starts_past_the_end_of_its_origin(land: Landscape) -> str:
    """The origin was made again, and the copy starts at a sequence of the old one."""
    single(land)
    stored(land.url(), "ORDERS")
    furnished(land, ("LATE", {"subjects": [], "sources": [{"name": "ORDERS", "opt_start_seq": 5000}]}))
    published(land.url(), "orders")
    time.sleep(3)
    return land.url(user="sys")


OFTEN = ("--samples", "8", "--interval", "1s")


def _rivals(land: Landscape, *requests: tuple[str, dict[str, Any]], pause_s: float = 0.7) -> None:
    """Deployers that send these requests in turn."""
    turns = itertools.cycle(requests)

    async def deploy(client: Client) -> None:
        with contextlib.suppress(Exception):
            await api(client, *next(turns))
        await asyncio.sleep(pause_s)

    goes_on(land, lambda end: until(end, land.url(), deploy))


@fault("JSD624", "APP/ORDERS", options=OFTEN)
def two_deployers_of_one_stream(land: Landscape) -> str:
    """GitOps states one `max_age`, and an application that updates its streams when it starts another."""
    single(land)
    stored(land.url(), "ORDERS")
    ages = [{"name": "ORDERS", "subjects": ["orders"], **BOUNDED, "max_age": hours * HOUR_NS} for hours in (24, 72)]
    _rivals(land, *(("STREAM.UPDATE.ORDERS", body) for body in ages))
    time.sleep(1)
    return land.url(user="sys")


@fault("JSD624", "APP/ORDERS/worker", options=OFTEN)
def two_deployers_of_one_consumer(land: Landscape) -> str:
    cluster(land)
    furnished(land, ("ORDERS", {"num_replicas": 3}), ("ORDERS", "worker", {}))
    common = {"name": "worker", "durable_name": "worker", "ack_policy": "explicit"}
    bodies = [{"stream_name": "ORDERS", "config": {**common, "max_ack_pending": n}} for n in (100, 1000)]
    _rivals(land, *(("CONSUMER.CREATE.ORDERS.worker", body) for body in bodies))
    time.sleep(1)
    return land.url(user="sys")


@fault("JSD607", "APP/FROM_SITE", options=("--set", "JSD607.warn_silence=10s", "--samples", "4", "--interval", "5s"))
def mirror_of_a_site_that_lost_its_hub(land: Landscape) -> str:
    hub(land)
    (site,) = sites(land, 1)
    stored(land.url(site), "SALES")
    source = {"name": "SALES", "external": {"api": f"$JS.{site}.API", "deliver": ""}}
    stored(land.url(*HUB), "FROM_SITE", 0, subjects=[], sources=[source], num_replicas=3)
    time.sleep(3)
    land.node(site).kill()
    time.sleep(25)
    return land.url(*HUB, user="sys")


@fault("JSD607", "APP/FROM_SITE", options=("--set", "JSD607.warn_silence=5s", "--interval", "6s"))
def source_across_a_leaf_that_may_not_deliver(land: Landscape) -> str:
    """The leaf's remote denies what the hub's requests to its JetStream need."""
    hub(land)
    deny = leaf_remotes(land, HUB, ("app",)).replace("account: APP", 'account: APP, deny_imports: ["$JS.site1.API.>"]')
    land.start("site1", server("site1", domain="site1") + deny)
    land.wait_leafs("site1", 1)
    stored(land.url("site1"), "SALES")
    source = {"name": "SALES", "external": {"api": "$JS.site1.API", "deliver": ""}}
    stored(land.url(*HUB), "FROM_SITE", 0, subjects=[], sources=[source], num_replicas=3)
    time.sleep(8)
    return land.url(*HUB, user="sys")


@fault("JSD607", "APP@hub/FROM_SITE", options=("--set", "JSD607.min_stall=2s", "--interval", "3s"))
def source_of_a_site_that_was_set_up_again(land: Landscape) -> str:
    """Its stream begins at 1 again, and the hub goes on after the last sequence that it copied: lag 0, no error."""
    hub(land, domain="hub")
    (site,) = sites(land, 1)
    stored(land.url(site), "SALES", 300)
    source = {"name": "SALES", "external": {"api": f"$JS.{site}.API", "deliver": ""}}
    stored(land.url(*HUB), "FROM_SITE", 0, subjects=[], sources=[source], num_replicas=3)
    time.sleep(3)

    do(land.url(site), lambda client: api(client, "STREAM.DELETE.SALES"))
    stored(land.url(site), "SALES", 40)
    time.sleep(5)
    return land.url(*HUB, user="sys")


@fault("JSD607", "SHOP/COPY", options=("--set", "JSD607.warn_silence=5s"))
def source_of_another_account_that_exports_nothing(land: Landscape) -> str:
    shop = "  SHOP: { users: [{ user: shop, password: shop }], jetstream: enabled }\n}\n"
    single(land, accounts=ACCOUNTS.removesuffix("}\n") + shop)
    stored(land.url(), "SALES")
    source = {"name": "SALES", "external": {"api": "JS.APP.API", "deliver": "copy.deliver"}}
    stored(land.url(user="shop"), "COPY", 0, subjects=[], sources=[source])
    time.sleep(8)
    return land.url(user="sys")


@fault("JSD620", "APP/ONE", options=("--interval", "3s"))
def streams_that_republish_to_each_other(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/pull/3129: the server refuses a cycle within one stream only."""
    single(land)
    for own, other in (("one", "two"), ("two", "one")):
        again = {"republish": {"src": f"{own}.>", "dest": f"{other}.>"}}
        furnished(land, (own.upper(), {"subjects": [f"{own}.>"], **again}))
    published(land.url(), "one.x", 1)
    time.sleep(2)
    return land.url()


@fault("JSD625", "APP@hub/CENTRAL", options=("--interval", "3s"))
def hub_and_site_that_copy_from_each_other(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/pull/3825: servers compare the streams of one domain only.

    The hub's stream takes 2,000 messages and no more: without an end, a busy machine did not respond to checks.
    """
    hub(land)
    sites(land, 1)
    stored(land.url("site1"), "EDGE", 0, subjects=["edge.>"])
    source = {"name": "EDGE", "external": {"api": "$JS.site1.API", "deliver": ""}}
    full = {"max_msgs": 2000, "discard": "new"}
    stored(land.url(*HUB), "CENTRAL", 0, subjects=["central.>"], sources=[source], num_replicas=3, **full)

    async def close_the_circle(client: Client) -> None:
        config = (await api(client, "STREAM.INFO.EDGE"))["config"]
        back = {"name": "CENTRAL", "external": {"api": "$JS.hub.API", "deliver": ""}}
        await api(client, "STREAM.UPDATE.EDGE", {**config, "sources": [back]})
        await asyncio.sleep(3)
        await client.request("edge.x", b"x", timeout=10)

    do(land.url("site1"), close_the_circle)
    time.sleep(2)
    return land.url(*HUB, user="sys")


@fault("JSD627", "APP@hub/ORDERS", options=("--interval", "3s"))
def hub_and_site_that_store_the_same_subjects(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/3161: what a site publishes is stored twice at the hub."""
    hub(land)
    sites(land, 1)
    source = {"name": "ORDERS", "external": {"api": "$JS.site1.API", "deliver": ""}}
    stored(land.url("site1"), "ORDERS", 0, subjects=["orders.>"])
    stored(land.url(*HUB), "ORDERS", 0, subjects=["orders.>"], sources=[source], num_replicas=3)
    time.sleep(5)

    published(land.url("site1"), "orders.x")
    time.sleep(3)
    return land.url(*HUB, user="sys")


def _mapped(land: Landscape, mapping: str, nodes: int = 1) -> str:
    """Servers whose account has that mapping and a stream of orders."""
    accounts = ACCOUNTS.replace("jetstream: enabled", f"jetstream: enabled, mappings: {{ {mapping} }}")
    keys = single(land, accounts=accounts) if nodes == 1 else cluster(land, accounts=accounts)
    stored(land.url(*keys), "ORDERS", 0, subjects=["orders.in.>"], num_replicas=nodes)
    return land.url(*keys, user="sys")


def _answered(url: str, subject: str, count: int) -> int:
    """How many of so many publishes the stream acknowledges."""

    async def publish(client: Client) -> int:
        answered = 0
        for _ in range(count):
            with contextlib.suppress(NoRespondersError):
                await client.request(subject, b"x", timeout=10)
                answered += 1
        return answered

    return do(url, publish)


@fault("JSD634", "APP/ORDERS", severity="warning", always=True)
def mapping_to_a_subject_without_a_stream(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/3868: the destination has a token that no stream has."""
    login = _mapped(land, '"orders.in.*": "orders.part.{{partition(3,1)}}.{{wildcard(1)}}"')
    assert not _answered(land.url(), "orders.in.a", 5)
    return login


@fault("JSD634", "APP/ORDERS", severity="error")
def mapping_of_a_whole_stream_on_three_servers(land: Landscape) -> str:
    login = _mapped(land, '"orders.in.>": "old.orders.>"', nodes=3)
    assert not _answered(land.url(*THREE), "orders.in.a", 5)
    return login


@fault("JSD634", "APP/ORDERS", severity="warning", mentions="10 % is dropped")
def mapping_that_loses_one_of_ten(land: Landscape) -> str:
    """https://github.com/nats-io/nsc/issues/632: a test of loss that was left there."""
    login = _mapped(land, '"orders.in.>": [{ destination: "orders.in.>", weight: 90% }]')
    assert 120 < _answered(land.url(), "orders.in.a", 200) < 200
    return login
