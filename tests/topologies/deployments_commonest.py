"""The ninth table of faulty deployments: what an operator of NATS JetStream meets in the first year.

As in `faults_of_deployments.py`, the rule that must name each fault, and the subject of its finding, were declared
before the first run. An empty subject is any: of an application's log. `HELD_BACK` is as in `faults_commonest.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import nats
from nats.errors import Error
from nats.js import JetStreamContext

from tests.collect.certificates import Certificates
from tests.support.deployment import add_stream, api
from tests.topologies.deployments import cluster, single
from tests.topologies.deployments_met import furnished
from tests.topologies.deployments_ordinary import restricted
from tests.topologies.deployments_reported import goes_on
from tests.topologies.deployments_unforeseen import Application
from tests.topologies.faults_of_deployments import KEYS, BrokenDeployments, stored
from tests.topologies.habits import BOUNDED, SECOND_NS
from tests.topologies.landscape import ACCOUNTS, Landscape, jetstream, leaf_listener, routed, server

COMMONEST = BrokenDeployments()
broken = COMMONEST.broken
HELD_BACK = frozenset(
    {
        "stream_with_three_replicas_on_a_single_server",
        "stream_that_is_larger_than_the_store_of_any_server",
        "routes_to_the_ports_for_clients",
        "clients_without_the_certificate_that_the_server_demands",
        "permissions_for_the_subject_by_which_older_clients_create_consumers",
        "server_with_too_few_open_files",
        "retries_that_come_after_the_duplicate_window",
        "site_whose_link_is_of_another_account_than_its_streams",
        "account_for_which_jetstream_was_never_enabled",
    }
)


def _fails(land: Landscape, name: str, work: Callable[[JetStreamContext], Awaitable[Any]], times: int = 8) -> None:
    """An application that tries that again and again, and logs what comes of it."""
    application = Application(land, name)

    async def tries() -> None:
        client = await nats.connect(land.url().split(","))
        for _ in range(times):
            try:
                await work(client.jetstream())
            except Error as error:
                application.log("ERROR", f"failed, trying again: {error}")
            await asyncio.sleep(0.3)
        await client.close()

    asyncio.run(tries())


# Applications, as their logs show them


@broken("JSD614", "", logs=True)
def stream_whose_subjects_another_stream_has(land: Landscape) -> str:
    """https://github.com/nats-io/nack/issues/120, https://github.com/nuclia/nucliadb/pull/1414: 10065."""
    single(land)
    stored(land.url(), "ORDERS", subjects=["orders", "orders.>"])
    _fails(land, "shipping", lambda context: context.add_stream(name="SHIPPING", subjects=["orders.shipped"]))
    return land.url(user="sys")


@broken("JSD614", "", logs=True)
def stream_with_three_replicas_on_a_single_server(land: Landscape) -> str:
    """https://github.com/Panfactum/stack/issues/101: the settings of production where there is one server."""
    single(land)
    stored(land.url(), "ORDERS")
    _fails(land, "sales", lambda context: context.add_stream(name="SALES", subjects=["sales"], num_replicas=3))
    return land.url(user="sys")


@broken("JSD716", "", logs=True)
def stream_that_is_larger_than_the_store_of_any_server(land: Landscape) -> str:
    """https://github.com/nats-io/k8s/issues/740, https://github.com/nats-io/nats-server/issues/4281."""
    cluster(land)
    stored(land.url("n1"), "ORDERS", num_replicas=3)
    large: dict[str, Any] = {"subjects": ["sales"], "num_replicas": 3, "max_bytes": 50 << 30}
    _fails(land, "sales", lambda context: context.add_stream(name="SALES", **large))
    return land.url(user="sys")


@broken("JSD603", "", logs=True)
def messages_that_are_larger_than_their_stream_takes(land: Landscape) -> str:
    """https://github.com/slotix/dbconvert-streams-public/issues/7: `message size exceeds maximum allowed` (10054).

    Declared first: JSD511, which reads packets.
    """
    single(land)
    stored(land.url(), "ORDERS", max_msg_size=1024)
    _fails(land, "shop", lambda context: context.publish("orders", b"x" * 5000))
    return land.url(user="sys")


