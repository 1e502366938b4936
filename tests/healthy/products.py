"""What products and documented examples do with JetStream."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg

from tests.healthy.frame import habit
from tests.support.applications import (
    TIMEOUTS,
    acknowledge,
    acknowledges,
    again,
    publishes,
    raw_client,
    slowly,
    subscribes,
    works,
)
from tests.support.deployment import HOUR_NS
from tests.support.site import SECOND_NS, Site


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
async def examples_of_the_operator(site: Site) -> None:
    """https://github.com/nats-io/nack/tree/main/deploy/examples: stream, sources, a pull and a push consumer."""
    await site.stream("NACK", subjects=["nack.*"], max_age=HOUR_NS, max_bytes=-1)
    await site.consumer(
        "NACK", "my-pull-consumer", filter_subject="nack.received", max_deliver=20, deliver_policy="all"
    )
    push: dict[str, Any] = {"flow_control": True, "idle_heartbeat": SECOND_NS, "description": "my consumer description"}
    await site.consumer(
        "NACK",
        "my-push-consumer",
        deliver_subject="my-push-consumer.nack",
        deliver_policy="last",
        ack_policy="none",
        **push,
    )
    await site.stream("NACKMORE", subjects=["nackmore.*"], max_age=HOUR_NS, max_bytes=-1)
    await site.stream("NACKSOURCES", sources=[{"name": "NACK"}, {"name": "NACKMORE"}], max_age=HOUR_NS, max_bytes=-1)


DAY_NS = 24 * HOUR_NS


@habit("ISB", publishes("isb.default"), works("ISB", "reader"), publishes("$KV.ISB_OT.pod"))
async def buffers_and_watermarks_of_a_pipeline(site: Site) -> None:
    """https://github.com/numaproj/numaflow/blob/main/config/base/controller-manager/numaflow-controller-config.yaml"""
    week: dict[str, Any] = {"max_age": 7 * DAY_NS, "max_bytes": -1, "max_msg_size": -1}
    await site.stream("ISB", max_msgs=2_000_000, duplicate_window=60 * SECOND_NS, **week)
    await site.consumer("ISB", "reader", ack_wait=60 * SECOND_NS, max_ack_pending=20_000)
    for name, history, age in (("OT", 5, 3 * HOUR_NS), ("PROCESSORS", 1, 72 * HOUR_NS)):
        limits = {"max_age": age, "max_bytes": -1, "max_msg_size": -1}
        await site.bucket(f"ISB_{name}", history, duplicate_window=120 * SECOND_NS, **limits)
        await site.publish(f"$KV.ISB_{name}.pod", 3)


@habit("ARGO", publishes("argo.webhook.example"), works("ARGO", "sensor-a"), works("ARGO", "sensor-b"))
async def event_bus(site: Site) -> None:
    """https://github.com/argoproj/argo-events, the defaults of its controller: 72 hours, 1 GB, a million messages."""
    bounds = {"max_msgs": 1_000_000, "max_age": 72 * HOUR_NS, "max_bytes": 1 << 30}
    await site.stream("ARGO", subjects=["argo.*.*"], duplicate_window=300 * SECOND_NS, discard="old", **bounds)
    for sensor, kind in (("a", "example"), ("b", "other")):
        subject = f"argo.webhook.{kind}"
        await site.consumer("ARGO", f"sensor-{sensor}", deliver_policy="new", filter_subject=subject)


@habit("DAPR", slowly("dapr.orders", 0.05), subscribes("deliver.dapr", queue="group"))
async def push_group_with_backoff(site: Site) -> None:
    """https://docs.dapr.io/reference/components-reference/supported-pubsub/setup-jetstream/"""
    await site.stream("DAPR")
    group: dict[str, Any] = {"deliver_subject": "deliver.dapr", "deliver_group": "group", "max_ack_pending": 5000}
    backoff = [SECOND_NS, 5 * SECOND_NS, 10 * SECOND_NS]
    await site.consumer("DAPR", "durable", max_deliver=5, backoff=backoff, **group)


