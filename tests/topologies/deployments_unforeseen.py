"""Deployments with faults of stores, starts, placement, clients and logs that no table before has.

As there, the rule that must name each fault, and the subject of its finding, were declared before the first run. An
empty subject is any: of an application's log, or of a server that never told its name. `HELD_BACK` is as in
`faults_unforeseen.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import threading
import time
from datetime import UTC, datetime

import nats
from nats.aio.client import Client
from nats.errors import Error
from nats.js.api import ConsumerConfig

from jsdoctor.demo.errors import ServerStartError
from tests.support.deployment import add_consumer, add_stream, api
from tests.topologies.deployments import cluster, single
from tests.topologies.deployments_reported import goes_on
from tests.topologies.faults_of_deployments import KEYS, BrokenDeployments, stored
from tests.topologies.habits import BOUNDED, SECOND_NS
from tests.topologies.landscape import ACCOUNTS, Landscape, routed, server

UNFORESEEN = BrokenDeployments()
broken = UNFORESEEN.broken
HELD_BACK = frozenset(
    {
        "server_of_a_cluster_that_has_no_name",
        "server_that_logs_every_message",
        "single_server_with_a_cluster_block",
        "replicas_of_a_service_that_bind_to_one_push_consumer",
        "jobs_that_share_the_id_of_their_product",
    }
)


class Application:
    """The log of an application of that name, as Python's `logging` writes it."""

    def __init__(self, land: Landscape, name: str) -> None:
        directory = land.directory / "applications"
        directory.mkdir(exist_ok=True)
        self._path = directory / f"{name}.log"

    def log(self, level: str, text: str) -> None:
        now = datetime.now(UTC)
        with self._path.open("a", encoding="utf-8") as log:
            log.write(f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03d} {level} {text}\n")


# Stores


@broken("JSD804", "n1", logs=True)
def server_that_was_restarted_with_another_key(land: Landscape) -> str:
    """https://github.com/argoproj/argo-events/issues/3458: its streams are not there, and it serves clients."""
    for key in ("one", "two"):
        sealed = server("n1").replace("store_dir: store", f"store_dir: store, cipher: aes, key: {key}")
        land.start("n1", sealed)
        if key == "one":
            stored(land.url(), "ORDERS")
            land.node("n1").stop()
    return land.url(user="sys")


