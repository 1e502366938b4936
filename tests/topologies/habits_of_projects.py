"""What published examples and projects set up: charts, operators, pipelines and guides that others start from.

As in `habits.py`, the name of a habit begins the names of its streams, and `jsdoctor` must find nothing wrong.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import Any

import nats
from nats.aio.msg import Msg

from tests.support.deployment import HOUR_NS, add_consumer, api
from tests.topologies.habits import SECOND_NS, Furnish, Habits, Place, publishes, works
from tests.topologies.habits_of_consumers import acknowledge, acknowledges, slowly
from tests.topologies.habits_of_streams import BUCKET, again, stores

PROJECT_HABITS = Habits()
habit = PROJECT_HABITS.habit
LAST_HABITS = Habits()
"""Written down with the others, and first looked at when the rules passed those."""
last = LAST_HABITS.habit
_TIMEOUTS = (TimeoutError, nats.errors.TimeoutError)
DAY_NS = 24 * HOUR_NS


def subscribes(subject: str, answer: Callable[[Msg], Awaitable[None]] = acknowledge, queue: str = "") -> Furnish:
    """A subscriber of a push consumer, who stays after the publishers have stopped."""

    async def subscribe(place: Place) -> None:
        await place.client.subscribe(subject, queue=queue, cb=answer)
        await asyncio.sleep(3600)

    return subscribe


async def obey_flow_control(message: Msg) -> None:
    """Answer requests of flow control, and acknowledge nothing."""
    if message.reply and (message.headers or {}).get("Status"):
        await message.respond(b"")


@habit(
    "NACK",
    publishes("nack.received"),
    works("NACK", "my-pull-consumer"),
    subscribes("my-push-consumer.nack", obey_flow_control),
)
async def examples_of_the_operator(place: Place) -> None:
    """https://github.com/nats-io/nack/tree/main/deploy/examples: stream, sources, a pull and a push consumer."""
    await place.stream("NACK", subjects=["nack.*"], max_age=HOUR_NS, max_bytes=-1)
    await add_consumer(
        place.client, "NACK", "my-pull-consumer", filter_subject="nack.received", max_deliver=20, deliver_policy="all"
    )
    push: dict[str, Any] = {"flow_control": True, "idle_heartbeat": SECOND_NS, "description": "my consumer description"}
    await add_consumer(
        place.client,
        "NACK",
        "my-push-consumer",
        deliver_subject="my-push-consumer.nack",
        deliver_policy="last",
        ack_policy="none",
        **push,
    )
    await place.stream("NACKMORE", subjects=["nackmore.*"], max_age=HOUR_NS, max_bytes=-1)
    await place.stream("NACKSOURCES", sources=[{"name": "NACK"}, {"name": "NACKMORE"}], max_age=HOUR_NS, max_bytes=-1)


@habit("ISB", publishes("isb.default"), works("ISB", "reader"), publishes("$KV.ISB_OT.pod"))
async def buffers_and_watermarks_of_a_pipeline(place: Place) -> None:
    """https://github.com/numaproj/numaflow/blob/main/config/base/controller-manager/numaflow-controller-config.yaml"""
    week: dict[str, Any] = {"max_age": 7 * DAY_NS, "max_bytes": -1, "max_msg_size": -1}
    await place.stream("ISB", max_msgs=2_000_000, duplicate_window=60 * SECOND_NS, **week)
    await add_consumer(place.client, "ISB", "reader", ack_wait=60 * SECOND_NS, max_ack_pending=20_000)
    for name, history, age in (("OT", 5, 3 * HOUR_NS), ("PROCESSORS", 1, 72 * HOUR_NS)):
        limits = {"max_age": age, "max_bytes": -1, "max_msg_size": -1}
        await place.bucket(f"ISB_{name}", history, duplicate_window=120 * SECOND_NS, **limits)
        await place.publish(f"$KV.ISB_{name}.pod", 3)