async def hand_on(site: Site) -> None:
    """Takes received orders and publishes them as processed."""
    subscription = await site.client.jetstream().pull_subscribe_bind("NEW", "ORDERS")
    while True:
        with contextlib.suppress(*TIMEOUTS):
            for message in await subscription.fetch(10, timeout=1):
                await site.store("ORDERS.processed", message.data)
                await message.ack()


@habit(
    "ORDERS",
    publishes("ORDERS.received"),
    hand_on,
    works("ORDERS", "DISPATCH"),
    subscribes("monitor.ORDERS", acknowledge),
)
async def orders_of_the_documentation(site: Site) -> None:
    """https://docs.nats.io/nats-concepts/jetstream/streams/example_configuration: kept for a year, acks are sampled."""
    year: dict[str, Any] = {"max_age": 365 * DAY_NS, "max_bytes": -1, "max_msg_size": -1}
    await site.stream("ORDERS", subjects=["ORDERS.*"], **year)
    await site.consumer("ORDERS", "NEW", filter_subject="ORDERS.received", sample_freq="100")
    await site.consumer("ORDERS", "DISPATCH", filter_subject="ORDERS.processed", sample_freq="100", max_deliver=20)
    monitor: dict[str, Any] = {"deliver_subject": "monitor.ORDERS", "deliver_policy": "last", "ack_policy": "none"}
    await site.consumer("ORDERS", "MONITOR", **monitor)


@habit("CDC", publishes("cdc.users"), works("CDC", "sink"))
async def changes_of_a_database(site: Site) -> None:
    """Changes are kept for minutes, what a new reader starts with for a week, schemas in a bucket."""
    await site.stream("CDC", max_age=600 * SECOND_NS, max_msgs=1_000_000, max_bytes=256 << 20)
    await site.consumer("CDC", "sink", deliver_policy="new")
    await site.stream("CDCINIT", max_age=7 * DAY_NS, max_msgs=10_000_000, max_bytes=256 << 20)
    await site.publish("cdcinit.users", 50)
    await site.bucket("CDCSCHEMAS", 10)
    await site.publish("$KV.CDCSCHEMAS.users", 3)


async def watch_the_market(site: Site) -> None:
    await site.client.jetstream().subscribe("market.>", stream="MARKET", ordered_consumer=True)
    await asyncio.sleep(3600)


@habit("MARKET", publishes("market.btc"), watch_the_market, slowly("marketorders.x", 0.2))
async def prices_in_memory(site: Site) -> None:
    """One replica in memory for an hour, duplicates for five seconds; orders that came of it for a day."""
    prices: dict[str, Any] = {"storage": "memory", "num_replicas": 1, "max_bytes": 16 << 20}
    await site.stream("MARKET", max_age=HOUR_NS, max_msgs=100_000, duplicate_window=5 * SECOND_NS, **prices)
    await site.stream("MARKETORDERS", max_age=DAY_NS, max_msgs=10_000, duplicate_window=10 * SECOND_NS)


async def publish_from_an_outbox(site: Site) -> None:
    """A publisher that names its stream and an id, and sends the last rows again after a restart."""
    batch = site.client.new_inbox().rsplit(".", 1)[-1]
    for row in (*range(10), 8, 9):
        headers = {"Nats-Msg-Id": f"{batch}-{row}", "Nats-Expected-Stream": "OUTBOX"}
        await site.store("outbox.x", b"x", headers)


@habit("OUTBOX", again(publish_from_an_outbox, 0.3), works("OUTBOX", "billing"))
async def outbox_of_a_database(site: Site) -> None:
    await site.stream("OUTBOX", duplicate_window=HOUR_NS)
    await site.consumer("OUTBOX", "billing")


@habit("edge-events", publishes("edge-events.x"), works("edge-events", "edge-events_worker-1"))
async def names_with_hyphens_and_metadata(site: Site) -> None:
    named: dict[str, Any] = {"description": "Events of the edge", "metadata": {"team": "edge", "cost-center": "7"}}
    await site.stream("edge-events", **named)
    await site.consumer("edge-events", "edge-events_worker-1", **named)


