"""Deployments with faults of permissions, accounts, leaf nodes and limits that ordinary operators reported.

As in the tables before, the rule that must name each fault, and the subject of its finding, were declared before the
first run. Rules that did not exist then: JSD625 (sources that lead back) and JSD627 (subjects that two domains store).
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time

import nats
from nats.aio.msg import Msg

from tests.support.deployment import add_consumer, add_stream, api
from tests.topologies.deployments import HUB, cluster, hub, single, sites
from tests.topologies.deployments_met import furnished
from tests.topologies.deployments_reported import goes_on
from tests.topologies.faults_of_deployments import KEYS, BrokenDeployments, stored
from tests.topologies.habits import BOUNDED, SECOND_NS
from tests.topologies.landscape import ACCOUNTS, Landscape, jetstream, routed, server

ORDINARY = BrokenDeployments()
broken = ORDINARY.broken
APP_USER = "{ user: app, password: app }"


def restricted(permissions: str) -> str:
    """The accounts, with a second user of APP that has those permissions."""
    user = f"{{ user: svc, password: svc, permissions: {permissions} }}"
    return ACCOUNTS.replace(APP_USER, f"{APP_USER}, {user}")


def logged_in(land: Landscape, key: str, user: str = "app") -> socket.socket:
    """A connection of a user of APP, as far as the server lets it in."""
    connection = socket.create_connection(("127.0.0.1", land.node(key).ports.client), timeout=5)
    login = f'{{"user":"{user}","pass":"{user}","verbose":false}}'
    connection.sendall(f"CONNECT {login}\r\nPING\r\n".encode())
    return connection


def closed_by_server(connection: socket.socket) -> None:
    """Read until it is."""
    with connection, contextlib.suppress(ConnectionResetError):
        while connection.recv(4096):
            pass


async def acknowledging(end: threading.Event, url: str) -> None:
    """A worker that acknowledges what it gets."""
    client = await nats.connect(url)
    try:
        inbox = client.new_inbox()

        async def acknowledge(message: Msg) -> None:
            if message.reply:
                await message.respond(b"+ACK")

        await client.subscribe(inbox, cb=acknowledge)
        while not end.is_set():
            body = b'{"batch": 10, "expires": 1000000000}'
            await client.publish("$JS.API.CONSUMER.MSG.NEXT.ORDERS.worker", body, inbox)
            await asyncio.sleep(1)
    finally:
        await client.close()


def _worker_without_acknowledgements(land: Landscape) -> None:
    single(land, accounts=restricted('{ publish: { deny: "$JS.ACK.>" } }'))
    stored(land.url(), "ORDERS", 40)
    furnished(land, ("ORDERS", "worker", {"ack_wait": 2 * SECOND_NS}))
    goes_on(land, lambda end: acknowledging(end, land.url(user="svc")))
    time.sleep(8)


# Permissions and accounts


@broken("JSD408", "APP/ORDERS/worker", "--samples", "3", "--interval", "4s")
def worker_that_may_not_acknowledge(land: Landscape) -> str:
    """https://docs.nats.io/running-a-nats-service/configuration/securing_nats/authorization: `$JS.ACK` is missing."""
    _worker_without_acknowledgements(land)
    return land.url(user="sys")


@broken("JSD825", "APP/user:svc", logs=True, since=(2, 12))
def worker_that_may_not_acknowledge_as_the_log_has_it(land: Landscape) -> str:
    _worker_without_acknowledgements(land)
    return land.url(user="sys")


@broken("JSD825", "APP/user:svc", logs=True, since=(2, 12))
def publisher_that_may_not_read_its_inbox(land: Landscape) -> str:
    """https://docs.nats.io/running-a-nats-service/configuration/securing_nats/authorization: no inboxes."""
    single(land, accounts=restricted('{ publish: ["orders", "$JS.API.>"], subscribe: { deny: "_INBOX.>" } }'))
    stored(land.url(), "ORDERS")
    for _ in range(5):
        connection = logged_in(land, "n1", "svc")
        land.keep(connection)
        connection.sendall(b"SUB _INBOX.a.* 1\r\nPUB orders _INBOX.a.1 1\r\nx\r\nPING\r\n")
    time.sleep(2)
    return land.url(user="sys")


@broken("JSD408", "APP/ORDERS/push", "--samples", "3", "--interval", "4s")
def messages_of_another_account_that_cannot_be_acknowledged(land: Landscape) -> str:
    """https://github.com/nats-io/nats.go/issues/1703: the export of `$JS.ACK.>` is missing."""

    async def acknowledge(end: threading.Event) -> None:
        client = await nats.connect(land.url(user="shop"))
        try:

            async def answer(message: Msg) -> None:
                if message.reply:
                    await message.respond(b"+ACK")

            await client.subscribe("deliver.orders", cb=answer)
            await asyncio.to_thread(end.wait)
        finally:
            await client.close()

    exports = 'jetstream: enabled, exports: [{ stream: "deliver.orders" }]'
    shop = "  SHOP: { users: [{ user: shop, password: shop }], imports: [{ stream: { account: APP, subject: "
    shop += '"deliver.orders" } }] }\n}\n'
    accounts = ACCOUNTS.replace("jetstream: enabled", exports).removesuffix("}\n") + shop
    single(land, accounts=accounts)
    stored(land.url(), "ORDERS", 40)
    goes_on(land, acknowledge)
    time.sleep(1)
    furnished(land, ("ORDERS", "push", {"deliver_subject": "deliver.orders", "ack_wait": 2 * SECOND_NS}))
    time.sleep(6)
    return land.url(user="sys")