@habit("ARGO", publishes("argo.webhook.example"), works("ARGO", "sensor-a"), works("ARGO", "sensor-b"))
async def event_bus(place: Place) -> None:
    """https://github.com/argoproj/argo-events, the defaults of its controller: 72 hours, 1 GB, a million messages."""
    bounds = {"max_msgs": 1_000_000, "max_age": 72 * HOUR_NS, "max_bytes": 1 << 30}
    await place.stream("ARGO", subjects=["argo.*.*"], duplicate_window=300 * SECOND_NS, discard="old", **bounds)
    for sensor, kind in (("a", "example"), ("b", "other")):
        subject = f"argo.webhook.{kind}"
        await add_consumer(place.client, "ARGO", f"sensor-{sensor}", deliver_policy="new", filter_subject=subject)


@habit("DAPR", slowly("dapr.orders", 0.05), subscribes("deliver.dapr", queue="group"))
async def push_group_with_backoff(place: Place) -> None:
    """https://docs.dapr.io/reference/components-reference/supported-pubsub/setup-jetstream/"""
    await place.stream("DAPR")
    group: dict[str, Any] = {"deliver_subject": "deliver.dapr", "deliver_group": "group", "max_ack_pending": 5000}
    backoff = [SECOND_NS, 5 * SECOND_NS, 10 * SECOND_NS]
    await add_consumer(place.client, "DAPR", "durable", max_deliver=5, backoff=backoff, **group)


async def hand_on(place: Place) -> None:
    """Takes received orders and publishes them as processed."""
    subscription = await place.client.jetstream().pull_subscribe_bind("NEW", "ORDERS")
    while True:
        with contextlib.suppress(*_TIMEOUTS):
            for message in await subscription.fetch(10, timeout=1):
                await place.store("ORDERS.processed", message.data)
                await message.ack()


@habit(
    "ORDERS",
    publishes("ORDERS.received"),
    hand_on,
    works("ORDERS", "DISPATCH"),
    subscribes("monitor.ORDERS", acknowledge),
)
async def orders_of_the_documentation(place: Place) -> None:
    """https://docs.nats.io/nats-concepts/jetstream/streams/example_configuration: kept for a year, acks are sampled."""
    year: dict[str, Any] = {"max_age": 365 * DAY_NS, "max_bytes": -1, "max_msg_size": -1}
    await place.stream("ORDERS", subjects=["ORDERS.*"], **year)
    await add_consumer(place.client, "ORDERS", "NEW", filter_subject="ORDERS.received", sample_freq="100")
    await add_consumer(
        place.client, "ORDERS", "DISPATCH", filter_subject="ORDERS.processed", sample_freq="100", max_deliver=20
    )
    monitor: dict[str, Any] = {"deliver_subject": "monitor.ORDERS", "deliver_policy": "last", "ack_policy": "none"}
    await add_consumer(place.client, "ORDERS", "MONITOR", **monitor)


@habit("CDC", publishes("cdc.users"), works("CDC", "sink"))
async def changes_of_a_database(place: Place) -> None:
    """Changes are kept for minutes, what a new reader starts with for a week, schemas in a bucket.

    Declared first: for one minute. JSD206 was right: what is unread when the worker stops is gone a minute later.
    """
    await place.stream("CDC", max_age=600 * SECOND_NS, max_msgs=1_000_000, max_bytes=256 << 20)
    await add_consumer(place.client, "CDC", "sink", deliver_policy="new")
    await place.stream("CDCINIT", max_age=7 * DAY_NS, max_msgs=10_000_000, max_bytes=256 << 20)
    await place.publish("cdcinit.users", 50)
    await place.bucket("CDCSCHEMAS", 10)
    await place.publish("$KV.CDCSCHEMAS.users", 3)


async def watch_the_market(place: Place) -> None:
    await place.client.jetstream().subscribe("market.>", stream="MARKET", ordered_consumer=True)
    await asyncio.sleep(3600)