async def fail_at_some(site: Site) -> None:
    """A worker that cannot do one job in fifty, however often it is delivered."""
    subscription = await site.client.jetstream().pull_subscribe_bind("worker", "DEAD")
    while True:
        with contextlib.suppress(*TIMEOUTS):
            for message in await subscription.fetch(10, timeout=1):
                await (message.nak() if message.metadata.sequence.stream % 50 == 0 else message.ack())


@habit("DEAD", fail_at_some, slowly("dead.x", 0.1), works("DEADLETTERS", "operator"))
async def dead_letters_by_advisories(site: Site) -> None:
    """A stream of the advisories of messages that ran out of attempts, which somebody reads."""
    await site.stream("DEAD")
    backoff = [SECOND_NS, 2 * SECOND_NS, 4 * SECOND_NS]
    await site.consumer("DEAD", "worker", max_deliver=3, backoff=backoff)
    await site.stream("DEADLETTERS", subjects=["$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.DEAD.>"])
    await site.consumer("DEADLETTERS", "operator")
    for _ in range(49):  # so that the first one fails at once, and its advisory is read before the workers end
        await site.store("dead.x", b"x")


@habit("CRON", works("CRON", "worker"), since=(2, 14))
async def schedules_and_what_they_trigger(site: Site) -> None:
    await site.stream(
        "CRON", subjects=["cron.schedules.>", "cron.ticks.>"], allow_msg_schedules=True, allow_msg_ttl=True
    )
    await site.consumer("CRON", "worker", filter_subject="cron.ticks.>")
    headers = {"Nats-Schedule": "@every 2s", "Nats-Schedule-Target": "cron.ticks.report", "Nats-Schedule-TTL": "1m"}
    await site.store("cron.schedules.report", b"x", headers)


async def publish_events(site: Site) -> None:
    for number in range(9):
        await site.store(f"events.{number}", b"x")


@habit(
    "EVENTS",
    again(publish_events, 0.2),
    *(acknowledges(f"EVENTS{part}", "worker", batch=1) for part in range(3)),
    apart=True,
)
async def a_stream_for_each_partition(site: Site) -> None:
    """https://natsbyexample.com/examples/jetstream/partitions/cli, with a bound."""
    for part in range(3):
        await site.stream(f"EVENTS{part}", subjects=[f"events.*.{part}"], allow_rollup_hdrs=True)
        await site.consumer(f"EVENTS{part}", "worker", max_ack_pending=1)


async def report_on_everything(site: Site) -> None:
    """What a dashboard or an exporter requests every few seconds."""
    for subject in ("INFO", "STREAM.NAMES", "STREAM.INFO.H_REPORT", "CONSUMER.LIST.H_REPORT"):
        await site.api(subject)


@habit("H_REPORT", again(report_on_everything, 1), works("H_REPORT", "worker"), publishes("h_report.x"))
async def dashboard_that_polls(site: Site) -> None:
    """https://github.com/nats-io/prometheus-nats-exporter and others, once a second."""
    await site.stream("H_REPORT")
    await site.consumer("H_REPORT", "worker")


@habit("H_LATENCY", works("H_LATENCY", "worker"), publishes("h_latency.x"), works("H_METRICS", "dashboard"))
async def sampled_acknowledgements_that_are_kept(site: Site) -> None:
    """https://docs.nats.io/running-a-nats-service/nats_admin/monitoring/monitoring_jetstream: a stream of metrics."""
    await site.stream("H_LATENCY")
    await site.consumer("H_LATENCY", "worker", sample_freq="50")
    await site.stream("H_METRICS", subjects=["$JS.EVENT.METRIC.CONSUMER.ACK.H_LATENCY.>"], max_age=HOUR_NS)
    await site.consumer("H_METRICS", "dashboard")


async def call(site: Site) -> None:
    with contextlib.suppress(*TIMEOUTS, nats.errors.NoRespondersError):
        await site.client.request("h_service.add", b"1", timeout=2)


async def answer(message: Msg) -> None:
    await message.respond(b"done")


async def serve(site: Site) -> None:
    await site.client.subscribe("h_service.add", queue="q", cb=answer)
    await asyncio.sleep(3600)


