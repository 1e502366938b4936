"""Faults of consumers: stalls, lag, redelivery, and what lies in their configuration."""

import asyncio
import contextlib
import time
from pathlib import Path
from typing import Any

import nats
import nats.errors

from jsdoctor.demo.server import free_ports
from jsdoctor.model.server_defaults import DEFAULT_MAX_WAITING
from tests.clients.mqtt import mqtt_session
from tests.faults.planting import fault
from tests.servers import wait_until
from tests.servers.deployments import furnished, single, stored
from tests.servers.landscape import Landscape
from tests.servers.relay import Relay
from tests.support.applications import acknowledge, answers, fetches, ignore, publishes, pulls, subscribes, take, works
from tests.support.deployment import HOUR_NS
from tests.support.site import SECOND_NS, Site


async def work(site: Site, stream: str, consumer: str, *, done: int, arriving: float, tick_s: float) -> None:
    """A worker at a steady pace, and publishers: per tick so many messages acknowledged, so many published."""
    inbox = site.client.new_inbox()
    subscription = await site.client.subscribe(inbox)
    left, owed = 0, 0.0
    while not site.stopping:
        for _ in range(done):
            if left == 0:
                left = 50
                await site.ask(stream, consumer, inbox, batch=50)
            await (await subscription.next_msg(timeout=10)).respond(b"+ACK")
            left -= 1
        owed += arriving
        while owed >= 1:
            await site.client.publish(stream.lower(), b"x")
            owed -= 1
        await asyncio.sleep(tick_s)
    await subscription.unsubscribe()


@fault("JSD401", "APP/P401/worker", severity="warning", cure=lambda site: empty(site, "P401"))
async def level_lag(site: Site) -> None:
    """A backlog of eleven thousand; as much arrives as is worked off."""
    await site.stream("P401", subjects=["p401"])
    await site.consumer("P401", "worker")
    await site.fill("p401", 11_000)
    # A little more than what is done, less than counts as growth: the lag must not seem to fall by chance.
    site.background(work(site, "P401", "worker", done=2, arriving=2.04, tick_s=0.02))


async def empty(site: Site, stream: str) -> None:
    """Take the backlog away."""
    await site.api(f"STREAM.PURGE.{stream}")


@fault("JSD402", "APP/P402/worker", severity="warning", cure=lambda site: empty(site, "P402"))
async def growing_lag(site: Site) -> None:
    """Four messages arrive for each that is acknowledged. The stream has room for days."""
    await site.stream("P402", subjects=["p402"], max_bytes=256 << 20)
    await site.consumer("P402", "worker", max_ack_pending=100)
    await site.fill("p402", 3_500)  # more than a minute of the growth: less would be information, as of a burst
    site.background(work(site, "P402", "worker", done=1, arriving=4, tick_s=0.1))


@fault("JSD413", "APP/P413/worker", severity="error", also={"JSD402"}, cure=lambda site: empty(site, "P413"))
async def limit_is_near(site: Site) -> None:
    """Half of what the stream may hold lies behind the consumer, and thirty messages more each second."""
    await site.stream("P413", subjects=["p413"], max_msgs=3_000)
    await site.consumer("P413", "worker", max_ack_pending=100)
    await site.fill("p413", 1_500)
    site.background(work(site, "P413", "worker", done=1, arriving=4, tick_s=0.1))


@fault(
    "JSD403",
    "APP/P403/worker",
    severity="error",
    cure=lambda site: site.consumer("P403", "worker", max_ack_pending=100, ack_wait=SECOND_NS),
)
async def slots_taken(site: Site) -> None:
    """A worker fetched all it may have and died longer ago than `ack_wait`."""
    await site.stream("P403", subjects=["p403"])
    await site.consumer("P403", "worker", max_ack_pending=5, ack_wait=SECOND_NS)
    await site.publish("p403", 20)
    await site.fetch("P403", "worker", 5, ack=False)


async def refuse(site: Site, stream: str, consumer: str, count: int, rounds: int) -> None:
    """Fetch `count` messages and refuse them, so many times."""
    inbox = site.client.new_inbox()
    subscription = await site.client.subscribe(inbox)
    for _ in range(rounds):
        await site.ask(stream, consumer, inbox, batch=count, expires=5 * SECOND_NS)
        for _ in range(count):
            await (await subscription.next_msg(timeout=10)).respond(b"-NAK")
    await subscription.unsubscribe()


async def refusing(site: Site, stream: str, consumer: str, count: int) -> None:
    """A worker that refuses everything for as long as the check looks."""
    while not site.stopping:
        await refuse(site, stream, consumer, count, rounds=1)
        await asyncio.sleep(0.02)