@habit("MARKET", publishes("market.btc"), watch_the_market, slowly("marketorders.x", 0.2))
async def prices_in_memory(place: Place) -> None:
    """One replica in memory for an hour, duplicates for five seconds; orders that came of it for a day."""
    prices: dict[str, Any] = {"storage": "memory", "num_replicas": 1, "max_bytes": 16 << 20}
    await place.stream("MARKET", max_age=HOUR_NS, max_msgs=100_000, duplicate_window=5 * SECOND_NS, **prices)
    await place.stream("MARKETORDERS", max_age=DAY_NS, max_msgs=10_000, duplicate_window=10 * SECOND_NS)


@habit("AUDIT", publishes("audit.login"))
async def record_that_nobody_may_change(place: Place) -> None:
    """Nothing is deleted or purged for a year, and nobody reads it but auditors."""
    await place.stream("AUDIT", max_age=365 * DAY_NS, deny_delete=True, deny_purge=True, allow_direct=True)


async def read_a_user(place: Place) -> None:
    body = json.dumps({"last_by_subj": "users.7"}).encode()
    await place.client.request("$JS.API.DIRECT.GET.USERS", body, timeout=5)


@habit("USERS", stores("users.7"), again(read_a_user, 0.1))
async def the_last_message_of_each_of_many_users(place: Place) -> None:
    await place.stream("USERS", max_msgs_per_subject=1, allow_direct=True, max_bytes=64 << 20)
    for start in range(0, 50_000, 500):
        await asyncio.gather(*(place.client.publish(f"users.{number}", b"x") for number in range(start, start + 500)))
        await place.client.flush(60)


@habit("PATIENT", acknowledges("PATIENT", "worker", rare=b"-NAK", every=50), slowly("patient.x", 0.1))
async def backoff_that_is_longer_than_the_wait(place: Place) -> None:
    """The server takes the first step for the wait."""
    await place.stream("PATIENT", retention="workqueue")
    backoff = [10 * SECOND_NS, 60 * SECOND_NS, 300 * SECOND_NS]
    await add_consumer(place.client, "PATIENT", "worker", ack_wait=5 * SECOND_NS, backoff=backoff, max_deliver=10)


@habit("SINCE", stores("since.new"))
async def copies_that_start_later(place: Place) -> None:
    """https://docs.nats.io/nats-concepts/jetstream/source_and_mirror: from a time, from a sequence, of a part."""
    await place.stream("SINCE")
    await place.publish("since.old", 100)
    await place.stream("SINCETIME", sources=[{"name": "SINCE", "opt_start_time": "2026-01-01T00:00:00Z"}])
    await place.stream("SINCESEQUENCE", sources=[{"name": "SINCE", "opt_start_seq": 50, "filter_subject": "since.*"}])
    await place.stream("SINCEMIRROR", mirror={"name": "SINCE", "opt_start_seq": 90})


@habit("KV_region_eu", stores("$KV.region_eu.a"), stores("$KV.region_us.b"))
async def bucket_that_collects_others(place: Place) -> None:
    """As clients create a bucket with sources: each with a transform of its keys."""
    for region in ("eu", "us"):
        await place.bucket(f"region_{region}")
        await place.publish(f"$KV.region_{region}.name", 3)
    sources = [
        {
            "name": f"KV_region_{region}",
            "subject_transforms": [{"src": f"$KV.region_{region}.>", "dest": f"$KV.region_all.{region}.>"}],
        }
        for region in ("eu", "us")
    ]
    await place.bucket("region_all", sources=sources)


@habit("BACKPRESSURE", stores("backpressure.x"), works("BACKPRESSURE", "worker"))
async def work_queue_that_refuses_when_it_is_full(place: Place) -> None:
    await place.stream("BACKPRESSURE", retention="workqueue", discard="new", max_msgs=5000, max_age=DAY_NS)
    await add_consumer(place.client, "BACKPRESSURE", "worker", max_ack_pending=50)


