"""Faults between the sequences of consumers and their streams."""

import asyncio

from nats.aio.client import Client
from nats.js.api import ConsumerConfig

from tests.faults.planting import fault
from tests.servers.deployments import Application, do, single, stored
from tests.servers.landscape import Landscape
from tests.support.applications import fetches, publishes
from tests.support.site import SECOND_NS, Site


async def overrun(site: Site, stream: str, **consumer: object) -> None:
    """Twenty messages in a stream that keeps five, and a consumer that was there before them."""
    await site.stream(stream, subjects=[f"{stream.lower()}.>"], max_msgs=5)
    await site.consumer(stream, "slow", **consumer)
    await site.publish(f"{stream.lower()}.a", 20)


@fault("JSD206", "APP/P206/slow", severity="error", also={"JSD618"}, cure=lambda site: site.fetch("P206", "slow", 5))
async def removed_before_delivery(site: Site) -> None:
    """The limits removed fifteen messages that the consumer never got."""
    await overrun(site, "P206")


@fault("JSD206", "APP/P2060/slow", severity="info", cure=lambda site: site.fetch("P2060", "slow", 5))
async def perhaps_removed_before_delivery(site: Site) -> None:
    """With a filter nothing is proven."""
    await overrun(site, "P2060", filter_subject="p2060.a")


@fault(
    "JSD206",
    "APP/F_EXPIRES/slow",
    fetches("F_EXPIRES", "slow", b"+ACK", batch=1, pause_s=0.5),
    publishes("f_expires", 1, 0.1),
)
async def backlog_that_expires_before_it_is_read(site: Site) -> None:
    """It goes on: a worker that has come to the end of an expired stream shows no trace of what it missed."""
    await site.stream("F_EXPIRES", max_age=10 * SECOND_NS, duplicate_window=10 * SECOND_NS)
    await site.consumer("F_EXPIRES", "slow")
    await site.publish("f_expires", 200)


async def purge_now_and_then(site: Site) -> None:
    while True:
        await asyncio.sleep(4)
        await site.api("STREAM.PURGE.T_PURGED")


@fault(
    "JSD206",
    "APP/T_PURGED/worker",
    fetches("T_PURGED", "worker", b"+ACK", batch=1, pause_s=0.5),
    publishes("t_purged.x", 20, 0.5),
    purge_now_and_then,
)
async def job_that_purges_what_a_worker_has_not_read(site: Site) -> None:
    """https://github.com/nats-io/nats-server/issues/3106."""
    await site.stream("T_PURGED")
    await site.consumer("T_PURGED", "worker")


@fault("JSD209", "reader", logs=True)
def subscriber_that_drops_what_it_has_no_time_for(land: Landscape) -> str:
    """https://github.com/nuts-foundation/nuts-node/issues/2401: the client drops it, and the server knows nothing."""
    single(land)
    stored(land.url(), "ORDERS")
    reader = Application(land, "reader")

    async def complain(error: Exception) -> None:
        reader.log("ERROR", f"{error}")

    async def handle(_: object) -> None:
        await asyncio.sleep(1)

    async def read(client: Client) -> None:
        config = ConsumerConfig(max_ack_pending=-1)
        subscription = await client.jetstream().subscribe(
            "orders", durable="reader", stream="ORDERS", cb=handle, config=config, pending_msgs_limit=20
        )
        for _ in range(200):
            await client.request("orders", b"x", timeout=10)
        await asyncio.sleep(2)
        await subscription.unsubscribe()

    do(land.url(), read, error_cb=complain)
    return land.url(user="sys")
