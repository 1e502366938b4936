"""Faults of servers and their clients: storage, logins, certificates, connections, permissions."""

import asyncio
import contextlib
import json
import shutil
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import nats
from nats.aio.client import Client

from tests.faults.planting import fault
from tests.servers.callout import Callout
from tests.servers.deployments import THREE, cluster, do, formed, furnished, goes_on, single, stored, until
from tests.servers.landscape import ACCOUNTS, Landscape, jetstream, routed, server
from tests.sources.certificates import Certificates
from tests.sources.operator_mode import Key, Operator, creds
from tests.support.applications import raw_client
from tests.support.deployment import api
from tests.support.site import Site


@fault("JSD801", "n1")
def streams_that_were_stored_before_there_were_accounts(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/5219: they belong to `$G`, which has no JetStream any more."""
    land.start("n1", server("n1", accounts=""))
    stored(land.node("n1").url, "ORDERS", 1)
    land.node("n1").stop()
    land.start("n1", server("n1"))
    time.sleep(2)
    return land.url(user="sys")


def closed_by_server(connection: socket.socket) -> None:
    """Read until it is."""
    with connection, contextlib.suppress(ConnectionResetError):
        while connection.recv(4096):
            pass


def logged_in(land: Landscape, key: str, user: str = "app") -> socket.socket:
    """A connection of a user of APP, as far as the server lets it in."""
    connection = socket.create_connection(("127.0.0.1", land.node(key).ports.client), timeout=5)
    login = f'{{"user":"{user}","pass":"{user}","verbose":false}}'
    connection.sendall(f"CONNECT {login}\r\nPING\r\n".encode())
    return connection


@fault("JSD808", "n1")
def account_at_its_limit_of_connections(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/pull/7527: `maximum account active connections exceeded`."""
    single(land, accounts=ACCOUNTS.replace("jetstream: enabled", "jetstream: enabled, limits { max_connections: 5 }"))
    for _ in range(5):
        land.keep(logged_in(land, "n1"))
    time.sleep(1)
    for _ in range(10):
        closed_by_server(logged_in(land, "n1"))
    return land.url(user="sys")


APP_USER = "{ user: app, password: app }"


def restricted(permissions: str) -> str:
    """The accounts, with a second user of APP that has those permissions."""
    user = f"{{ user: svc, password: svc, permissions: {permissions} }}"
    return ACCOUNTS.replace(APP_USER, f"{APP_USER}, {user}")


@fault("JSD825", "APP/user:svc", logs=True, since=(2, 12))
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


@fault("JSD825", "APP/user:app", logs=True, since=(2, 12))
def connection_at_its_limit_of_subscriptions(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/6570: further subscriptions are refused."""
    single(land, accounts=ACCOUNTS.replace("jetstream: enabled", "jetstream: enabled, limits { max_subs: 50 }"))
    connection = logged_in(land, "n1")
    land.keep(connection)
    connection.sendall(b"".join(b"SUB orders.%d %d\r\n" % (number, number + 1) for number in range(60)))
    time.sleep(2)
    return land.url(user="sys")


@fault("JSD802", "n3")
def one_server_with_a_smaller_store(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/3734: one of three is full before the others."""
    for key in THREE:
        limits = "max_memory_store: 64M, max_file_store: " + ("12M" if key == "n3" else "4G")
        land.start(key, server(key, storage=False) + jetstream(limits=limits) + routed(land, "C", key, THREE))
    land.wait_meta(*THREE)
    stored(land.url("n1"), "ORDERS", num_replicas=3, max_bytes=11 << 20)
    return land.url("n1", user="sys")


@fault("JSD807", "n1", options=("--interval", "5s"))
def clients_that_request_information_of_a_consumer_in_a_loop(land: Landscape) -> str:
    """https://www.synadia.com/blog/jetstream-design-patterns-for-scale."""

    async def fifty(client: Client) -> None:
        await asyncio.gather(
            *(client.request("$JS.API.CONSUMER.INFO.ORDERS.worker", b"", timeout=10) for _ in range(50))
        )
        await asyncio.sleep(0.1)

    single(land)
    furnished(land, ("ORDERS", {}), ("ORDERS", "worker", {}))
    goes_on(land, lambda end: until(end, land.url(), fifty))
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


@fault("JSD809", "n1")
def logins_that_a_service_decides_which_does_not_run(land: Landscape) -> str:
    """https://docs.nats.io/running-a-nats-service/configuration/securing_nats/auth_callout."""
    callout = Callout()
    land.start("n1", server("n1", accounts=callout.accounts))
    for _ in range(6):
        _raw(land, b'CONNECT {"user":"app","pass":"app","verbose":false}\r\nPING\r\n')
    return land.node("n1").monitor_url


@fault("JSD845", "n1")
def clients_without_tls_at_a_server_that_requires_it(land: Landscape) -> str:
    """https://docs.nats.io/running-a-nats-service/configuration/securing_nats/tls: handshakes fail again and again."""
    land.directory.mkdir(parents=True, exist_ok=True)
    certificate, key_file = Certificates(land.directory).localhost
    single(land, f'tls {{ cert_file: "{certificate}", key_file: "{key_file}", timeout: 2 }}\n')
    for _ in range(10):
        _raw(land, b'CONNECT {"user":"app","pass":"app","verbose":false}\r\nPING\r\n')
    return land.node("n1").monitor_url


@fault("JSD803", "n3")
def jetstream_switched_off_on_one_server(land: Landscape) -> str:
    keys = cluster(land)
    land.node("n3").stop()
    land.start("n3", server("n3", storage=False) + routed(land, "C", "n3", keys))
    land.wait_for(lambda: len(land.monitor("n1", "/routez")["routes"]) >= 2, "the routes of n1")
    return land.url("n1", user="sys")


@fault("JSD818", "n1")
def store_in_the_memory_of_the_host(land: Landscape) -> str:
    """A container whose volume is mounted elsewhere writes to memory."""
    directory = Path(tempfile.mkdtemp(dir="/dev/shm"))
    land.closing(lambda: shutil.rmtree(directory))
    store = f'jetstream {{ store_dir: "{directory}", max_memory_store: 64M, max_file_store: 1G }}\n'
    land.start("n1", server("n1", storage=False) + store)
    return land.url(user="sys")


@fault("JSD804", "n1", logs=True)
def server_that_was_restarted_with_another_key(land: Landscape) -> str:
    """https://github.com/argoproj/argo-events/issues/3458: its streams are not there, and it serves clients."""
    for key in ("one", "two"):
        sealed = server("n1").replace("store_dir: store", f"store_dir: store, cipher: aes, key: {key}")
        land.start("n1", sealed)
        if key == "one":
            stored(land.url(), "ORDERS")
            land.node("n1").stop()
    return land.url(user="sys")


@fault("JSD811", "n1", always=True)
def clients_that_are_all_on_one_server(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/1556, https://github.com/nats-io/stan.java/issues/145."""
    cluster(land)

    async def stay(end: threading.Event) -> None:
        clients = [await nats.connect(land.url("n1"), name=f"shop-{number}") for number in range(60)]
        await asyncio.to_thread(end.wait)
        for client in clients:
            await client.close()

    goes_on(land, stay)
    land.wait_for(lambda: int(land.monitor("n1", "/varz")["connections"]) >= 60, "the clients")
    return land.url(user="sys")


@fault("JSD849", "n1", logs=True)
def server_that_logs_every_message(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/1197: 88 GB of log; bodies of messages are in it."""
    single(land, "debug: true\ntrace: true\n")
    stored(land.url(), "ORDERS", 500)
    return land.url(user="sys")


async def create_again_and_again(site: Site) -> None:
    body = json.dumps({"name": "S_NEWNAME", "subjects": ["s_oldname.>"]}).encode()
    while True:
        reply = await site.client.request("$JS.API.STREAM.CREATE.S_NEWNAME", body, timeout=10)
        assert b'"error"' in reply.data, reply.data
        await asyncio.sleep(0.5)


@fault("JSD807", "APP", create_again_and_again, blurred=True)
async def stream_that_was_renamed_in_its_manifest(site: Site) -> None:
    """https://github.com/nats-io/nack/issues/120: the old one still has the subjects (10065)."""
    await site.stream("S_OLDNAME")


@fault("JSD808", "n1", logs=True)
def server_with_too_few_open_files(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/4673: `accept4: too many open files`."""
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


@fault("JSD809", "n1", logs=True)
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
            with contextlib.suppress(OSError), context.wrap_socket(connection, server_hostname="localhost") as secured:
                secured.sendall(b'CONNECT {"user":"app","pass":"app","verbose":false}\r\nPING\r\n')
                secured.recv(4096)
    return land.node("n1").monitor_url


@fault("JSD812", "n1", logs=True, since=(2, 12))
def cluster_whose_certificate_for_routes_has_expired(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/3602, https://github.com/nats-io/nats.py/pull/971: after a year."""
    land.directory.mkdir(parents=True, exist_ok=True)
    pki = Certificates(land.directory)
    certificate, key_file = pki.expired()
    files = f'cert_file: "{certificate}", key_file: "{key_file}", ca_file: "{pki.ca}"'
    for key in THREE:
        own = routed(land, "C", key, THREE)
        land.start(key, server(key) + own.replace("name: C,", f"name: C, tls {{ {files}, timeout: 2 }},"))
    time.sleep(10)
    return land.url("n1", user="sys")


@fault("JSD818", "", logs=True)
def stream_with_one_replica_whose_server_lost_its_volume(land: Landscape) -> str:
    """https://github.com/threeport/threeport/issues/511: the store was in the container, and is empty after it."""
    keys = cluster(land)
    stored(land.url("n1"), "ORDERS", 200, num_replicas=1)
    furnished(land, ("ORDERS", "worker", {}))

    key = do(land.url("n1"), lambda client: api(client, "STREAM.INFO.ORDERS"))["cluster"]["leader"]
    node = land.node(key)
    node.stop()
    shutil.rmtree(Path(node.directory) / "store")
    land.again(key)
    land.wait_meta(*keys)
    time.sleep(5)
    return land.url(user="sys")


@fault("JSD813", "n1")
def server_that_flushes_its_files_every_ten_minutes(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/4542: a power cut takes back what was acknowledged."""
    limits = 'jetstream { store_dir: store, max_memory_store: 64M, max_file_store: 4G, sync_interval: "10m" }\n'
    land.start("n1", server("n1", storage=False) + limits)
    stored(land.url(), "ORDERS")
    return land.url(user="sys")


def _logs_in(land: Landscape, operator: Operator, account: Key, times: int = 3) -> None:
    """Attempts of a client of that account."""
    path = land.directory / f"{account.public}.creds"
    path.write_text(creds(*operator.user(account)))

    async def attempt() -> None:
        for _ in range(times):
            client = Client()  # nats.connect would leave the socket of a refused login open
            with contextlib.suppress(Exception):
                await client.connect(
                    land.node("n1").url, user_credentials=str(path), allow_reconnect=False, max_reconnect_attempts=1
                )
            await client.close()

    asyncio.run(attempt())


@fault("JSD822", "APP")
def account_whose_jwt_has_expired(land: Landscape) -> str:
    operator = Operator(jetstream=True, app_expires=int(time.time()) + 5)
    land.start("n1", server("n1", accounts=operator.config))
    _logs_in(land, operator, operator.app, 1)
    time.sleep(6)
    _logs_in(land, operator, operator.app)
    return land.node("n1").monitor_url


@fault("JSD822", "n1")
def resolver_that_cannot_be_reached(land: Landscape) -> str:
    resolver = '{ type: cache, dir: "jwt", ttl: "1h", timeout: "500ms" }'
    operator = Operator(jetstream=True, resolver=resolver)
    land.start("n1", server("n1", accounts=operator.config))
    _logs_in(land, operator, operator.app)
    return land.node("n1").monitor_url


DAY_S = 24 * 3600


@fault("JSD822", "APP")
def account_whose_jwt_expires_tomorrow(land: Landscape) -> str:
    operator = Operator(jetstream=True, app_expires=int(time.time()) + DAY_S)
    land.start("n1", server("n1", accounts=operator.config))
    _logs_in(land, operator, operator.app, 1)
    return land.node("n1").monitor_url


async def no_responders_without_headers(site: Site) -> None:
    while True:
        with contextlib.suppress(OSError):
            async with raw_client(site, "met-headers", no_responders=True, headers=False):
                await asyncio.sleep(1)
        await asyncio.sleep(2)


@fault("JSD845", "", no_responders_without_headers, mentions="met-headers")
async def client_that_wants_no_responders_without_headers(site: Site) -> None:
    """The server closes it: the status comes in a header."""


async def crash_and_start_again(site: Site) -> None:
    while True:
        async with raw_client(site, "met-crashes"):
            await asyncio.sleep(0.8)


@fault("JSD846", "APP/met-crashes", crash_and_start_again)
async def application_that_crashes_when_it_has_started(site: Site) -> None:
    """Its supervisor starts it again."""


@contextlib.asynccontextmanager
async def working_client(site: Site, name: str) -> AsyncIterator[Client]:
    """A client that is closed whenever its work ends."""
    url = site.client.connected_url
    assert url is not None
    client = await nats.connect(f"nats://app:app@{url.hostname}:{url.port}", name=name, allow_reconnect=False)
    try:
        yield client
    finally:
        await client.close()


async def connect_for_each_message(site: Site) -> None:
    while True:
        async with working_client(site, "met-each") as client:
            await client.publish("met.each", b"x")
            await client.drain()
        await asyncio.sleep(0.2)


@fault("JSD846", "APP/met-each", connect_for_each_message)
async def application_that_opens_a_connection_for_each_message(site: Site) -> None:
    """https://github.com/nats-io/nats.go/issues/1128 and guides of all clients: a connection is meant to stay."""


PINGS = 'ping_interval: "2s"\nping_max: 2\n'
"""Clients that do not respond to PING are closed within seconds."""


async def ignore_pings(site: Site) -> None:
    loop = asyncio.get_running_loop()
    while True:
        async with raw_client(site, "met-pings") as connection:
            while await loop.sock_recv(connection, 4096):
                pass


@fault("JSD846", "APP/met-pings", ignore_pings, ignore_pings, config=PINGS)
async def client_that_does_not_respond_to_pings(site: Site) -> None:
    """Its event loop is blocked, or a firewall drops what is idle: `Stale Connection`."""


async def reset(site: Site) -> None:
    while True:
        async with raw_client(site, "met-resets") as connection:
            await asyncio.sleep(1)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@fault("JSD846", "APP/met-resets", reset)
async def client_whose_connections_are_reset(site: Site) -> None:
    """A proxy between client and server ends each of them."""


async def leak_subscriptions(site: Site) -> None:
    async with working_client(site, "met-leak") as client:
        while True:
            for _ in range(200):
                await client.subscribe(client.new_inbox())
            await asyncio.sleep(0.5)


@fault("JSD847", "APP/met-leak", leak_subscriptions)
async def application_that_never_unsubscribes_the_inboxes_of_its_requests(site: Site) -> None:
    """https://github.com/nats-io/nats-server/issues/2063: memory grows on every server of the cluster."""


def _unknown_field(land: Landscape, *subjects: str) -> str:
    """A client whose requests have a field that no server knows. Equal lines are logged once a minute."""
    single(land)

    async def ask(client: Client) -> None:
        for subject in subjects:
            await client.request(subject, b'{"name": "X", "subjects": ["x"], "no_such_field": ""}', timeout=10)

    do(land.url(), ask)
    time.sleep(1)
    return land.url(user="sys")


@fault("JSD850", "APP", logs=True, since=(2, 12), severity="error", mentions="no_such_field")
def old_client_of_a_strict_server(land: Landscape) -> str:
    """https://github.com/nats-io/nats.ex/issues/222: after the upgrade, each start of an application is refused."""
    return _unknown_field(land, "$JS.API.STREAM.CREATE.X", "$JS.API.STREAM.UPDATE.X")


@fault("JSD850", "APP", logs=True, since=(2, 11), before=(2, 12), severity="warning", mentions="no_such_field")
def old_client_before_the_upgrade(land: Landscape) -> str:
    return _unknown_field(land, "$JS.API.STREAM.CREATE.X", "$JS.API.STREAM.UPDATE.X")


@fault("JSD851", "cluster", options=("--addresses",), always=True)
def an_address_for_clients_that_nothing_listens_on(land: Landscape) -> str:
    """https://github.com/nats-io/nats.go/issues/1760: clients come in by another address, and are sent away to this."""
    return given_to_clients(land, 1)


@fault("JSD851", "cluster", options=("--addresses",), mentions="no INFO within 2 s")
def a_proxy_that_waits_for_the_first_bytes_of_the_client(land: Landscape) -> str:
    """https://github.com/linkerd/linkerd2/issues/13364: it wants to know the protocol, and the server speaks first."""
    listening = socket.create_server(("127.0.0.1", 0))
    land.closing(listening.close)
    return given_to_clients(land, listening.getsockname()[1])


def given_to_clients(land: Landscape, port: int) -> str:
    """Three servers, of which n1 gives this port to clients."""

    def configuration(key: str) -> str:
        own = server(key) + routed(land, "C", key, THREE)
        return own + (f'client_advertise: "127.0.0.1:{port}"\n' if key == "n1" else "")

    formed(land, configuration)
    return land.url("n2", user="sys")


@fault("JSD852", "shop-1", options=("--this-host",), always=True)
def two_servers_in_one_store_directory(land: Landscape) -> str:
    """https://github.com/NERSC/interactEM/pull/478: one volume for all services. No server complains of it."""
    for key in ("shop-1", "shop-2"):  # names that no other servers of this host have
        land.start(key, server(key).replace("store_dir: store", f'store_dir: "{land.directory}/shared"'))
    return land.url("shop-1", user="sys")