@habit("ONCE", works("ONCE", "worker"), slowly("once.x", 0.1))
async def one_attempt_for_each_message(place: Place) -> None:
    await place.stream("ONCE")
    # The worker is cancelled at the end of its busy time: the messages in its hands are not to be lost meanwhile.
    await add_consumer(place.client, "ONCE", "worker", max_deliver=1, ack_wait=HOUR_NS)


@habit("METERED", publishes("metered.x"), subscribes("deliver.metered"))
async def push_with_a_rate_that_suffices(place: Place) -> None:
    await place.stream("METERED")
    push: dict[str, Any] = {"deliver_subject": "deliver.metered", "rate_limit_bps": 8_000_000}
    await add_consumer(place.client, "METERED", "sink", **push)


async def publish_from_an_outbox(place: Place) -> None:
    """A publisher that names its stream and an id, and sends the last rows again after a restart."""
    batch = place.client.new_inbox().rsplit(".", 1)[-1]
    for row in (*range(10), 8, 9):
        headers = {"Nats-Msg-Id": f"{batch}-{row}", "Nats-Expected-Stream": "OUTBOX"}
        await place.store("outbox.x", b"x", headers)


@habit("OUTBOX", again(publish_from_an_outbox, 0.3), works("OUTBOX", "billing"))
async def outbox_of_a_database(place: Place) -> None:
    await place.stream("OUTBOX", duplicate_window=HOUR_NS)
    await add_consumer(place.client, "OUTBOX", "billing")


@habit("PODS", works("PODS", "pod-7f9c"), publishes("pods.x"))
async def durables_of_pods_that_expire_an_hour_after_the_pod(place: Place) -> None:
    """Three of four pods were replaced a moment ago."""
    await place.stream("PODS")
    for pod in ("7f9c", "1aa0", "1aa1", "1aa2"):
        await add_consumer(place.client, "PODS", f"pod-{pod}", deliver_policy="new", inactive_threshold=HOUR_NS)


@habit("edge-events", publishes("edge-events.x"), works("edge-events", "edge-events_worker-1"))
async def names_with_hyphens_and_metadata(place: Place) -> None:
    named: dict[str, Any] = {"description": "Events of the edge", "metadata": {"team": "edge", "cost-center": "7"}}
    await place.stream("edge-events", **named)
    await add_consumer(place.client, "edge-events", "edge-events_worker-1", **named)


@habit("MIXED", publishes("mixed.x"), works("MIXED", "pull"), subscribes("deliver.mixed", queue="hosts"))
async def interest_of_pull_and_push_consumers(place: Place) -> None:
    await place.stream("MIXED", retention="interest")
    await add_consumer(place.client, "MIXED", "pull")
    await add_consumer(place.client, "MIXED", "push", deliver_subject="deliver.mixed", deliver_group="hosts")


@habit("PANEL", publishes("panel.a"), publishes("panel.b"), works("PANEL", "board"))
async def panel_of_last_values(place: Place) -> None:
    """One message for each subject, and a consumer that starts with the last of each."""
    await place.stream("PANEL", max_msgs_per_subject=1, allow_direct=True)
    for name in "abcdef":
        await place.publish(f"panel.{name}", 2)
    await add_consumer(place.client, "PANEL", "board", deliver_policy="last_per_subject", filter_subject="panel.*")


async def listen_without_a_durable(place: Place) -> None:
    """As a client subscribes with flow control and heartbeats."""
    await place.client.jetstream().subscribe(
        "listen.>", stream="LISTEN", cb=acknowledge, flow_control=True, idle_heartbeat=2.0, manual_ack=True
    )
    await asyncio.sleep(3600)


@habit("LISTEN", publishes("listen.x"), listen_without_a_durable)
async def ephemeral_push_with_flow_control(place: Place) -> None:
    await place.stream("LISTEN")