@habit("H_LOG", serve, again(call, 0.05), publishes("h_log.x"), works("H_LOG", "reader"))
async def service_beside_a_stream(site: Site) -> None:
    """https://natsbyexample.com/examples/services/intro/go"""
    await site.stream("H_LOG")
    await site.consumer("H_LOG", "reader", inactive_threshold=24 * HOUR_NS)


async def publish_without_waiting(site: Site) -> None:
    """A collector of logs that publishes and does not wait for acknowledgements."""
    for _ in range(20):
        await site.client.publish("h_logs.app", b"x" * 200)
    await site.client.flush()


@habit("H_LOGS", again(publish_without_waiting, 0.2), works("H_LOGS", "indexer"))
async def collector_that_does_not_wait(site: Site) -> None:
    """https://vector.dev/docs/reference/configuration/sinks/nats/ without JetStream acknowledgements."""
    await site.stream("H_LOGS", max_msgs=200_000, discard="old", compression="s2")
    await site.consumer("H_LOGS", "indexer", max_ack_pending=10_000)


async def all_at_once(site: Site) -> None:
    """A proxy restarts, and thirty clients of one name reconnect."""
    for _ in range(2):
        async with contextlib.AsyncExitStack() as all_of_them:
            for _ in range(30):
                await all_of_them.enter_async_context(raw_client(site, "k-behind-a-proxy"))
            await asyncio.sleep(4)
    await asyncio.sleep(3600)


async def named_client(site: Site, name: str) -> Client:
    url = site.client.connected_url
    assert url is not None
    return await nats.connect(f"nats://app:app@{url.hostname}:{url.port}", name=name, allow_reconnect=False)


async def replace_one_by_one(site: Site) -> None:
    """A rolling deploy of ten replicas."""
    old = [await named_client(site, "k-replica") for _ in range(10)]
    new = []
    try:
        for each in old:
            new.append(await named_client(site, "k-replica"))
            await each.drain()
            await asyncio.sleep(1)
        await asyncio.sleep(3600)
    finally:
        for each in (*old, *new):
            await each.close()


@contextlib.asynccontextmanager
async def working_client(site: Site, name: str) -> AsyncIterator[Client]:
    """A client that is closed whenever its work ends."""
    client = await named_client(site, name)
    try:
        yield client
    finally:
        await client.close()


async def run_a_command(site: Site) -> None:
    """A script that calls a command line tool every few seconds."""
    while True:
        async with working_client(site, "k-script") as client:
            await client.publish("k.script", b"x")
        await asyncio.sleep(5)


@habit("K_CLIENTS", run_a_command, replace_one_by_one, all_at_once)
async def clients_that_come_and_go(site: Site) -> None:
    """They need no stream."""


async def order_a_job(site: Site) -> None:
    await site.publish("u_scale.job", 1)


async def scale_with_the_backlog(site: Site) -> None:
    """A worker is started once ten messages wait, and ended when none has waited for a while."""
    while True:
        waiting = (await site.api("CONSUMER.INFO.U_SCALE.worker"))["num_pending"]
        if waiting >= 10:
            subscription = await site.client.jetstream().pull_subscribe_bind("worker", "U_SCALE")
            with contextlib.suppress(TimeoutError, nats.errors.TimeoutError):
                while True:
                    for message in await subscription.fetch(10, timeout=2):
                        await message.ack()
            await subscription.unsubscribe()
        await asyncio.sleep(1)


@habit("U_SCALE", scale_with_the_backlog, again(order_a_job, 0.5))
async def workers_that_are_scaled_to_none(site: Site) -> None:
    """https://keda.sh/docs/2.19/scalers/nats-jetstream: `minReplicaCount: 0`, `activationLagThreshold`."""
    await site.stream("U_SCALE", retention="workqueue")
    await site.consumer("U_SCALE", "worker")
    await site.publish("u_scale.job", 4)


async def enter_and_leave(site: Site) -> None:
    """One program more than the governor lets in tries again every second."""
    for _ in range(6):
        reply = await site.client.request("$GOVERNOR.campaign.u_builds", b"host", timeout=10)
        answer = json.loads(reply.data)
        assert "error" not in answer or "maximum messages" in answer["error"]["description"], answer
    await asyncio.sleep(3)
    info = await site.api("STREAM.INFO.GOVERNOR_u_builds")
    with contextlib.suppress(AssertionError):
        await site.api("STREAM.MSG.DELETE.GOVERNOR_u_builds", {"seq": info["state"]["first_seq"]})