@fault("JSD403", "APP/P403B/worker", severity="error", cure=lambda site: site.fetch("P403B", "worker", 20))
async def poisoned_slots(site: Site) -> None:
    """Every message that takes a place fails, again and again: no repeats are reported beside it."""
    await site.stream("P403B", subjects=["p403b"])
    await site.consumer("P403B", "worker", max_ack_pending=3, ack_wait=SECOND_NS)
    await site.publish("p403b", 20)
    await refuse(site, "P403B", "worker", 3, rounds=3)
    site.background(refusing(site, "P403B", "worker", 3))


@fault(
    "JSD403",
    "APP/P403C/worker",
    severity="warning",
    cure=lambda site: site.consumer("P403C", "worker", max_ack_pending=100, ack_wait=HOUR_NS),
)
async def slots_taken_for_an_hour(site: Site) -> None:
    """All slots are taken, `ack_wait` allows that for an hour, and requests of workers wait meanwhile."""
    await site.stream("P403C", subjects=["p403c"])
    await site.consumer("P403C", "worker", max_ack_pending=5, ack_wait=HOUR_NS)
    await site.publish("p403c", 20)
    await site.fetch("P403C", "worker", 5, ack=False)
    inbox = site.client.new_inbox()
    await site.client.subscribe(inbox)
    await site.ask("P403C", "worker", inbox, batch=1, expires=120 * SECOND_NS)


async def first_block(site: Site, stream: str, consumer: str) -> Path:
    """The file with a stream's first messages on the server that leads the consumer."""
    info = await site.api(f"CONSUMER.INFO.{stream}.{consumer}")
    leader = info.get("cluster", {}).get("leader") or site.cluster.names[0]
    return next(site.cluster.store_dir(leader).glob(f"**/APP/streams/{stream}/msgs")) / "1.blk"


async def still_delivers(site: Site, stream: str, consumer: str) -> bool:
    """Whether the server delivers one message; if not, the request for it stays open."""
    inbox = site.client.new_inbox()
    subscription = await site.client.subscribe(inbox)
    await site.ask(stream, consumer, inbox, batch=1, expires=120 * SECOND_NS)
    try:
        await subscription.next_msg(timeout=2)
    except nats.errors.TimeoutError:
        return False
    return True


@fault("JSD404", "APP/P404/worker", severity="error")
async def unreadable_store(site: Site) -> None:
    """The server that leads the consumer cannot read the messages: a directory lies where a block of them was."""
    # So small that the store uses small blocks: what is in finished ones is read from disk.
    await site.stream("P404", subjects=["p404"], max_bytes=120_000)
    await site.consumer("P404", "worker")
    await site.publish("p404", 80, size=1_000)
    block = await first_block(site, "P404", "worker")
    # This server may apply the last messages a little later than the others; only then the first block is finished.
    third = block.with_name("3.blk")
    await asyncio.to_thread(wait_until, lambda: third.exists() and third.stat().st_size > 0, f"{third}", timeout=20)
    block.rename(block.with_suffix(".kept"))
    block.mkdir()
    for _ in range(5):
        if not await still_delivers(site, "P404", "worker"):
            break
        # A busy server may keep what it wrote in memory, until nobody has asked for it for ten seconds.
        await asyncio.sleep(11)
    # With the time between the samples, longer than the rule wants to see nothing delivered.
    await asyncio.sleep(3)


@unreadable_store.cured_by
async def readable_store(site: Site) -> None:
    block = await first_block(site, "P404", "worker")
    block.rmdir()
    block.with_suffix(".kept").rename(block)
    assert await site.fetch("P404", "worker", 70)


@fault("JSD405", "APP/P405/push", severity="warning")
async def nobody_subscribed(site: Site) -> None:
    """A push consumer without a subscriber."""
    await site.stream("P405", subjects=["p405"])
    await site.consumer("P405", "push", deliver_subject="deliver.p405")
    await site.publish("p405", 5)


async def delivered(site: Site, stream: str, consumer: str) -> None:
    """Wait until a consumer has nothing more to deliver."""
    for _ in range(400):
        if (await site.api(f"CONSUMER.INFO.{stream}.{consumer}"))["num_pending"] == 0:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{stream} > {consumer} did not deliver everything")


@nobody_subscribed.cured_by
async def somebody_subscribed(site: Site) -> None:
    await site.client.subscribe("deliver.p405", cb=acknowledge)
    await delivered(site, "P405", "push")


