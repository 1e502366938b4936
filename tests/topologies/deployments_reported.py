"""Faults of servers, links and clients that operators reported publicly and `faults_of_deployments.py` has not.

As there, the rule that must name each fault was declared before the first run. Rules that were found to be missing when
a fault was written down (JSD620, JSD725, JSD726, JSD845) were added after the first run.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import nats
from nats.aio.client import Client

from tests.collect.certificates import Certificates
from tests.support.deployment import add_consumer, add_stream
from tests.topologies.callout import Callout
from tests.topologies.deployments import cluster, single
from tests.topologies.faults_of_deployments import KEYS, BrokenDeployments, stored
from tests.topologies.habits import BOUNDED
from tests.topologies.landscape import (
    Landscape,
    gateways,
    jetstream,
    leaf_listener,
    leaf_remotes,
    routed,
    server,
)
from tests.topologies.unsteady import UnsteadyPath

REPORTED = BrokenDeployments()
CUT_S = 2.0
"""So long a connection over an unsteady path lasts."""
broken = REPORTED.broken


def unsteady(land: Landscape, name: str, target: int) -> int:
    """The port of a path to `target` that breaks again and again."""
    path = UnsteadyPath(land.port(f"unsteady/{name}"), target, CUT_S)
    land.closing(path.close)
    return land.port(f"unsteady/{name}")


def goes_on(land: Landscape, work: Callable[[threading.Event], Coroutine[Any, Any, None]]) -> None:
    """Let clients work in a thread of their own until the landscape is taken down."""
    end = threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(work(end)), daemon=True)
    thread.start()

    def stop() -> None:
        end.set()
        thread.join(20)

    land.closing(stop)


@broken("JSD726", "n3", "--set", "JSD726.start_up=5s", "--samples", "5")
def server_with_another_name_of_the_cluster(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/2429: its routes are refused, and it goes on alone."""
    for key in KEYS:
        own = routed(land, "C", key, KEYS)
        land.start(key, server(key) + (own.replace("name: C,", "name: OTHER,") if key == "n3" else own))
    time.sleep(10)
    return land.url("n3", user="sys")


@broken("JSD726", "n3", "--set", "JSD726.start_up=5s", "--samples", "5")
def server_with_another_password_for_its_routes(land: Landscape) -> str:
    """https://docs.nats.io/running-a-nats-service/configuration/clustering/cluster_config: `authorization`.

    Planted first with a wrong password in n3's addresses only: then the others connect to it.
    """
    for key in KEYS:
        password = "other" if key == "n3" else "secret"
        own = routed(land, "C", key, KEYS).replace("nats://", f"nats://r:{password}@")
        login = f"authorization {{ user: r, password: {password} }}"
        land.start(key, server(key) + own.replace("name: C,", f"name: C, {login},"))
    time.sleep(10)
    return land.url("n3", user="sys")