@habit("GOVERNOR_u_builds", again(enter_and_leave, 0.5))
async def semaphore_of_which_all_places_are_taken(site: Site) -> None:
    """https://github.com/nats-io/jsm.go/tree/main/governor: a full stream that refuses is what it is for."""
    slots = {"max_msgs": 5, "max_age": 300 * SECOND_NS, "discard": "new"}
    await site.stream("GOVERNOR_u_builds", subjects=["$GOVERNOR.campaign.u_builds"], **slots)
    await site.publish("$GOVERNOR.campaign.u_builds", 5)


async def control(site: Site) -> None:
    """Events of hosts, commands that follow from them, and the status of the application."""
    await site.publish("u_wadmbus.evt.default.heartbeat", 1)
    await site.publish("u_wadm.cmd.default", 1)
    await site.publish("u_wadm.notify.default", 1)
    await site.publish("u_wadm.status.default.shop", 1)


@habit(
    "U_WADM",
    again(control, 0.3),
    works("U_WADMcommands", "wadm_command_default"),
    works("U_WADMconsumer", "wadm_event_default"),
    works("U_WADMnotify", "wadm_notify_default"),
)
async def streams_of_an_application_manager(site: Site) -> None:
    """https://github.com/wasmCloud/wadm/blob/main/crates/wadm/src/nats.rs: a queue that collects and renames."""
    brief = {"max_age": HOUR_NS, "max_bytes": -1}
    await site.stream("U_WADMbus", subjects=["u_wadmbus.evt.*.>"], **brief)
    await site.stream("U_WADMcommands", subjects=["u_wadm.cmd.*"], retention="workqueue", **brief)
    await site.stream("U_WADMnotify", subjects=["u_wadm.notify.*"], retention="interest", **brief)
    renamed = [{"src": "u_wadmbus.evt.*.>", "dest": "u_wadm_consumer.evt.{{wildcard(1)}}.>"}]
    collected = [{"name": "U_WADMbus", "subject_transforms": renamed}]
    await site.stream("U_WADMconsumer", sources=collected, retention="workqueue", **brief)
    last_ten = {"max_msgs_per_subject": 10, "max_age": 0, "max_bytes": -1, "allow_direct": True}
    await site.stream("U_WADMstatus", subjects=["u_wadm.status.*.*"], **last_ten)
    await site.bucket("u_wadm_state", max_age=0)
    await site.consumer("U_WADMcommands", "wadm_command_default", filter_subject="u_wadm.cmd.default")
    event: dict[str, Any] = {"filter_subject": "u_wadm_consumer.evt.default.>", "max_deliver": 3}
    await site.consumer("U_WADMconsumer", "wadm_event_default", ack_wait=2 * SECOND_NS, **event)
    await site.consumer("U_WADMnotify", "wadm_notify_default")


async def probe(site: Site) -> None:
    """Publish, read it back with a consumer of its own, and remove both."""
    await site.publish("n_probe.beat", 1)
    config = {"deliver_policy": "last", "inactive_threshold": 30 * SECOND_NS}
    await site.consumer("N_PROBE", "probe", durable=False, **config)
    subscription = await site.client.jetstream().pull_subscribe_bind("probe", "N_PROBE")
    with contextlib.suppress(TimeoutError, nats.errors.TimeoutError):
        for message in await subscription.fetch(1, timeout=2):
            await message.ack()
    await subscription.unsubscribe()
    with contextlib.suppress(AssertionError):
        await site.api("CONSUMER.DELETE.N_PROBE.probe")
        await site.api("STREAM.PURGE.N_PROBE")


@habit("N_PROBE", again(probe, 0.5))
async def monitor_that_publishes_reads_back_and_removes(site: Site) -> None:
    """https://github.com/nats-io/natscli/blob/main/cli/server_check_command.go: `nats server check message`."""
    await site.stream("N_PROBE", max_msgs=10)