async def keep_up(site: Site, stream: str, consumer: str) -> None:
    """A worker that takes whatever comes."""
    while not site.stopping:
        await site.fetch(stream, consumer, 50)


@fault("JSD406", "APP/P406/slow", severity="info", also={"JSD401"}, cure=lambda site: empty(site, "P406"))
async def laggard(site: Site) -> None:
    """Two consumers of all messages: one keeps up, the other is eleven thousand behind."""
    await site.stream("P406", subjects=["p406"])
    await site.consumer("P406", "slow")
    await site.fill("p406", 11_000)
    await site.consumer("P406", "quick", deliver_policy="new")
    site.background(work(site, "P406", "slow", done=2, arriving=2.04, tick_s=0.02))
    site.background(keep_up(site, "P406", "quick"))


@fault("JSD408", "APP/P408/worker", severity="error", cure=lambda site: site.fetch("P408", "worker", 5))
async def refused_messages(site: Site) -> None:
    """Five messages are refused again and again without a delay."""
    await site.stream("P408", subjects=["p408"])
    await site.consumer("P408", "worker")
    await site.publish("p408", 5)
    site.background(refusing(site, "P408", "worker", 5))


async def give_up(site: Site, stream: str, times: int) -> None:
    """Three messages, each delivered `times` times and never acknowledged, then one that is."""
    await site.stream(stream, subjects=[stream.lower()])
    await site.consumer(stream, "worker", max_deliver=times, ack_wait=SECOND_NS)
    await site.publish(stream.lower(), 3)
    for _ in range(times):
        await site.fetch(stream, "worker", 3, ack=False)
        await asyncio.sleep(1.3)


@fault("JSD409", "APP/P409/worker", severity="warning")
async def given_up_after_two(site: Site) -> None:
    """The worker goes on with the next message: only the count of redelivered ones tells."""
    await give_up(site, "P409", 2)
    await site.publish("p409", 1)
    await site.fetch("P409", "worker", 1)


@given_up_after_two.cured_by
async def deleted(site: Site) -> None:
    """Taken out of the stream; servers before 2.14 go on counting while other messages of the range are there."""
    await site.api("STREAM.PURGE.P409")


@fault("JSD409", "APP/P4090/worker", severity="warning", cure=lambda site: site.api("STREAM.PURGE.P4090"))
async def exhausted_without_requests(site: Site) -> None:
    """All of them had their last delivery, and nobody asked for more since: they still count as pending."""
    await give_up(site, "P4090", 2)


@fault(
    "JSD409", "APP/P4091/worker", severity="warning", since=(2, 11), cure=lambda site: site.api("STREAM.PURGE.P4091")
)
async def given_up_after_one(site: Site) -> None:
    """Nothing is counted with a limit of one; the ack floor stays behind until the next acknowledgement."""
    await give_up(site, "P4091", 1)


@fault("JSD409", "APP/P409_LOWERED/worker", severity="warning", cure=lambda site: site.api("STREAM.PURGE.P409_LOWERED"))
async def limit_lowered_below_what_was_tried(site: Site) -> None:
    """https://github.com/nats-io/nats-server/issues/7148: up to 2.12 without an advisory, too."""
    await site.stream("P409_LOWERED", subjects=["p409.lowered"])
    await site.consumer("P409_LOWERED", "worker", max_deliver=-1, ack_wait=SECOND_NS)
    await site.publish("p409.lowered", 1)
    for _ in range(3):
        await site.fetch("P409_LOWERED", "worker", 1, ack=False)
        await asyncio.sleep(1.3)
    await site.consumer("P409_LOWERED", "worker", max_deliver=1, ack_wait=SECOND_NS)
    await site.fetch("P409_LOWERED", "worker", 1, ack=False)
    await asyncio.sleep(1.3)


@fault(
    "JSD407",
    "APP/P407/late",
    severity="warning",
    cure=lambda site: recreate(site, "P407", "late", deliver_policy="by_start_sequence", opt_start_seq=11),
)
async def start_beyond_the_end(site: Site) -> None:
    """Asks for message 500 of ten: 2.12 and later wait for it, 2.10 starts with the next one."""
    await site.stream("P407", subjects=["p407"])
    await site.publish("p407", 10)
    await site.consumer("P407", "late", deliver_policy="by_start_sequence", opt_start_seq=500)