@broken("JSD801", "n1")
def streams_that_were_stored_before_there_were_accounts(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/5219: they belong to `$G`, which has no JetStream any more."""
    land.start("n1", server("n1", accounts=""))

    async def store() -> None:
        client = await nats.connect(land.node("n1").url)
        await add_stream(client, "ORDERS", subjects=["orders"], **BOUNDED)
        await client.request("orders", b"x", timeout=10)
        await client.close()

    asyncio.run(store())
    land.node("n1").stop()
    land.start("n1", server("n1"))
    time.sleep(2)
    return land.url(user="sys")


@broken("JSD808", "n1")
def account_at_its_limit_of_connections(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/pull/7527: `maximum account active connections exceeded`."""
    single(land, accounts=ACCOUNTS.replace("jetstream: enabled", "jetstream: enabled, limits { max_connections: 5 }"))
    for _ in range(5):
        land.keep(logged_in(land, "n1"))
    time.sleep(1)
    for _ in range(10):
        closed_by_server(logged_in(land, "n1"))
    return land.url(user="sys")


@broken("JSD825", "APP/user:app", logs=True, since=(2, 12))
def connection_at_its_limit_of_subscriptions(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/6570: further subscriptions are refused.

    Declared first: JSD811 for the server, which does not show a limit of its configuration for an account.
    """
    single(land, accounts=ACCOUNTS.replace("jetstream: enabled", "jetstream: enabled, limits { max_subs: 50 }"))
    connection = logged_in(land, "n1")
    land.keep(connection)
    connection.sendall(b"".join(b"SUB orders.%d %d\r\n" % (number, number + 1) for number in range(60)))
    time.sleep(2)
    return land.url(user="sys")


@broken("JSD809", "n3")
def password_that_was_changed_on_two_of_three_servers(land: Landscape) -> str:
    """https://docs.nats.io/running-a-nats-service/configuration: clients are refused where they happen to connect."""
    for key in KEYS:
        accounts = ACCOUNTS.replace("password: app", "password: old") if key == "n3" else ACCOUNTS
        land.start(key, server(key, accounts=accounts) + routed(land, "C", key, KEYS))
    land.wait_meta(*KEYS)
    for _ in range(10):
        closed_by_server(logged_in(land, "n3"))
    return land.url("n1", user="sys")


# Leaf nodes


@broken("JSD627", "APP@hub/ORDERS", "--interval", "3s")
def hub_and_site_that_store_the_same_subjects(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/3161: what a site publishes is stored twice at the hub."""
    hub(land)
    sites(land, 1)
    source = {"name": "ORDERS", "external": {"api": "$JS.site1.API", "deliver": ""}}
    stored(land.url("site1"), "ORDERS", 0, subjects=["orders.>"])
    stored(land.url(*HUB), "ORDERS", 0, subjects=["orders.>"], sources=[source], num_replicas=3)
    time.sleep(5)

    async def publish() -> None:
        client = await nats.connect(land.url("site1"))
        for _ in range(10):
            await client.request("orders.x", b"x", timeout=10)
        await client.close()

    asyncio.run(publish())
    time.sleep(3)
    return land.url(*HUB, user="sys")


@broken("JSD625", "APP@hub/CENTRAL", "--interval", "3s")
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

    async def close_the_circle() -> None:
        client = await nats.connect(land.url("site1"))
        config = (await api(client, "STREAM.INFO.EDGE"))["config"]
        back = {"name": "CENTRAL", "external": {"api": "$JS.hub.API", "deliver": ""}}
        await api(client, "STREAM.UPDATE.EDGE", {**config, "sources": [back]})
        await asyncio.sleep(3)
        await client.request("edge.x", b"x", timeout=10)
        await client.close()

    asyncio.run(close_the_circle())
    time.sleep(2)
    return land.url(*HUB, user="sys")


# Limits, and servers that are gone


@broken("JSD702", "APP/ORDERS/worker")
def consumer_with_one_replica_whose_server_is_gone(land: Landscape) -> str:
    """https://github.com/nats-io/nats.node/issues/570: the stream has three replicas, and its consumer has one."""
    keys = cluster(land)
    stored(land.url("n1"), "ORDERS", num_replicas=3)

    async def place() -> str:
        client = await nats.connect(land.url("n1"))
        created = await add_consumer(client, "ORDERS", "worker", num_replicas=1)
        info = await api(client, "CONSUMER.INFO.ORDERS.worker")
        await client.close()
        return str((info.get("cluster") or created["cluster"])["leader"])

    holder = asyncio.run(place())
    land.node(holder).kill()
    time.sleep(15)
    return land.url(*(key for key in keys if key != holder))


@broken("JSD802", "n1")
def server_whose_memory_store_is_nearly_full(land: Landscape) -> str:
    """https://docs.nats.io/running-a-nats-service/configuration/resource_management: streams in memory."""
    limits = jetstream(limits="max_memory_store: 4M, max_file_store: 1G")
    land.start("n1", server("n1", storage=False) + limits)

    async def fill() -> None:
        client = await nats.connect(land.url())
        await add_stream(client, "CACHE", subjects=["cache"], storage="memory")
        for _ in range(59):
            await client.request("cache", b"x" * 65_000, timeout=10)
        await client.close()

    asyncio.run(fill())
    return land.url(user="sys")