@broken("JSD726", "n3", "--set", "JSD726.start_up=5s", "--samples", "5")
def server_without_the_certificates_of_its_cluster(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/1680: one server speaks TLS over its routes, the others do not."""
    land.directory.mkdir(parents=True, exist_ok=True)
    certificate, key_file = Certificates(land.directory).localhost
    tls = f'tls {{ cert_file: "{certificate}", key_file: "{key_file}", timeout: 2 }}'
    for key in KEYS:
        own = routed(land, "C", key, KEYS)
        land.start(key, server(key) + (own.replace("name: C,", f"name: C, {tls},") if key == "n3" else own))
    time.sleep(10)
    return land.url("n3", user="sys")


@broken("JSD725", "h1", "--set", "JSD725.start_up=5s")
def two_sites_with_one_server_name(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/4939: the hub closes one's connection for the other's."""
    land.start("h1", server("h1", domain="hub") + leaf_listener(land, "h1"))
    for key in ("s1", "s2"):
        land.start(key, server("edge", domain=key) + leaf_remotes(land, ["h1"], ("app",)))
    time.sleep(20)
    return land.url("h1", user="sys")


@broken("JSD719", "h1", "--set", "JSD719.start_up=5s")
def hub_and_site_that_are_leaf_nodes_of_each_other(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/5117: a loop, which one of them detects.

    Declared first: for the site, whose link is the one that stays.
    """
    for key, other in (("h1", "site1"), ("site1", "h1")):
        remotes = leaf_remotes(land, [other], ("app",)).replace("remotes:", f"{_listens(land, key)} remotes:")
        land.start(key, server(key, domain=key) + remotes)
    time.sleep(12)
    return land.url("h1", user="sys")


def _listens(land: Landscape, key: str) -> str:
    return leaf_listener(land, key).removeprefix("leafnodes { ").removesuffix(" }\n") + ","


def _hub_over_an_unsteady_path(land: Landscape) -> int:
    """Starts a hub that advertises the path, and returns the port of it."""
    port = unsteady(land, "leaf", land.port("leaf/h1"))
    advertised = leaf_listener(land, "h1").replace("{ ", f'{{ advertise: "127.0.0.1:{port}", ', 1)
    land.start("h1", server("h1", domain="hub") + advertised)
    return port


@broken("JSD725", "site1", "--set", "JSD725.start_up=5s")
def site_behind_an_unsteady_line(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/7615: it connects again and again."""
    port = _hub_over_an_unsteady_path(land)
    remotes = leaf_remotes(land, ["h1"], ("app",)).replace(f":{land.port('leaf/h1')}", f":{port}")
    land.start("site1", server("site1", domain="site1") + remotes)
    time.sleep(22)
    return land.url("site1", user="sys")


@broken("JSD725", "n2", "--set", "JSD725.start_up=5s", "--interval", "5s")
def route_over_an_unsteady_line(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/1399: two servers, one of them behind a mobile network."""
    keys = KEYS[:2]
    alone = routed(land, "C", "n1", ["n1"]).replace("name: C,", "name: C, no_advertise: true,")
    land.start("n1", server("n1") + alone)
    port = unsteady(land, "route", land.port("C/n1"))
    over = routed(land, "C", "n2", keys).replace(
        f'"nats://127.0.0.1:{land.port("C/n1")}"', f'"nats://127.0.0.1:{port}"'
    )
    land.start("n2", server("n2") + over.replace("name: C,", "name: C, no_advertise: true,"))
    time.sleep(22)
    return land.url("n2", user="sys")


@broken("JSD725", "west1", "--set", "JSD725.start_up=5s", "--interval", "5s")
def gateway_over_an_unsteady_line(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/3515, whose TCP resets hit every kind of link."""
    members = {"west": ["west1"], "east": ["east1"]}
    port = unsteady(land, "gateway", land.port("gw/east1"))
    for name, (key,) in members.items():
        links = gateways(land, name, key, members)
        if name == "west":
            links = links.replace(f":{land.port('gw/east1')}", f":{port}")
        else:
            links = links.replace("gateway {", f'gateway {{ advertise: "127.0.0.1:{port}",')
        land.start(key, server(key) + routed(land, name, key, [key]) + links)
    time.sleep(22)
    return land.url("west1", user="sys")


@broken("JSD703", "n3", "--set", "JSD703.long_silence=5s")
def server_that_came_back_with_another_name(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/2737: pods that are named anew leave dead peers behind."""
    cluster(land)
    stored(land.url("n1"), "ORDERS", num_replicas=3)
    land.node("n3").kill()
    land.start("n4", server("n4") + routed(land, "C", "n4", ["n1", "n2", "n4"]))
    time.sleep(25)
    return land.url("n1", "n2", user="sys")


@broken("JSD620", "APP/ONE", "--interval", "3s")
def streams_that_republish_to_each_other(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/pull/3129: the server refuses a cycle within one stream only."""

    async def publish() -> None:
        client = await nats.connect(land.url())
        await add_stream(client, "ONE", subjects=["one.>"], **BOUNDED, republish={"src": "one.>", "dest": "two.>"})
        await add_stream(client, "TWO", subjects=["two.>"], **BOUNDED, republish={"src": "two.>", "dest": "one.>"})
        await client.request("one.x", b"x", timeout=10)
        await client.close()

    single(land)
    asyncio.run(publish())
    time.sleep(2)
    return land.url()


async def until(end: threading.Event, url: str, work: Callable[[Client], Coroutine[Any, Any, None]]) -> None:
    """Let a client work again and again, whether or not it succeeds."""
    client = await nats.connect(url.split(","))
    try:
        while not end.is_set():
            with contextlib.suppress(Exception):
                await work(client)
    finally:
        await client.close()


@broken("JSD807", "n1", "--interval", "5s")
def clients_that_request_information_of_a_consumer_in_a_loop(land: Landscape) -> str:
    """https://www.synadia.com/blog/jetstream-design-patterns-for-scale."""

    async def fifty(client: Client) -> None:
        await asyncio.gather(
            *(client.request("$JS.API.CONSUMER.INFO.ORDERS.worker", b"", timeout=10) for _ in range(50))
        )
        await asyncio.sleep(0.1)

    async def furnish() -> None:
        client = await nats.connect(land.url())
        await add_consumer(client, "ORDERS", "worker")
        await client.close()

    single(land)
    stored(land.url(), "ORDERS")
    asyncio.run(furnish())
    goes_on(land, lambda end: until(end, land.url(), fifty))
    time.sleep(3)
    return land.url(user="sys")


@broken("JSD807", "n1", "--interval", "5s")
def client_whose_consumer_is_refused_and_that_tries_again(land: Landscape) -> str:
    """https://github.com/nats-io/nats.node/issues/566: a second consumer of a work queue (10099, 10100)."""
    body = b'{"stream_name":"JOBS","config":{"name":"two","durable_name":"two","ack_policy":"explicit"}}'

    async def ten(client: Client) -> None:
        for _ in range(10):
            await client.request("$JS.API.CONSUMER.CREATE.JOBS.two", body, timeout=10)
        await asyncio.sleep(0.1)

    async def furnish() -> None:
        client = await nats.connect(land.url())
        await add_consumer(client, "JOBS", "one")
        await client.close()

    single(land)
    stored(land.url(), "JOBS", retention="workqueue")
    asyncio.run(furnish())
    goes_on(land, lambda end: until(end, land.url(), ten))
    time.sleep(3)
    return land.url(user="sys")


def _raw(land: Landscape, *lines: bytes) -> None:
    """A connection that sends those lines, and reads until the server closes it."""
    with socket.create_connection(("127.0.0.1", land.node("n1").ports.client), timeout=10) as connection:
        connection.recv(4096)
        for line in lines:
            connection.sendall(line)
        connection.settimeout(3)
        with contextlib.suppress(OSError):
            while connection.recv(4096):
                pass


@broken("JSD845", "n1")
def client_that_sends_messages_which_are_too_large(land: Landscape) -> str:
    """https://github.com/nats-io/nats.net/issues/376: the server closes the connection, and the client tries again."""
    single(land, "max_payload: 1KB\n")
    login = b'CONNECT {"user":"app","pass":"app","verbose":false,"name":"importer"}\r\n'
    for _ in range(10):
        _raw(land, login, b"PUB orders.new 5000\r\n" + b"x" * 5000 + b"\r\n")
    return land.url(user="sys")


@broken("JSD809", "n1")
def health_checks_at_the_port_of_clients(land: Landscape) -> str:
    """https://github.com/nextcloud/all-in-one/issues/1204: HTTP where NATS is spoken.

    Declared first: JSD845, which names it where no login is required.
    """
    single(land)
    for _ in range(10):
        _raw(land, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return land.url(user="sys")


@broken("JSD845", "n1")
def clients_without_tls_at_a_server_that_requires_it(land: Landscape) -> str:
    """https://docs.nats.io/running-a-nats-service/configuration/securing_nats/tls: handshakes fail again and again.

    Declared first: JSD809, which has logins only.
    """
    land.directory.mkdir(parents=True, exist_ok=True)
    certificate, key_file = Certificates(land.directory).localhost
    single(land, f'tls {{ cert_file: "{certificate}", key_file: "{key_file}", timeout: 2 }}\n')
    for _ in range(10):
        _raw(land, b'CONNECT {"user":"app","pass":"app","verbose":false}\r\nPING\r\n')
    return land.node("n1").monitor_url


@broken("JSD802", "n3")
def one_server_with_a_smaller_store(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/3734: one of three is full before the others."""
    for key in KEYS:
        limits = "max_memory_store: 64M, max_file_store: " + ("12M" if key == "n3" else "4G")
        land.start(key, server(key, storage=False) + jetstream(limits=limits) + routed(land, "C", key, KEYS))
    land.wait_meta(*KEYS)
    stored(land.url("n1"), "ORDERS", num_replicas=3, max_bytes=11 << 20)
    return land.url("n1", user="sys")


@broken("JSD702", "APP/ORDERS")
def stream_with_one_replica_whose_server_is_gone(land: Landscape) -> str:
    """https://github.com/nats-io/nats.go/issues/781: nothing can be published or pulled.

    Declared first: with a login of the system account, to which no server names the stream; JSD901 reports that.
    """
    keys = cluster(land)
    stored(land.url("n1"), "ORDERS", num_replicas=1)
    (holder,) = (
        key
        for key in keys
        if any(
            account["name"] == "APP" for account in land.monitor(key, "/jsz?accounts=1&streams=1")["account_details"]
        )
        and _holds(land, key)
    )
    land.node(holder).kill()
    time.sleep(20)
    return land.url(*(key for key in keys if key != holder))


def _holds(land: Landscape, key: str) -> bool:
    details = land.monitor(key, "/jsz?accounts=1&streams=1&config=1")["account_details"]
    return any(stream["name"] == "ORDERS" for account in details for stream in account.get("stream_detail") or ())


@broken("JSD717", "west", "--set", "JSD717.start_up=0s")
def gateway_with_a_misspelled_name(land: Landscape) -> str:
    """https://docs.nats.io/running-a-nats-service/configuration/gateways: the names must agree. Declared first: for the
    cluster without its name.
    """
    members = {"west": ["west1"], "east": ["east1"]}
    for name, (key,) in members.items():
        links = gateways(land, name, key, members)
        if name == "west":
            links = links.replace("{ name: east,", "{ name: eeast,")
        land.start(key, server(key) + routed(land, name, key, [key]) + links)
    time.sleep(5)
    return land.url("west1", user="sys")


@broken("JSD809", "n1")
def logins_that_a_service_decides_which_does_not_run(land: Landscape) -> str:
    """https://docs.nats.io/running-a-nats-service/configuration/securing_nats/auth_callout."""
    callout = Callout()
    land.start("n1", server("n1", accounts=callout.accounts))
    for _ in range(6):
        _raw(land, b'CONNECT {"user":"app","pass":"app","verbose":false}\r\nPING\r\n')
    return land.node("n1").monitor_url


@broken("JSD725", "h1", "--set", "JSD725.start_up=5s")
def hub_whose_site_is_behind_an_unsteady_line(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/1606: the same, as the hub's operator sees it."""
    port = _hub_over_an_unsteady_path(land)
    remotes = leaf_remotes(land, ["h1"], ("app",)).replace(f":{land.port('leaf/h1')}", f":{port}")
    land.start("site1", server("site1", domain="site1") + remotes)
    time.sleep(22)
    return land.url("h1", user="sys")