async def recreate(site: Site, stream: str, name: str, **config: Any) -> None:
    """Policies cannot be changed: delete and create again.

    A cluster may lose the answer to a creation that follows a deletion closely, so it is asked for again: creating what
    is there already, just so, is no error.
    """
    await site.api(f"CONSUMER.DELETE.{stream}.{name}")
    for _ in range(3):
        with contextlib.suppress(nats.errors.TimeoutError):
            await site.consumer(stream, name, **config)
            return
    raise AssertionError(f"{stream} > {name} could not be created again")


@fault(
    "JSD407",
    "APP/P4070/gone",
    severity="warning",
    also={"JSD206", "JSD618"},
    cure=lambda site: recreate(site, "P4070", "gone", deliver_policy="by_start_sequence", opt_start_seq=16),
)
async def start_before_the_first(site: Site) -> None:
    """Asks for message 5 when only the last five of twenty are left.

    A consumer whose leader has not removed all of them yet starts at one that is removed next (JSD206).
    """
    await site.stream("P4070", subjects=["p4070"], max_msgs=5)
    await site.publish("p4070", 20)
    await site.consumer("P4070", "gone", deliver_policy="by_start_sequence", opt_start_seq=5)


@fault(
    "JSD407",
    "APP/P4071/session",
    severity="info",
    cure=lambda site: site.consumer("P4071", "session", deliver_policy="new"),
)
async def forgets_and_skips(site: Site) -> None:
    """Deleted after two hours of absence, then started anew at the end."""
    await site.stream("P4071", subjects=["p4071"])
    await site.consumer("P4071", "session", deliver_policy="new", inactive_threshold=2 * HOUR_NS)