@broken("JSD713", "APP/ORDERS", logs=True)
def files_that_were_removed_under_a_server(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/3652: `error opening msg block file: no such file`."""
    single(land)
    stored(land.url(), "ORDERS")
    shutil.rmtree(land.node("n1").directory / "store" / "jetstream" / "APP" / "streams" / "ORDERS" / "msgs")

    async def publish() -> None:
        client = await nats.connect(land.url())
        with contextlib.suppress(Error):
            for _ in range(200):
                await client.request("orders", b"x" * 100_000, timeout=2)
        await client.close()

    asyncio.run(publish())
    return land.url(user="sys")


@broken("JSD205", "APP/ORDERS/worker", logs=True)
def messages_that_were_restored_from_an_older_copy(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/5412: the consumer waits until the stream has caught up.

    Declared first without logs: 2.15.1 sets such a consumer back when it starts, and only its log shows it.
    """
    single(land)
    stored(land.url(), "ORDERS", 50)
    node = land.node("n1")
    files = node.directory / "store" / "jetstream" / "APP" / "streams" / "ORDERS" / "msgs"
    node.stop()
    shutil.copytree(files, land.directory / "copy")
    land.again("n1")

    async def work() -> None:
        client = await nats.connect(land.url())
        await add_consumer(client, "ORDERS", "worker")
        for _ in range(150):
            await client.request("orders", b"x", timeout=10)
        subscription = await client.jetstream().pull_subscribe_bind("worker", "ORDERS")
        for message in await subscription.fetch(200, timeout=10):
            await message.ack_sync()
        await client.close()

    asyncio.run(work())
    land.node("n1").stop()
    shutil.rmtree(files)
    shutil.copytree(land.directory / "copy", files)
    land.again("n1")

    async def publish() -> None:
        client = await nats.connect(land.url())
        for _ in range(20):
            await client.request("orders", b"x", timeout=10)
        await client.close()

    asyncio.run(publish())
    return land.url(user="sys")


@broken("JSD815", "APP/ORDERS", since=(2, 11), logs=True)
def publisher_that_is_faster_than_its_stream(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/5930: the server limits what it holds, and drops the rest."""
    land.start("n1", server("n1").replace("store_dir: store", "store_dir: store, max_buffered_msgs: 50"))
    stored(land.url(), "ORDERS")

    async def publish() -> None:
        client = await nats.connect(land.url())
        for _ in range(20):
            for _ in range(5000):
                await client.publish("orders", b"x")
            await client.flush()
        await client.close()

    asyncio.run(publish())
    return land.url(user="sys")


# Servers


@broken("JSD817", "", logs=True)
def server_of_a_cluster_that_has_no_name(land: Landscape) -> str:
    """https://github.com/nats-io/k8s/issues/846: the third one ends at once, and its log has one line."""
    cluster(land)
    land.node("n3").stop()
    land.node("n3").log_path.unlink()  # each container has a log of its own
    with contextlib.suppress(ServerStartError):
        land.start("n3", (server("n3") + routed(land, "C", "n3", KEYS)).replace("server_name: n3\n", ""))
    return land.url("n1", "n2", user="sys")


@broken("JSD701", "cluster", "--set", "JSD701.start_up=0s")
def single_server_with_a_cluster_block(land: Landscape) -> str:
    """https://github.com/bitnami/charts/issues/29378: one replica of a chart; JetStream waits for routes for ever."""
    land.start("n1", server("n1") + routed(land, "C", "n1", ["n1"]))
    time.sleep(12)
    return land.url(user="sys")


@broken("JSD849", "n1", logs=True)
def server_that_logs_every_message(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/1197: 88 GB of log; bodies of messages are in it."""
    single(land, "debug: true\ntrace: true\n")
    stored(land.url(), "ORDERS", 500)
    return land.url(user="sys")


# Placement


@broken("JSD712", "n1", since=(2, 11))
def leaders_that_are_all_on_one_server(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/6243: after an upgrade, server by server."""
    cluster(land)

    async def lead() -> None:
        client = await nats.connect(land.url().split(","))
        for number in range(12):
            name = f"ORDERS{number}"
            await add_stream(client, name, subjects=[name.lower()], num_replicas=3, **BOUNDED)
            for _ in range(20):
                info = await api(client, f"STREAM.INFO.{name}")
                if info["cluster"].get("leader") == "n1":
                    break
                with contextlib.suppress(AssertionError):
                    await api(client, f"STREAM.LEADER.STEPDOWN.{name}", {"placement": {"preferred": "n1"}})
                await asyncio.sleep(0.5)
        await client.close()

    asyncio.run(lead())
    return land.url(user="sys")


@broken("JSD811", "n1")
def clients_that_are_all_on_one_server(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/1556, https://github.com/nats-io/stan.java/issues/145.

    Declared first: a rule that there was not; JSD811 was extended.
    """
    cluster(land)

    async def stay(end: threading.Event) -> None:
        clients = [await nats.connect(land.url("n1"), name=f"shop-{number}") for number in range(60)]
        await asyncio.to_thread(end.wait)
        for client in clients:
            await client.close()

    goes_on(land, stay)
    land.wait_for(lambda: int(land.monitor("n1", "/varz")["connections"]) >= 60, "the clients")
    return land.url(user="sys")


# Applications, as their logs show them


@broken("JSD418", "", logs=True)
def replicas_of_a_service_that_bind_to_one_push_consumer(land: Landscape) -> str:
    """https://github.com/kyma-project/kyma/issues/15215: `consumer is already bound to a subscription`.

    Missed until after the last run of the table: the client refuses, and no server.
    """
    single(land, accounts=ACCOUNTS)
    stored(land.url(), "ORDERS")
    second = Application(land, "orders-2")

    async def serve(end: threading.Event) -> None:
        client, other = await nats.connect(land.url()), await nats.connect(land.url())
        await client.jetstream().subscribe("orders", durable="orders", stream="ORDERS")
        while not end.is_set():
            try:
                await other.jetstream().subscribe("orders", durable="orders", stream="ORDERS")
            except nats.js.errors.Error as error:
                second.log("ERROR", f"subscribe failed, trying again: {error}")
            await asyncio.sleep(0.5)
        await client.close()
        await other.close()

    goes_on(land, serve)
    time.sleep(8)
    return land.url(user="sys")


@broken("JSD209", "reader", logs=True)
def subscriber_that_drops_what_it_has_no_time_for(land: Landscape) -> str:
    """https://github.com/nuts-foundation/nuts-node/issues/2401: the client drops it, and the server knows nothing.

    Declared first: JSD806.
    """
    single(land)
    stored(land.url(), "ORDERS")
    reader = Application(land, "reader")

    async def read() -> None:
        async def complain(error: Exception) -> None:
            reader.log("ERROR", f"{error}")

        async def handle(_: object) -> None:
            await asyncio.sleep(1)

        client = await nats.connect(land.url(), error_cb=complain)
        config = ConsumerConfig(max_ack_pending=-1)
        subscription = await client.jetstream().subscribe(
            "orders", durable="reader", stream="ORDERS", cb=handle, config=config, pending_msgs_limit=20
        )
        for _ in range(200):
            await client.request("orders", b"x", timeout=10)
        await asyncio.sleep(2)
        await subscription.unsubscribe()
        await client.close()

    asyncio.run(read())
    return land.url(user="sys")


@broken("JSD308", "", logs=True)
def jobs_that_share_the_id_of_their_product(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/5142: the second change of a product within two minutes is lost."""
    single(land)
    publisher = Application(land, "sync")

    async def publish() -> None:
        client: Client = await nats.connect(land.url())
        queue = {**BOUNDED, "retention": "workqueue", "duplicate_window": 120 * SECOND_NS}
        await add_stream(client, "ORDERS", subjects=["orders"], **queue)
        for number in range(40):
            headers = {"Nats-Msg-Id": f"product-{number % 4}"}
            acknowledged = await client.jetstream().publish("orders", f"change {number}".encode(), headers=headers)
            publisher.log("INFO", f"published {acknowledged}")
        await client.close()

    asyncio.run(publish())
    return land.url(user="sys")