async def log_in(place: Place) -> None:
    for number in range(3):
        await place.store(f"$KV.logins.user{number}", b"token")


@habit("KV_logins", again(log_in, 0.5))
async def bucket_whose_keys_expire_after_a_minute(place: Place) -> None:
    """https://docs.nats.io/nats-concepts/jetstream/key-value-store: `nats kv add logins --ttl=1m`."""
    await place.bucket("logins", max_age=60 * SECOND_NS, duplicate_window=60 * SECOND_NS)


@habit("INGEST", publishes("ingest.x"), works("INGEST", "loader"), since=(2, 14))
async def stream_that_takes_batches(place: Place) -> None:
    await place.stream("INGEST", allow_batched=True, allow_atomic=True, allow_msg_ttl=True, compression="s2")
    await add_consumer(place.client, "INGEST", "loader", max_ack_pending=5000)


async def fail_at_some(place: Place) -> None:
    """A worker that cannot do one job in fifty, however often it is delivered."""
    subscription = await place.client.jetstream().pull_subscribe_bind("worker", "DEAD")
    while True:
        with contextlib.suppress(*_TIMEOUTS):
            for message in await subscription.fetch(10, timeout=1):
                await (message.nak() if message.metadata.sequence.stream % 50 == 0 else message.ack())


@last("DEAD", fail_at_some, slowly("dead.x", 0.1), works("DEADLETTERS", "operator"))
async def dead_letters_by_advisories(place: Place) -> None:
    """A stream of the advisories of messages that ran out of attempts, which somebody reads."""
    await place.stream("DEAD")
    backoff = [SECOND_NS, 2 * SECOND_NS, 4 * SECOND_NS]
    await add_consumer(place.client, "DEAD", "worker", max_deliver=3, backoff=backoff)
    await place.stream("DEADLETTERS", subjects=["$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.DEAD.>"])
    await add_consumer(place.client, "DEADLETTERS", "operator")
    for _ in range(49):  # so that the first one fails at once, and its advisory is read before the workers end
        await place.store("dead.x", b"x")


async def change_an_object(place: Place) -> None:
    """Compare and set, and a deletion."""
    subject = "$KV.kine.registry.pods.web"
    last_message = await place.client.request(
        "$JS.API.DIRECT.GET.KV_kine", json.dumps({"last_by_subj": subject}).encode(), timeout=5
    )
    sequence = (last_message.headers or {}).get("Nats-Sequence", "0")
    for _ in range(2):
        await place.client.request(subject, b"x", timeout=5, headers={"Nats-Expected-Last-Subject-Sequence": sequence})
    await place.store("$KV.kine.registry.leases.node", b"", {"KV-Operation": "DEL"})


@last("KV_kine", again(change_an_object, 0.2), stores("$KV.kine.registry.leases.node"))
async def store_of_a_kubernetes(place: Place) -> None:
    """https://github.com/k3s-io/kine: a bucket with ten revisions, writers that compare, and watchers."""
    await place.bucket("kine", 10, max_age=0, max_bytes=-1)
    for number in range(200):
        await place.store(f"$KV.kine.registry.pods.{number}", b"x" * 500)
    bucket = await place.client.jetstream().key_value("kine")
    for _ in range(4):
        await bucket.watch("registry.>")


@last("TENANTS", works("TENANTS", "tenant0"), works("TENANTS", "tenant1"), slowly("tenants.0.x", 0.1))
async def a_durable_for_each_tenant(place: Place) -> None:
    """Sixty tenants, most of whom are quiet this week."""
    await place.stream("TENANTS", subjects=["tenants.*.>"])
    for number in range(60):
        await add_consumer(place.client, "TENANTS", f"tenant{number}", filter_subject=f"tenants.{number}.>")