@broken("JSD846", "", logs=True)
def application_that_stops_to_reconnect_before_the_server_is_back(land: Landscape) -> str:
    """https://github.com/nats-io/nats.node/pull/23, https://github.com/nats-io/nats.py/issues/735: down for good."""
    single(land)
    stored(land.url(), "ORDERS")
    application = Application(land, "shop")

    async def publish(end: threading.Event) -> None:
        async def complain(error: Exception) -> None:
            application.log("ERROR", f"nats: {error}")

        few: dict[str, Any] = {"max_reconnect_attempts": 3, "reconnect_time_wait": 0.3}
        client = await nats.connect(land.url(), error_cb=complain, **few)
        while not end.is_set():
            try:
                await client.jetstream().publish("orders", b"x", timeout=1)
            except Error as error:
                application.log("ERROR", f"order was not published: {error}")
            await asyncio.sleep(0.3)
        await client.close()

    goes_on(land, publish)
    time.sleep(2)
    land.node("n1").stop()
    time.sleep(5)
    land.again("n1")
    time.sleep(5)
    return land.url(user="sys")


# Addresses and certificates


@broken("JSD726", "n1", "--set", "JSD726.start_up=5s", "--samples", "5")
def routes_to_the_ports_for_clients(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/270: 4222 where 6222 was meant."""
    for key in KEYS:
        land.start(key, server(key))
    urls = ", ".join(f'"nats://127.0.0.1:{land.node(key).ports.client}"' for key in KEYS)
    for key in KEYS:
        land.node(key).stop()
    for key in KEYS:
        listen = f"127.0.0.1:{land.port(f'C/{key}')}"
        land.start(key, server(key) + f'cluster {{ name: C, listen: "{listen}", routes: [{urls}] }}\n')
    time.sleep(12)
    return land.url("n1", user="sys")


@broken("JSD714", "site1", logs=True)
def site_that_connects_to_the_port_for_clients(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/pull/1265: 4222 where 7422 was meant."""
    land.start("h1", server("h1", domain="hub") + leaf_listener(land, "h1"))
    address = f"nats://app:app@127.0.0.1:{land.node('h1').ports.client}"
    remotes = f'leafnodes {{ remotes: [{{ urls: ["{address}"], account: APP }}] }}\n'
    land.start("site1", server("site1", domain="site1") + remotes)
    time.sleep(12)
    return land.url("site1", user="sys")


@broken("JSD812", "n1", logs=True, since=(2, 12))
def cluster_whose_certificate_for_routes_has_expired(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/3602, https://github.com/nats-io/nats.py/pull/971: after a year.

    Planted first with a certificate for no days, which openssl does not make. Servers before 2.11.12 do not show when
    their certificates expire: there JSD714 reports the routes.
    """
    land.directory.mkdir(parents=True, exist_ok=True)
    pki = Certificates(land.directory)
    certificate, key_file = pki.expired()
    files = f'cert_file: "{certificate}", key_file: "{key_file}", ca_file: "{pki.ca}"'
    for key in KEYS:
        own = routed(land, "C", key, KEYS)
        land.start(key, server(key) + own.replace("name: C,", f"name: C, tls {{ {files}, timeout: 2 }},"))
    time.sleep(10)
    return land.url("n1", user="sys")


@broken("JSD809", "n1", logs=True)
def clients_without_the_certificate_that_the_server_demands(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/2222: `tls: client didn't provide a certificate`."""
    land.directory.mkdir(parents=True, exist_ok=True)
    pki = Certificates(land.directory)
    certificate, key_file = pki.localhost
    files = f'cert_file: "{certificate}", key_file: "{key_file}", ca_file: "{pki.ca}"'
    single(land, f"tls {{ {files}, verify: true, timeout: 2 }}\n")
    context = ssl.create_default_context(cafile=str(pki.ca))
    for _ in range(10):
        with socket.create_connection(("127.0.0.1", land.node("n1").ports.client), timeout=5) as connection:
            connection.recv(4096)
            with (
                contextlib.suppress(OSError),
                context.wrap_socket(connection, server_hostname="localhost") as secured,
            ):
                secured.sendall(b'CONNECT {"user":"app","pass":"app","verbose":false}\r\nPING\r\n')
                secured.recv(4096)
    return land.node("n1").monitor_url


# Permissions and accounts


@broken("JSD825", "APP/user:svc", logs=True, since=(2, 12))
def permissions_for_the_subject_by_which_older_clients_create_consumers(land: Landscape) -> str:
    """https://github.com/nats-io/terraform-provider-jetstream/issues/148: `CONSUMER.DURABLE.CREATE` is allowed."""
    allowed = ("$JS.API.INFO", "$JS.API.STREAM.INFO.>", "$JS.API.CONSUMER.DURABLE.CREATE.>", "$JS.API.CONSUMER.INFO.>")
    subjects = ", ".join(f'"{subject}"' for subject in ("orders", *allowed))
    single(land, accounts=restricted(f'{{ publish: [{subjects}], subscribe: "_INBOX.>" }}'))
    stored(land.url(), "ORDERS")

    async def create() -> None:
        client = await nats.connect(land.url(user="svc"))
        for _ in range(6):
            with contextlib.suppress(Error):
                body = b'{"stream_name":"ORDERS","config":{"name":"worker","durable_name":"worker"}}'
                await client.request("$JS.API.CONSUMER.CREATE.ORDERS.worker", body, timeout=1)
        await client.close()

    asyncio.run(create())
    return land.url(user="sys")


@broken("JSD607", "APP/COPY")
def site_whose_link_is_of_another_account_than_its_streams(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/2161: a remote without `account` is one of `$G`."""
    land.start("h1", server("h1", domain="hub") + leaf_listener(land, "h1"))
    stored(land.url("h1"), "ORDERS")
    address = f"nats://app:app@127.0.0.1:{land.port('leaf/h1')}"
    land.start("site1", server("site1", domain="site1") + f'leafnodes {{ remotes: [{{ urls: ["{address}"] }}] }}\n')
    land.wait_leafs("site1", 1)

    async def copy() -> None:
        client = await nats.connect(land.url("site1"))
        source = {"name": "ORDERS", "external": {"api": "$JS.hub.API", "deliver": ""}}
        await add_stream(client, "COPY", sources=[source], **BOUNDED)
        await client.close()

    asyncio.run(copy())
    time.sleep(12)
    return land.url("site1", user="sys")


@broken("JSD901", "APP")
def account_for_which_jetstream_was_never_enabled(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/2367, https://github.com/nats-io/nats-server/issues/2697: 10039.

    Declared first: JSD803, of servers. What a login cannot read is a gap of the run.
    """
    single(land, accounts=ACCOUNTS.replace(", jetstream: enabled", ""))
    return land.url()


# Machines and stores


@broken("JSD808", "n1", logs=True)
def server_with_too_few_open_files(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/4673: `accept4: too many open files`.

    Declared first: JSD829, which looks at the host.
    """
    single(land)
    stored(land.url(), "ORDERS")
    node = land.node("n1")
    subprocess.run(["prlimit", "--nofile=64:64", "--pid", str(node.pid)], check=True)
    connections = [socket.create_connection(("127.0.0.1", node.ports.client), timeout=5) for _ in range(80)]
    land.wait_for(lambda: "too many open files" in node.log_path.read_text(), "the server to be out of files")
    time.sleep(3)
    for connection in connections:
        connection.close()
    time.sleep(2)
    return land.url(user="sys")


@broken("JSD802", "n1")
def server_whose_store_was_made_smaller_than_what_it_has(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/3672: `JetStream resource limits exceeded for server`."""
    single(land)

    async def fill() -> None:
        client = await nats.connect(land.url())
        await add_stream(client, "ORDERS", subjects=["orders"], **{**BOUNDED, "max_bytes": -1})
        for _ in range(40):
            await client.request("orders", b"x" * 900_000, timeout=10)
        await client.close()

    asyncio.run(fill())
    land.node("n1").stop()
    limits = "max_memory_store: 64M, max_file_store: 16M"
    land.start("n1", server("n1", storage=False) + jetstream(limits=limits))
    return land.url(user="sys")


@broken("JSD305", "APP/ORDERS", "--scan=ORDERS")
def retries_that_come_after_the_duplicate_window(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/7302: the same ids again, and they are stored again."""
    single(land)
    furnished(land, ("ORDERS", {"duplicate_window": SECOND_NS}))

    async def publish() -> None:
        client = await nats.connect(land.url())
        for _ in range(2):
            for number in range(30):
                headers = {"Nats-Msg-Id": f"order-{number}"}
                await client.request("orders", f"order {number}".encode(), timeout=10, headers=headers)
            await asyncio.sleep(3)
        await client.close()

    asyncio.run(publish())
    return land.url()


@broken("JSD818", "n", logs=True)
def stream_with_one_replica_whose_server_lost_its_volume(land: Landscape) -> str:
    """https://github.com/threeport/threeport/issues/511: the store was in the container, and is empty after it.

    Declared first: JSD208 of the stream. What is gone leaves no trace but in the log of the server.
    """
    keys = cluster(land)
    stored(land.url("n1"), "ORDERS", 200, num_replicas=1)
    furnished(land, ("ORDERS", "worker", {}))

    async def leader() -> str:
        client = await nats.connect(land.url("n1"))
        info = await api(client, "STREAM.INFO.ORDERS")
        await client.close()
        return str(info["cluster"]["leader"])

    node = land.node(key := asyncio.run(leader()))
    node.stop()
    shutil.rmtree(Path(node.directory) / "store")
    land.again(key)
    land.wait_meta(*keys)
    time.sleep(5)
    return land.url(user="sys")