@fault(
    "JSD410",
    "APP/P410/hasty",
    severity="warning",
    cure=lambda site: site.consumer("P410", "hasty", ack_wait=30 * SECOND_NS),
)
async def ack_wait_of_milliseconds(site: Site) -> None:
    """50 ms to acknowledge."""
    await site.stream("P410", subjects=["p410"])
    await site.consumer("P410", "hasty", ack_wait=SECOND_NS // 20)


@fault(
    "JSD410",
    "APP/P4100/backoff",
    severity="warning",
    cure=lambda site: site.consumer("P4100", "backoff", backoff=[30 * SECOND_NS, 60 * SECOND_NS], max_deliver=5),
)
async def backoff_overrides(site: Site) -> None:
    """30 s were asked for, but the first step of the backoff is what counts."""
    await site.stream("P4100", subjects=["p4100"])
    backoff = [SECOND_NS // 10, SECOND_NS]
    await site.consumer("P4100", "backoff", ack_wait=30 * SECOND_NS, backoff=backoff, max_deliver=5)


@fault("JSD412", "APP/P412/tap", severity="warning", cure=lambda site: recreate(site, "P412", "tap"))
async def nothing_acknowledged(site: Site) -> None:
    """A durable without acknowledgements on a stream that deletes what was sent."""
    await site.stream("P412", subjects=["p412"], retention="interest")
    await site.consumer("P412", "tap", ack_policy="none")


@fault(
    "JSD412",
    "APP/P4120/shared",
    severity="warning",
    cure=lambda site: recreate(site, "P4120", "shared", deliver_subject="deliver.p4120", deliver_group="workers"),
)
async def group_acknowledges_all(site: Site) -> None:
    """Members of a queue group acknowledge for each other."""
    await site.stream("P4120", subjects=["p4120"])
    group = {"deliver_subject": "deliver.p4120", "deliver_group": "workers"}
    await site.client.subscribe(group["deliver_subject"], queue=group["deliver_group"])
    await site.consumer("P4120", "shared", ack_policy="all", **group)


@fault("JSD414", "APP/P414/fleeting", severity="warning", cure=lambda site: site.consumer("P414", "fleeting"))
async def short_lived_durable(site: Site) -> None:
    """Five minutes without its application delete it."""
    await site.stream("P414", subjects=["p414"])
    await site.consumer("P414", "fleeting", inactive_threshold=300 * SECOND_NS)


@fault(
    "JSD414",
    "APP/P4140/paused",
    severity="info",
    since=(2, 11),
    cure=lambda site: site.api("CONSUMER.PAUSE.P4140.paused"),
)
async def paused(site: Site) -> None:
    """Paused far into the future. 2.10 cannot pause."""
    await site.stream("P4140", subjects=["p4140"])
    await site.consumer("P4140", "paused")
    await site.api("CONSUMER.PAUSE.P4140.paused", {"pause_until": "2199-01-01T00:00:00Z"})


@fault("JSD415", "APP/P415/watched", severity="critical")
async def past_its_own_threshold(site: Site) -> None:
    """Five messages unacknowledged where its owner allows two."""
    await site.stream("P415", subjects=["p415"])
    metadata = {"io.nats.monitor.enabled": "true", "io.nats.monitor.outstanding-ack-critical": "3"}
    await site.consumer("P415", "watched", metadata=metadata, ack_wait=HOUR_NS)
    await site.publish("p415", 5)
    await site.fetch("P415", "watched", 5, ack=False)


@past_its_own_threshold.cured_by
async def threshold_raised(site: Site) -> None:
    metadata = {"io.nats.monitor.enabled": "true", "io.nats.monitor.outstanding-ack-critical": "6"}
    await site.consumer("P415", "watched", metadata=metadata, ack_wait=HOUR_NS)


@fault(
    "JSD416",
    "APP/P416/typo",
    severity="warning",
    cure=lambda site: site.consumer("P416", "typo", filter_subject="p416.orders.new"),
)
async def filter_outside(site: Site) -> None:
    """One letter is missing in the filter."""
    await site.stream("P416", subjects=["p416.orders.>"])
    await site.publish("p416.orders.new", 3)
    await site.consumer("P416", "typo", filter_subject="p416.order.new")


@fault(
    "JSD422",
    "APP/P422/twin",
    severity="info",
    cure=lambda site: site.consumer("P422", "twin", deliver_subject="deliver.p422.twin"),
)
async def one_subject_for_two(site: Site) -> None:
    """Both deliver everything to one subject, to which nobody subscribes yet."""
    await site.stream("P422", subjects=["p422"])
    await site.consumer("P422", "first", deliver_subject="deliver.p422")
    await site.consumer("P422", "twin", deliver_subject="deliver.p422")


@fault(
    "JSD424",
    "APP/P424/worker",
    severity="warning",
    cure=lambda site: site.consumer("P424", "worker", ack_wait=10 * SECOND_NS),
)
async def work_that_expires(site: Site) -> None:
    """A message lives for as long as a worker may hold it."""
    await site.stream("P424", subjects=["p424"], retention="workqueue", max_age=30 * SECOND_NS, duplicate_window=0)
    await site.consumer("P424", "worker", ack_wait=30 * SECOND_NS)


@fault(
    "JSD425",
    "APP/P425/worker",
    severity="warning",
    cure=lambda site: recreate(site, "P425", "worker", max_waiting=4 * DEFAULT_MAX_WAITING),
)
async def more_requests_than_places(site: Site) -> None:
    """One request more than the server takes where the client sets no limit."""
    await site.stream("P425", subjects=["p425"])
    await site.consumer("P425", "worker")
    inbox = site.client.new_inbox()
    await site.client.subscribe(f"{inbox}.*")
    for number in range(DEFAULT_MAX_WAITING + 1):
        request = b'{"batch": 1, "expires": 600000000000}'
        await site.client.publish("$JS.API.CONSUMER.MSG.NEXT.P425.worker", request, reply=f"{inbox}.{number}")


@fault(
    "JSD419",
    "APP/P419/worker",
    severity="warning",
    also={"JSD408", "JSD410", "JSD405"},
    cure=lambda site: take(site, "P419", "worker", 1),
)
async def one_message_is_never_acknowledged(site: Site) -> None:
    """Of 1,200 messages all but the first are acknowledged, and the first is delivered again."""
    await site.stream("P419", subjects=["p419"])
    await site.consumer("P419", "worker", ack_wait=SECOND_NS)
    await site.fill("p419", 1200)
    await take(site, "P419", "worker", 1200, skip=1)
    await asyncio.sleep(1.2)
    await take(site, "P419", "worker", 1, skip=1)


@fault(
    "JSD402",
    "APP/S_ONEBYONE/worker",
    *(pulls("S_ONEBYONE", "worker", pause_s=0.5, batch=1, expires=SECOND_NS) for _ in range(4)),
    publishes("s_onebyone.x", 20, 0.2),
)
async def four_workers_of_a_consumer_that_lets_one_work(site: Site) -> None:
    """https://github.com/nats-io/nats.docs/pull/641: `max_ack_pending` is a limit of the consumer, not of a client."""
    await site.stream("S_ONEBYONE")
    await site.consumer("S_ONEBYONE", "worker", max_ack_pending=1)
    await site.publish("s_onebyone.x", 200)


async def reads_one_by_one_from_afar(site: Site) -> None:
    """A client behind a path of 40 ms each way: it requests a message, acknowledges it, requests the next."""
    (port,) = free_ports(1)
    path = Relay(port, site.cluster.node("n1").ports.client, delay_s=0.04)
    client = await nats.connect(f"nats://app:app@127.0.0.1:{port}", allow_reconnect=False)
    try:
        subscription = await client.jetstream().pull_subscribe_bind("worker", "S_ROUNDTRIP")
        while True:
            for message in await subscription.fetch(1, timeout=10):
                await message.ack()
    finally:
        await client.close()
        path.close()


@fault(
    "JSD402",
    "APP/S_ROUNDTRIP/worker",
    reads_one_by_one_from_afar,
    publishes("s_roundtrip.x", 20, 0.2),
    mentions="takes one message at a time, one in ",
)
async def one_message_for_each_round_trip(site: Site) -> None:
    """https://github.com/redpanda-data/redpanda/issues/29940: 2 MiB a minute, whatever max_ack_pending is."""
    await site.stream("S_ROUNDTRIP")
    await site.consumer("S_ROUNDTRIP", "worker")
    await site.publish("s_roundtrip.x", 2_500)


async def wait_for_a_full_batch(site: Site) -> None:
    """Handles messages once five hundred have arrived."""
    inbox = site.client.new_inbox()
    await site.client.subscribe(inbox)
    while True:
        await site.ask("S_DEADLOCK", "worker", inbox, batch=500, expires=10 * SECOND_NS)
        await asyncio.sleep(10)


@fault("JSD403", "APP/S_DEADLOCK/worker", wait_for_a_full_batch)
async def batch_that_is_larger_than_what_may_be_pending(site: Site) -> None:
    """https://github.com/nats-io/jetstream/pull/494: client and consumer wait for each other."""
    await site.stream("S_DEADLOCK")
    await site.consumer("S_DEADLOCK", "worker", max_ack_pending=5)
    await site.publish("s_deadlock.x", 600)


@fault("JSD408", "APP/S_ACKALL/reader", subscribes("deliver.s_ackall", ignore))
async def reader_that_never_acknowledges_with_ack_all(site: Site) -> None:
    """https://github.com/cgrates/cgrates/pull/5337: everything comes again after each `ack_wait`."""
    await site.stream("S_ACKALL")
    push: dict[str, Any] = {"deliver_subject": "deliver.s_ackall", "ack_policy": "all", "ack_wait": 2 * SECOND_NS}
    await site.consumer("S_ACKALL", "reader", **push)
    await site.publish("s_ackall.x", 60)


@fault(
    "JSD405",
    "APP/S_PODS/",
    pulls("S_PODS", "svc-5", pause_s=1, batch=10, expires=SECOND_NS),
    publishes("s_pods.x", 2, 0.2),
)
async def durable_of_each_start_of_a_process(site: Site) -> None:
    """https://github.com/bbvch-ai/aihub-core/pull/1828: four old ones keep every message of an interest stream."""
    await site.stream("S_PODS", retention="interest")
    for number in range(1, 6):
        await site.consumer("S_PODS", f"svc-{number}")
    await site.publish("s_pods.x", 20)


@fault("JSD402", "APP/F_THROTTLED/slow", subscribes("deliver.f_throttled"), publishes("f_throttled.x", 20, 0.1, 1000))
async def rate_limit_below_what_is_published(site: Site) -> None:
    await site.stream("F_THROTTLED")
    await site.consumer("F_THROTTLED", "slow", deliver_subject="deliver.f_throttled", rate_limit_bps=8 * 4000)
    await site.publish("f_throttled.x", 2500)


@fault("JSD403", "APP/R_POSTPONED/worker", fetches("R_POSTPONED", "worker", b'-NAK {"delay": 3600000000000}'))
async def messages_that_are_postponed_until_no_place_is_left(site: Site) -> None:
    """https://github.com/nats-io/nats.go/issues/968: a message that waits for its next attempt takes a place."""
    await site.stream("R_POSTPONED", retention="workqueue")
    await site.consumer("R_POSTPONED", "worker", max_ack_pending=20)
    await site.publish("r_postponed.x", 200)


@fault("JSD405", "APP/R_MAXBATCH/worker", pulls("R_MAXBATCH", "worker", pause_s=0.5, batch=100, expires=SECOND_NS))
async def requests_for_more_messages_than_the_consumer_allows(site: Site) -> None:
    """https://github.com/nats-io/nats.net/issues/236: each request ends with `409 Exceeded MaxRequestBatch`."""
    await site.stream("R_MAXBATCH")
    await site.consumer("R_MAXBATCH", "worker", max_batch=10)
    await site.publish("r_maxbatch.x", 150)


@fault("JSD424", "APP/R_BACKOFF/worker")
async def attempts_that_come_after_the_message_has_expired(site: Site) -> None:
    """As in https://github.com/nats-io/nats-server/issues/2083, messages expire that a consumer has to repeat."""
    await site.stream("R_BACKOFF", max_age=60 * SECOND_NS, duplicate_window=10 * SECOND_NS)
    backoff = [SECOND_NS, 30 * SECOND_NS, 600 * SECOND_NS]
    await site.consumer("R_BACKOFF", "worker", max_deliver=4, backoff=backoff)


@fault(
    "JSD404",
    "APP/F_PINNED/one",
    pulls("F_PINNED", "one", pause_s=15, expires=20 * SECOND_NS, group="jobs"),
    since=(2, 11),
)
async def pinned_client_that_is_gone_while_others_wait(site: Site) -> None:
    await site.stream("F_PINNED")
    group: dict[str, Any] = {"priority_policy": "pinned_client", "priority_groups": ["jobs"]}
    await site.consumer("F_PINNED", "one", priority_timeout=3600 * SECOND_NS, ack_wait=2 * SECOND_NS, **group)
    await site.publish("f_pinned", 10)
    subscription = await site.client.subscribe(site.client.new_inbox())
    await site.ask("F_PINNED", "one", subscription.subject, batch=1, expires=SECOND_NS, group="jobs")
    await subscription.next_msg(timeout=5)
    await site.publish("f_pinned", 10)


@fault("JSD405", "APP/F_WRONGQUEUE/workers")
async def queue_group_whose_subscribers_name_another_group(site: Site) -> None:
    await site.stream("F_WRONGQUEUE", retention="workqueue")
    push: dict[str, Any] = {"deliver_subject": "deliver.f_wrongqueue", "deliver_group": "workers"}
    await site.consumer("F_WRONGQUEUE", "workers", **push)
    await site.client.subscribe("deliver.f_wrongqueue", queue="worker")
    await site.publish("f_wrongqueue", 30)


@fault("JSD407", "APP/F_FUTURE/next_year")
async def consumer_that_starts_next_year(site: Site) -> None:
    await site.stream("F_FUTURE")
    start: dict[str, Any] = {"deliver_policy": "by_start_time", "opt_start_time": "2035-01-01T00:00:00Z"}
    await site.consumer("F_FUTURE", "next_year", **start)
    await site.publish("f_future", 10)


@fault("JSD416", "APP/F_RENAMED/old")
async def filter_that_was_right_before_a_transform(site: Site) -> None:
    transform = {"src": "f_renamed.>", "dest": "archive.>"}
    await site.stream("F_RENAMED", subjects=["f_renamed.>"])
    await site.consumer("F_RENAMED", "old", filter_subject="f_renamed.x")
    info = await site.api("STREAM.INFO.F_RENAMED")
    await site.api("STREAM.UPDATE.F_RENAMED", {**info["config"], "subject_transform": transform})
    for _ in range(100):  # what its leader stores before it transforms gives the consumer something to read
        await site.publish("f_renamed.x", 1)
        state = (await site.api("STREAM.INFO.F_RENAMED", {"subjects_filter": "archive.x"}))["state"]
        if state.get("subjects"):
            break
        await asyncio.sleep(0.1)
    await site.api("STREAM.PURGE.F_RENAMED", {"filter": "f_renamed.x"})
    await site.publish("f_renamed.x", 10)


@fault(
    "JSD404",
    "APP/T_OVERFLOW/worker",
    pulls("T_OVERFLOW", "worker", pause_s=15, batch=10, expires=20 * SECOND_NS, group="jobs", min_pending=1000),
    since=(2, 11),
)
async def only_client_is_one_that_helps_out_above_a_backlog(site: Site) -> None:
    """https://github.com/nats-io/nats-architecture-and-design/pull/357: the consumer stalls below the threshold."""
    await site.stream("T_OVERFLOW")
    await site.consumer("T_OVERFLOW", "worker", priority_policy="overflow", priority_groups=["jobs"])
    await site.publish("t_overflow.x", 50)


@fault(
    "JSD409",
    "APP/T_FAILS/worker",
    answers("T_FAILS", "worker", lambda m: b"-NAK" if m.metadata.sequence.stream <= 10 else b"+ACK", pause_s=0.02),
    mentions="T_LETTERS",
)
async def stream_of_dead_letters_with_a_subject_that_no_server_publishes(site: Site) -> None:
    """https://github.com/nats-io/nats.docs/pull/384: the documentation had it without `CONSUMER`."""
    await site.stream("T_LETTERS", subjects=["$JS.EVENT.ADVISORY.MAX_DELIVERIES.>"])
    await site.consumer("T_LETTERS", "reader")
    await site.stream("T_FAILS")
    await site.consumer("T_FAILS", "worker", max_deliver=3)
    await site.publish("t_fails.x", 30)


@fault("JSD429", "APP/T_DEPTH/billing")
async def filter_with_a_wildcard_for_one_token_where_subjects_have_two(site: Site) -> None:
    """https://github.com/nats-io/nats-server/issues/2342: `events.*` does not take `events.user.created`."""
    await site.stream("T_DEPTH")
    await site.consumer("T_DEPTH", "billing", filter_subject="t_depth.*")
    await site.publish("t_depth.eu.created", 20)


@fault("JSD407", "APP/N_BEGINS/worker", works("N_BEGINS", "worker"), publishes("n_begins.x", 1, 0.3))
async def worker_that_begins_with_the_newest_of_the_jobs_that_wait(site: Site) -> None:
    """https://docs.nats.io/nats-concepts/jetstream/consumers#deliverpolicy: `last` leaves all others out."""
    await site.stream("N_BEGINS")
    await site.publish("n_begins.x", 50)
    await site.consumer("N_BEGINS", "worker", deliver_policy="last")


@fault(
    "JSD408",
    "APP/F_LATE/worker",
    *(answers("F_LATE", "worker", lambda _: b"+ACK", hold_s=seconds) for seconds in (1.7, 2.3, 2.9, 3.7)),
)
async def batches_that_take_longer_than_the_wait_for_acknowledgements(site: Site) -> None:
    await site.stream("F_LATE", retention="workqueue")
    await site.consumer("F_LATE", "worker", ack_wait=SECOND_NS)
    await site.publish("f_late.x", 1000)


@fault("JSD429", "APP/F_CASE/billing")
async def filter_with_another_case(site: Site) -> None:
    await site.stream("F_CASE")
    await site.consumer("F_CASE", "billing", filter_subject="f_case.Order")
    await site.publish("f_case.order", 10)


@fault("JSD427", "APP/M_BODILESS/worker")
async def worker_of_a_queue_that_receives_headers_only(site: Site) -> None:
    """The stream deletes each message when it is acknowledged, and nobody has read its body."""
    await site.stream("M_BODILESS", retention="workqueue")
    await site.consumer("M_BODILESS", "worker", headers_only=True)
    await site.publish("m_bodiless.x", 10)


@fault(
    "JSD428",
    "APP/M_REPLAYED/worker",
    pulls("M_REPLAYED", "worker", pause_s=1, batch=1, expires=SECOND_NS),
    publishes("m_replayed.x", 10, 0.2),
)
async def durable_that_replays_at_the_pace_of_the_past(site: Site) -> None:
    await site.stream("M_REPLAYED")
    for _ in range(50):
        await site.publish("m_replayed.x", 4)
        await asyncio.sleep(0.5)
    await site.consumer("M_REPLAYED", "worker", replay_policy="original")


@fault("JSD403", "APP/$MQTT_msgs/")
def mqtt_device_that_acknowledges_nothing(land: Landscape) -> str:
    """Connected with a session of QoS 1, at its `max_ack_pending`."""
    port = land.port("mqtt")
    single(land, f'mqtt {{ listen: "127.0.0.1:{port}", max_ack_pending: 10, ack_wait: "300s" }}\n')
    land.keep(mqtt_session(port, subscribe=True))
    land.keep(mqtt_session(port, subscribe=False))
    time.sleep(2)
    return land.url(user="sys")


@fault("JSD416", "APP/COPY/billing")
def consumer_of_a_mirror_with_a_filter_outside_the_origin(land: Landscape) -> str:
    single(land)
    stored(land.url(), "ORDERS", subjects=["orders"])
    furnished(land, ("COPY", {"subjects": [], "mirror": {"name": "ORDERS"}}))
    furnished(land, ("COPY", "billing", {"filter_subject": "order.paid"}))
    time.sleep(2)
    return land.url(user="sys")


@fault("JSD416", "APP/ORDERS/two", since=(2, 10))
def consumer_with_one_filter_of_two_that_matches_nothing(land: Landscape) -> str:
    """What waits for the other one hides it."""
    single(land)
    stored(land.url(), "ORDERS", subjects=["orders"])
    furnished(land, ("ORDERS", "two", {"filter_subjects": ["orders", "returns"]}))
    return land.url(user="sys")