@last("CRON", works("CRON", "worker"), since=(2, 14))
async def schedules_and_what_they_trigger(place: Place) -> None:
    await place.stream(
        "CRON", subjects=["cron.schedules.>", "cron.ticks.>"], allow_msg_schedules=True, allow_msg_ttl=True
    )
    await add_consumer(place.client, "CRON", "worker", filter_subject="cron.ticks.>")
    headers = {"Nats-Schedule": "@every 2s", "Nats-Schedule-Target": "cron.ticks.report", "Nats-Schedule-TTL": "1m"}
    await place.store("cron.schedules.report", b"x", headers)


async def request_a_job(place: Place) -> None:
    """Asked for twice, of which the second is refused while the first waits."""
    for _ in range(2):
        await place.client.request("pendingjobs.rebuild", b"x", timeout=5)


@last("PENDINGJOBS", again(request_a_job, 0.3), works("PENDINGJOBS", "worker"))
async def work_queue_with_one_job_for_each_name(place: Place) -> None:
    own: dict[str, Any] = {"discard": "new", "max_msgs_per_subject": 1, "discard_new_per_subject": True}
    await place.stream("PENDINGJOBS", retention="workqueue", **own)
    await add_consumer(place.client, "PENDINGJOBS", "worker")


@last("REPLAYED", slowly("replayed.x", 0.2), subscribes("out.original", acknowledge))
async def replay_at_the_original_speed(place: Place) -> None:
    """https://docs.nats.io/using-nats/jetstream/model_deep_dive: as fast as it was once published."""
    await place.stream("REPLAYED")
    for _ in range(20):
        await place.publish("replayed.x", 1)
        await asyncio.sleep(0.2)
    replay: dict[str, Any] = {"deliver_subject": "out.original", "ack_policy": "none", "replay_policy": "original"}
    await add_consumer(place.client, "REPLAYED", "REPLAY", deliver_policy="all", **replay)


@last("OBJ_shelf")
async def object_store_with_links_and_expiry(place: Place) -> None:
    """A link to an object, and one to a bucket, as clients store them."""
    files = {"allow_rollup_hdrs": True, "allow_direct": True, "discard": "new", "max_age": 7 * DAY_NS}
    for name in ("shelf", "shelf_other"):
        await place.stream(f"OBJ_{name}", subjects=[f"$O.{name}.C.>", f"$O.{name}.M.>"], **files)
    other = await place.client.jetstream().object_store("shelf_other")
    await other.put("report.pdf", b"x" * 200_000)
    for key, link in (
        ("bGluaw==", {"bucket": "shelf_other", "name": "report.pdf"}),
        ("YWxs", {"bucket": "shelf_other"}),
    ):
        meta = {"name": "link", "options": {"link": link}, "bucket": "shelf", "nuid": key, "size": 0, "chunks": 0}
        await place.store(f"$O.shelf.M.{key}", json.dumps(meta).encode(), {"Nats-Rollup": "sub"})


@last("KV_shared", stores("$KV.shared.key"))
async def bucket_with_limits_and_a_copy_that_serves_reads(place: Place) -> None:
    """A replicated bucket with values of at most a kilobyte, and a mirror that answers direct gets."""
    await place.bucket("shared", 5, max_msg_size=1024, compression="s2", republish={"src": ">", "dest": "changes.>"})
    await place.publish("$KV.shared.key", 5)
    mirror = {"mirror": {"name": "KV_shared"}, "mirror_direct": True, "max_msgs_per_subject": 5}
    await place.stream("KV_shared_near", **{**BUCKET, **mirror, "storage": "memory", "max_bytes": 8 << 20})


async def expect_the_last_id(place: Place) -> None:
    """Names in each message the id of the one before it."""
    info = await api(place.client, "STREAM.INFO.LINKED")
    await place.store("linked.x", b"x", {"Nats-Expected-Last-Sequence": str(info["state"]["last_seq"])})


