"""Faults of streams: limits, retention, replicas, thresholds in their metadata."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.real.ward import Site, plant
from tests.support.deployment import HOUR_NS
from tests.support.stopped_mirror import add_stopped_mirror
from tests.support.stored import store, store_again


async def update(site: Site, stream: str, **changes: Any) -> None:
    """Change some keys of a stream's configuration, as an operator would."""
    config = (await site.api(f"STREAM.INFO.{stream}"))["config"]
    await site.api(f"STREAM.UPDATE.{stream}", {**config, **changes})


async def keep_publishing(site: Site, subject: str, size: int = 64) -> None:
    """A publisher that goes on while the check looks."""
    while not site.stopping:
        await site.publish(subject, 1, size)
        await asyncio.sleep(0.05)


@plant("JSD601", "APP/P601", severity="warning")
async def no_limit(site: Site) -> None:
    await site.stream("P601", subjects=["p601"], max_age=0, max_bytes=-1)
    await site.publish("p601", 3)


@no_limit.cure
async def one_limit(site: Site) -> None:
    await update(site, "P601", max_msgs=1000)


@plant("JSD602", "APP/P602", severity="error")
async def nearly_full(site: Site) -> None:
    """Nineteen of twenty, and the twenty-first would be refused."""
    await site.stream("P602", subjects=["p602"], max_msgs=20, discard="new")
    await site.publish("p602", 19)


@nearly_full.cure
async def larger(site: Site) -> None:
    await update(site, "P602", max_msgs=40)


@plant("JSD602", "APP/P602_WORK", severity="error", also={"JSD206"})
async def work_about_to_be_deleted(site: Site) -> None:
    """A full work queue with the default discard policy: unprocessed work goes."""
    await site.stream("P602_WORK", subjects=["p602.work"], max_msgs=10, retention="workqueue")
    await site.consumer("P602_WORK", "worker")
    await site.publish("p602.work", 12)


@work_about_to_be_deleted.cure
async def work_done(site: Site) -> None:
    await site.fetch("P602_WORK", "worker", 10)


@plant("JSD603", "APP/P603", severity="error")
async def full(site: Site) -> None:
    await site.stream("P603", subjects=["p603"], max_msgs=5, discard="new")
    await site.publish("p603", 5)
    await site.publish("p603", 1)  # refused, and nobody but the publisher is told


@full.cure
async def purged(site: Site) -> None:
    await site.api("STREAM.PURGE.P603")


@plant("JSD603", "APP/P603_BYTES", severity="error")
async def full_of_bytes(site: Site) -> None:
    await site.stream("P603_BYTES", subjects=["p603.bytes"], max_bytes=10_000, discard="new")
    await site.publish("p603.bytes", 12, size=1000)


@full_of_bytes.cure
async def doubled(site: Site) -> None:
    await update(site, "P603_BYTES", max_bytes=20_000)


@plant("JSD604", "APP/P604", severity="error")
async def nobody_interested(site: Site) -> None:
    """Everything is acknowledged and dropped."""
    await site.stream("P604", subjects=["p604"], retention="interest")
    site.background(keep_publishing(site, "p604"))


@nobody_interested.cure
async def somebody_interested(site: Site) -> None:
    await site.consumer("P604", "reader")


@plant("JSD604", "APP/P604_LEFT", severity="error")
async def deliveries_used_up(site: Site) -> None:
    """One delivery each, no acknowledgement: the messages stay in the queue for ever."""
    await site.stream("P604_LEFT", subjects=["p604.left"], retention="workqueue")
    await site.consumer("P604_LEFT", "worker", max_deliver=1, ack_wait=300_000_000)
    await site.publish("p604.left", 4)
    await site.fetch("P604_LEFT", "worker", 4, ack=False)
    await asyncio.sleep(1)
    await site.fetch("P604_LEFT", "worker", 1, ack=False)  # makes the consumer notice that their time is up


@deliveries_used_up.cure
async def left_overs_deleted(site: Site) -> None:
    await site.api("STREAM.PURGE.P604_LEFT")


@plant("JSD604", "APP/P604_GAP", severity="warning")
async def subject_nobody_takes(site: Site) -> None:
    await site.stream("P604_GAP", subjects=["p604.gap.>", "p604.extra"], retention="workqueue")
    await site.consumer("P604_GAP", "worker", filter_subject="p604.gap.>")


@subject_nobody_takes.cure
async def somebody_takes_it(site: Site) -> None:
    await site.consumer("P604_GAP", "extra", filter_subject="p604.extra")


@plant("JSD604", "APP/P604_COPIED", severity="warning", before=(2, 14))
async def queue_read_by_a_mirror(site: Site) -> None:
    """From 2.14 on the mirror reads through a consumer that acknowledges: no trap any more."""
    await site.stream("P604_COPIED", subjects=["p604.copied"], retention="workqueue")
    await site.consumer("P604_COPIED", "worker")
    await site.stream("P604_MIRROR", mirror={"name": "P604_COPIED"})


@queue_read_by_a_mirror.cure
async def mirror_gone(site: Site) -> None:
    await site.api("STREAM.DELETE.P604_MIRROR")