@last("LINKED", again(expect_the_last_id, 0.2), works("LINKED", "reader"))
async def single_writer_that_expects_its_last_message(place: Place) -> None:
    await place.stream("LINKED", max_msgs=50_000, discard="new")
    await add_consumer(place.client, "LINKED", "reader", ack_policy="explicit", max_waiting=8)


async def work_on_one_for_long(place: Place) -> None:
    """A job takes twenty seconds, and nothing is said meanwhile."""
    subscription = await place.client.jetstream().pull_subscribe_bind("worker", "SERIAL")
    while True:
        with contextlib.suppress(*_TIMEOUTS):
            (message,) = await subscription.fetch(1, timeout=1)
            await asyncio.sleep(20)
            await message.ack()


@last("SERIAL", work_on_one_for_long, slowly("serial.x", 15))
async def one_long_job_after_the_other(place: Place) -> None:
    """`max_ack_pending: 1`, with a wait that is long enough for a job, and jobs that wait their turn."""
    await place.stream("SERIAL", retention="workqueue")
    await add_consumer(place.client, "SERIAL", "worker", max_ack_pending=1, ack_wait=120 * SECOND_NS)
    await place.publish("serial.x", 5)


async def start_over(place: Place) -> None:
    """A run of tests, or an import that begins again: everything is purged."""
    await place.publish("wiped.x", 30)
    await api(place.client, "STREAM.PURGE.WIPED")


@last("WIPED", again(start_over, 1), works("WIPED", "reader"))
async def stream_that_is_purged_while_it_is_read(place: Place) -> None:
    await place.stream("WIPED")
    await add_consumer(place.client, "WIPED", "reader")


@last("TWICE", stores("twice.paid"), stores("twice.sent"), works("TWICECOPY", "reader"))
async def two_sources_of_one_stream(place: Place) -> None:
    """Each with a filter, and a name for what it copies."""
    await place.stream("TWICE")
    sources = [
        {"name": "TWICE", "subject_transforms": [{"src": f"twice.{kind}", "dest": f"twicecopy.{kind}"}]}
        for kind in ("paid", "sent")
    ]
    await place.stream("TWICECOPY", sources=sources)
    await add_consumer(place.client, "TWICECOPY", "reader")


@last("CURRENT", stores("current.x"), works("CURRENT", "display"))
async def stream_of_one_message(place: Place) -> None:
    """The current state and nothing else; a display takes what it can get."""
    await place.stream("CURRENT", max_msgs=1, discard="old", allow_direct=True)
    await add_consumer(place.client, "CURRENT", "display", deliver_policy="last", ack_policy="none")


@last("TRIMMED", stores("trimmed.x"), works("TRIMMED", "late"))
async def consumer_that_starts_at_what_is_gone(place: Place) -> None:
    """From the first message, most of which were removed before it was created."""
    await place.stream("TRIMMED", max_msgs=5000)
    await place.publish("trimmed.x", 60)
    await api(place.client, "STREAM.PURGE.TRIMMED", {"keep": 20})
    await add_consumer(place.client, "TRIMMED", "late", deliver_policy="by_start_sequence", opt_start_seq=1)


PARTITIONS = Habits()
"""Needs an account that maps `events.*` to `events.*.PARTITION`."""


async def publish_events(place: Place) -> None:
    for number in range(9):
        await place.store(f"events.{number}", b"x")


@PARTITIONS.habit(
    "EVENTS", again(publish_events, 0.2), *(acknowledges(f"EVENTS{part}", "worker", batch=1) for part in range(3))
)
async def a_stream_for_each_partition(place: Place) -> None:
    """https://natsbyexample.com/examples/jetstream/partitions/cli, with a bound.

    Declared first: workers that request ten messages at a time. With a limit of one they wait for nine in vain.
    """
    for part in range(3):
        await place.stream(f"EVENTS{part}", subjects=[f"events.*.{part}"], allow_rollup_hdrs=True)
        await add_consumer(place.client, f"EVENTS{part}", "worker", max_ack_pending=1)