@plant("JSD605", "APP/P605", severity="warning", topologies=("three-nodes",))
async def one_replica(site: Site) -> None:
    """A single server has no choice: this needs a cluster."""
    await site.stream("P605", subjects=["p605"], num_replicas=1)


@one_replica.cure
async def three_replicas(site: Site) -> None:
    await update(site, "P605", num_replicas=3)


@plant("JSD605", "APP/P605_EVEN", severity="warning", topologies=("three-nodes",))
async def two_replicas(site: Site) -> None:
    await site.stream("P605_EVEN", subjects=["p605.even"], num_replicas=2)


@two_replicas.cure
async def one_more_replica(site: Site) -> None:
    await update(site, "P605_EVEN", num_replicas=3)


@plant("JSD608", "APP/P608", severity="critical")
async def too_few_messages(site: Site) -> None:
    wish = {"io.nats.monitor.enabled": "true", "io.nats.monitor.msgs-critical": "5"}
    await site.stream("P608", subjects=["p608"], metadata=wish)
    await site.publish("p608", 5)


@too_few_messages.cure
async def enough_messages(site: Site) -> None:
    await site.publish("p608", 1)


@plant("JSD610", "APP/P610", severity="warning")
async def silence(site: Site) -> None:
    await site.stream("P610", subjects=["p610"], no_ack=True)


@silence.cure
async def acknowledged(site: Site) -> None:
    await update(site, "P610", no_ack=False)


@plant("JSD612", "APP/P612", severity="error")
async def larger_than_the_stream(site: Site) -> None:
    """Each message is acknowledged and gone."""
    await site.stream("P612", subjects=["p612"], max_bytes=500)
    site.background(keep_publishing(site, "p612", size=1000))


@larger_than_the_stream.cure
async def refused_instead(site: Site) -> None:
    await update(site, "P612", max_msg_size=400)


@plant("JSD607", "APP/P607", severity="error")
async def mirror_of_nothing(site: Site) -> None:
    """The origin was deleted before anything was copied; that a server finds out about a later loss takes it 20 s."""
    await site.stream("P607", mirror={"name": "P607_ORIGIN"})


@mirror_of_nothing.cure
async def origin_made(site: Site) -> None:
    """A mirror looks for its origin again after some seconds, then later and later: making it anew is faster."""
    await site.api("STREAM.DELETE.P607")
    await site.stream("P607_ORIGIN", subjects=["p607"])
    await site.stream("P607", mirror={"name": "P607_ORIGIN"})


@plant("JSD607", "APP/P607_REPEATED", severity="error", before=(2, 12), also={"JSD605"})
async def repeated_ids_upstream(site: Site) -> None:
    """Before 2.12.8 a mirror with one replica stops at a repeated id and says that its lag is 0."""
    await repeated_ids(site, "P607_ORIGINAL", "p607.repeated")
    await add_stopped_mirror(site.client, "P607_REPEATED", "P607_ORIGINAL", max_age=HOUR_NS, max_bytes=8 << 20)
    await in_step(site, "P607_REPEATED", 1)


@repeated_ids_upstream.cure
async def mirror_given_up(site: Site) -> None:
    await site.api("STREAM.DELETE.P607_REPEATED")


@plant("JSD607", "APP/P607_SOURCED", severity="error", before=(2, 12), also={"JSD605"})
async def repeated_ids_in_a_source(site: Site) -> None:
    await repeated_ids(site, "P607_SOURCE", "p607.source")
    await site.stream("P607_SOURCED", num_replicas=1, sources=[{"name": "P607_SOURCE"}])
    await in_step(site, "P607_SOURCED", 1)


@repeated_ids_in_a_source.cure
async def total_given_up(site: Site) -> None:
    """A shorter window lets a single server go on, but not every cluster."""
    await site.api("STREAM.DELETE.P607_SOURCED")


async def repeated_ids(site: Site, stream: str, subject: str) -> None:
    """Three messages of two ids: a window as short as servers allow lets the second one of an id in."""
    await site.stream(stream, subjects=[subject], duplicate_window=100_000_000)
    await store(site.client, subject, "1")
    await store_again(site.client, subject, "1")
    await store(site.client, subject, "2")


async def in_step(site: Site, stream: str, messages: int) -> None:
    """Wait until the copy holds that many messages, and for as long as the rule gives a server out of breath."""
    for _ in range(100):
        if (await site.api(f"STREAM.INFO.{stream}"))["state"]["messages"] >= messages:
            await asyncio.sleep(10)
            return
        await asyncio.sleep(0.2)
    raise AssertionError(f"{stream} did not get {messages} messages")


@plant("JSD619", "APP/P619", severity="warning")
async def inboxes_are_stored(site: Site) -> None:
    """Inboxes for a single reply: those of requests have a token more, and stay out of it."""
    await site.stream("P619", subjects=["_INBOX.*"])


@inboxes_are_stored.cure
async def named_subjects(site: Site) -> None:
    await update(site, "P619", subjects=["p619.>"])
