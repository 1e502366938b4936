"""Faults of servers, links, domains and accounts, a deployment each.

The rule that must name each fault, and the subject of its finding, were declared before the first run.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path

import nats

from tests.collect.certificates import Certificates
from tests.support.deployment import HOUR_NS, add_consumer, add_stream, api
from tests.support.stored import publish
from tests.topologies.deployments import HUB, cluster, hub, single, sites, super_cluster
from tests.topologies.habits import BOUNDED
from tests.topologies.landscape import (
    ACCOUNTS,
    Landscape,
    gateways,
    jetstream,
    leaf_listener,
    leaf_remotes,
    routed,
    server,
)
from tests.topologies.mqtt import mqtt_session

Break = Callable[[Landscape], str]
"""Starts a deployment, breaks it, and returns the login to look with."""


@dataclass
class Broken:
    """One deployment: the rule and the subject of its finding, how to build it, and more options of `check`."""

    code: str
    subject: str
    build: Break
    options: tuple[str, ...] = ()
    since: tuple[int, int] = (2, 10)
    missed: str = ""
    """Why no rule names it; empty where one must."""
    logs: bool = False
    """Whether the logs of the servers are checked as well."""

    def fits(self, version: str) -> bool:
        """Whether that version has what the fault needs."""
        return tuple(int(part) for part in version.split(".")[:2]) >= self.since


class BrokenDeployments(list[Broken]):
    """A table of them, in the order in which they are declared."""

    def broken(
        self,
        code: str,
        subject: str,
        *options: str,
        since: tuple[int, int] = (2, 10),
        missed: str = "",
        logs: bool = False,
    ) -> Callable[[Break], Break]:
        """Register a deployment."""

        def register(build: Break) -> Break:
            self.append(Broken(code, subject, build, options, since, missed, logs))
            return build

        return register


BROKEN = BrokenDeployments()
KEYS = ["n1", "n2", "n3"]
broken = BROKEN.broken


def stored(url: str, name: str, messages: int = 10, **config: object) -> None:
    """A stream with messages."""

    async def store() -> None:
        client = await nats.connect(url.split(","))
        try:
            await add_stream(client, name, **{"subjects": [name.lower()], **BOUNDED, **config})
            for _ in range(messages):
                await publish(client, name.lower(), b"x" * 100)
        finally:
            await client.close()

    asyncio.run(store())


def meta_lost(land: Landscape, key: str) -> None:
    """Wait until that server knows no meta leader."""
    land.wait_for(lambda: not land.monitor(key, "/jsz")["meta_cluster"].get("leader"), "no meta leader")


@broken("JSD803", "n3")
def jetstream_switched_off_on_one_server(land: Landscape) -> str:
    keys = cluster(land)
    land.node("n3").stop()
    land.start("n3", server("n3", storage=False) + routed(land, "C", "n3", keys))
    land.wait_for(lambda: len(land.monitor("n1", "/routez")["routes"]) >= 2, "the routes of n1")
    return land.url("n1", user="sys")


@broken("JSD722", "n2")
def two_servers_of_one_name(land: Landscape) -> str:
    """Kubernetes templates and copied configurations: the third server has the name of the second."""
    for key, name in zip(KEYS, ("n1", "n2", "n2"), strict=True):
        land.start(key, server(name) + routed(land, "C", key, KEYS))
        time.sleep(3)
    return land.url(*KEYS, user="sys")


@broken("JSD722", "a1")
def two_servers_of_one_name_in_a_super_cluster(land: Landscape) -> str:
    """They refuse each other's gateways: only the third cluster reaches both. Declared first: from any."""
    members = {"west": ["west1"], "east": ["east1"], "north": ["north1"]}
    for cluster_name, (key,) in members.items():
        name = "n1" if cluster_name == "north" else "a1"
        land.start(
            key, server(name) + routed(land, cluster_name, key, [key]) + gateways(land, cluster_name, key, members)
        )
        time.sleep(3)
    return land.url("north1", user="sys")


@broken("JSD724", "cluster", "--set", "JSD724.start_up=5s")
def one_server_with_another_system_account(land: Landscape) -> str:
    """Each side refuses the other's route of its system account. Declared first, and missed: JSD710."""
    for key in KEYS:
        accounts = ACCOUNTS.replace("system_account: SYS\n", "system_account: OPS\n").replace("SYS:", "OPS:")
        config = server(key, accounts=accounts if key == "n3" else ACCOUNTS)
        land.start(key, config + routed(land, "C", key, KEYS))
    time.sleep(12)
    return land.url("n1", "n2", user="sys")


@broken("JSD710", "cluster", "--set", "JSD710.roll_out=1s")
def one_server_that_takes_smaller_messages(land: Landscape) -> str:
    for key in KEYS:
        limit = "max_payload: 64KB\n" if key == "n3" else ""
        land.start(key, server(key) + routed(land, "C", key, KEYS) + limit)
    land.wait_meta(*KEYS)
    time.sleep(2)
    return land.url("n1", user="sys")


@broken("JSD706", "cluster")
def super_cluster_of_two_and_two(land: Landscape) -> str:
    super_cluster(land, ("west", "east"), size=2)
    return land.url("west1", user="sys")


@broken("JSD717", "cluster", "--set", "JSD717.start_up=0s")
def gateway_that_the_other_side_refuses(land: Landscape) -> str:
    """East lists no gateway, and rejects clusters that it does not list."""
    members = {"west": ["west1"], "east": ["east1"]}
    alone = gateways(land, "east", "east1", {"east": ["east1"]}).replace(
        "{ name", "{ reject_unknown_cluster: true, name", 1
    )
    land.start("east1", server("east1") + routed(land, "east", "east1", ["east1"]) + alone)
    land.start(
        "west1", server("west1") + routed(land, "west", "west1", ["west1"]) + gateways(land, "west", "west1", members)
    )
    time.sleep(5)
    return land.url("west1", user="sys")


@broken("JSD719", "site1", "--set", "JSD719.start_up=0s")
def leaf_with_a_wrong_password(land: Landscape) -> str:
    hub(land)
    remotes = leaf_remotes(land, HUB, ("app",)).replace("app:app@", "app:wrong@")
    land.start("site1", server("site1", domain="site1") + remotes)
    time.sleep(3)
    return land.url("site1", user="sys")


@broken("JSD719", "site1", "--set", "JSD719.start_up=0s")
def leaf_whose_system_account_is_not_connected(land: Landscape) -> str:
    hub(land)
    remotes = leaf_remotes(land, HUB).replace("sys:sys@", "sys:wrong@")
    land.start("site1", server("site1", domain="site1") + remotes)
    land.wait_leafs("site1", 1)
    time.sleep(2)
    return land.url("site1", user="sys")


@broken("JSD721", "site2", "--set", "JSD721.start_up=0s")
def leaf_without_a_domain_below_a_hub_without_one(land: Landscape) -> str:
    for key in HUB:
        land.start(key, server(key) + routed(land, "HUB", key, HUB) + leaf_listener(land, key))
    land.wait_meta(*HUB)
    land.start("site2", server("site2") + leaf_remotes(land, HUB))
    land.wait_leafs("site2", 2)
    return land.url(*HUB, user="sys")


@broken("JSD721", "shop/s2", "--set", "JSD721.start_up=0s")
def two_sites_with_one_domain(land: Landscape) -> str:
    hub(land)
    for key in ("s1", "s2"):
        land.start(key, server(key, domain="shop") + leaf_remotes(land, HUB))
        land.wait_leafs(key, 2)
    return land.url(*HUB, user="sys")


@broken("JSD607", "APP/FROM_SITE", "--set", "JSD607.warn_silence=10s", "--samples", "4", "--interval", "5s")
def mirror_of_a_site_that_lost_its_hub(land: Landscape) -> str:
    hub(land)
    (site,) = sites(land, 1)
    stored(land.url(site), "SALES")
    source = {"name": "SALES", "external": {"api": f"$JS.{site}.API", "deliver": ""}}
    stored(land.url(*HUB), "FROM_SITE", 0, subjects=[], sources=[source], num_replicas=3)
    time.sleep(3)
    land.node(site).kill()
    time.sleep(25)
    return land.url(*HUB, user="sys")


@broken("JSD607", "APP@hub/FROM_SITE", "--set", "JSD607.min_stall=2s", "--interval", "3s")
def source_of_a_site_that_was_set_up_again(land: Landscape) -> str:
    """Its stream begins at 1 again, and the hub goes on after the last sequence that it copied: lag 0, no error."""
    hub(land, domain="hub")
    (site,) = sites(land, 1)
    stored(land.url(site), "SALES", 300)
    source = {"name": "SALES", "external": {"api": f"$JS.{site}.API", "deliver": ""}}
    stored(land.url(*HUB), "FROM_SITE", 0, subjects=[], sources=[source], num_replicas=3)
    time.sleep(3)

    async def set_up_again() -> None:
        client = await nats.connect(land.url(site))
        await api(client, "STREAM.DELETE.SALES")
        await client.close()

    asyncio.run(set_up_again())
    stored(land.url(site), "SALES", 40)
    time.sleep(5)
    return land.url(*HUB, user="sys")


@broken("JSD607", "APP@hub/FROM_SITE", "--set", "JSD607.warn_silence=5s", "--interval", "6s")
def source_in_a_misspelled_domain(land: Landscape) -> str:
    hub(land)
    sites(land, 1)
    source = {"name": "SALES", "external": {"api": "$JS.site01.API", "deliver": ""}}
    stored(land.url(*HUB), "FROM_SITE", 0, subjects=[], sources=[source], num_replicas=3)
    time.sleep(8)
    return land.url(*HUB, user="sys")


@broken("JSD607", "APP/FROM_SITE", "--set", "JSD607.warn_silence=5s", "--interval", "6s")
def source_across_a_leaf_that_may_not_deliver(land: Landscape) -> str:
    """The leaf's remote denies what the hub's requests to its JetStream need."""
    hub(land)
    deny = leaf_remotes(land, HUB, ("app",)).replace("account: APP", 'account: APP, deny_imports: ["$JS.site1.API.>"]')
    land.start("site1", server("site1", domain="site1") + deny)
    land.wait_leafs("site1", 1)
    stored(land.url("site1"), "SALES")
    source = {"name": "SALES", "external": {"api": "$JS.site1.API", "deliver": ""}}
    stored(land.url(*HUB), "FROM_SITE", 0, subjects=[], sources=[source], num_replicas=3)
    time.sleep(8)
    return land.url(*HUB, user="sys")


@broken("JSD607", "SHOP/COPY", "--set", "JSD607.warn_silence=5s")
def source_of_another_account_that_exports_nothing(land: Landscape) -> str:
    shop = "  SHOP: { users: [{ user: shop, password: shop }], jetstream: enabled }\n}\n"
    single(land, accounts=ACCOUNTS.removesuffix("}\n") + shop)
    stored(land.url(), "SALES")
    source = {"name": "SALES", "external": {"api": "JS.APP.API", "deliver": "copy.deliver"}}
    stored(land.url(user="shop"), "COPY", 0, subjects=[], sources=[source])
    time.sleep(8)
    return land.url(user="sys")


@broken("JSD701", "cluster", "--set", "JSD701.start_up=0s")
def meta_group_without_its_majority(land: Landscape) -> str:
    cluster(land)
    for key in ("n2", "n3"):
        land.node(key).kill()
    meta_lost(land, "n1")
    return land.url("n1", user="sys")


@broken("JSD702", "APP/ORDERS")
def stream_without_its_majority_while_the_meta_group_has_one(land: Landscape) -> str:
    keys = ["n1", "n2", "n3", "n4", "n5"]
    for key in keys:
        tag = "disk" if key in KEYS else "spare"
        land.start(key, server(key, tags=tag) + routed(land, "C", key, keys))
    land.wait_meta(*keys)
    stored(land.url("n4"), "ORDERS", num_replicas=3, placement={"tags": ["disk"]})
    for key in ("n1", "n2"):
        land.node(key).kill()
    time.sleep(15)
    # A last replica takes itself for the leader until it misses the others, which a busy machine delays.
    land.wait_for(lambda: not _leads_anything(land, "n3"), "n3 leads no stream any more", timeout=60)
    return land.url("n3", "n4", "n5", user="sys")


def _leads_anything(land: Landscape, key: str) -> bool:
    accounts = land.monitor(key, "/jsz?streams=1").get("account_details") or []
    streams = [stream for account in accounts for stream in account.get("stream_detail") or []]
    return any(stream["cluster"].get("leader") == key for stream in streams)


@broken("JSD703", "n3")
def suspended_server(land: Landscape) -> str:
    cluster(land)
    stored(land.url("n1"), "ORDERS", num_replicas=3)
    land.signal("n3", signal.SIGSTOP)
    time.sleep(15)
    return land.url("n1", "n2", user="sys")


@broken("JSD802", "n1")
def server_whose_storage_is_reserved(land: Landscape) -> str:
    small = jetstream(limits="max_memory_store: 64M, max_file_store: 40M")
    land.start("n1", server("n1", storage=False) + small)
    stored(land.url(), "ORDERS", max_bytes=38 << 20)
    return land.url(user="sys")


@broken("JSD802", "APP")
def account_whose_storage_is_used_up(land: Landscape) -> str:
    single(land, accounts=ACCOUNTS.replace("jetstream: enabled", "jetstream: { max_file: 1M, max_mem: 1M }"))
    stored(land.url(), "ORDERS", 7000, max_bytes=-1)
    return land.url(user="sys")


@broken("JSD824", "APP")
def account_at_its_limit_of_consumers(land: Landscape) -> str:
    async def consumers() -> None:
        client = await nats.connect(land.url())
        for number in range(10):
            await add_consumer(client, "ORDERS", f"c{number}")
        await client.close()

    single(land, accounts=ACCOUNTS.replace("jetstream: enabled", "jetstream: { max_consumers: 10 }"))
    stored(land.url(), "ORDERS")
    asyncio.run(consumers())
    return land.url()


@broken("JSD723", "APP/ORDERS")
def stream_on_servers_that_lost_the_tag_of_its_placement(land: Landscape) -> str:
    """A stream stays where it is, and its next move or a lost server finds no peer."""
    for key in KEYS:
        land.start(key, server(key, tags="ssd") + routed(land, "C", key, KEYS))
    land.wait_meta(*KEYS)
    stored(land.url("n1"), "ORDERS", num_replicas=3, placement={"tags": ["ssd"]})
    for key in KEYS:
        land.node(key).stop()
        land.start(key, server(key, tags="hdd") + routed(land, "C", key, KEYS))
        land.wait_meta(*KEYS)
    return land.url("n1", user="sys")


@broken("JSD709", "cluster", "--set", "JSD709.roll_out=1s")
def upgrade_that_stopped_half_way(land: Landscape) -> str:
    other = "2.12.8" if land.version != "2.12.8" else "2.15.1"
    for key in KEYS:
        land.start(key, server(key) + routed(land, "C", key, KEYS), other if key == "n3" else "")
    land.wait_meta(*KEYS)
    time.sleep(2)
    return land.url("n1", user="sys")


def _devices(land: Landscape, count: int) -> str:
    async def devices() -> None:
        client = await nats.connect(land.url())
        for start in range(0, count, 100):
            await asyncio.gather(
                *(
                    add_consumer(client, "DEVICES", f"d{number}", inactive_threshold=24 * HOUR_NS)
                    for number in range(start, min(start + 100, count))
                )
            )
        await client.close()

    single(land)
    stored(land.url(), "DEVICES")
    asyncio.run(devices())
    return land.url(user="sys")


@broken("JSD616", "APP/DEVICES", "--set", "JSD616.many=900")
def stream_with_many_consumers(land: Landscape) -> str:
    """Declared first: with 2,000 consumers. 2.15.1 refuses the 1,001st."""
    return _devices(land, 950)


@broken("JSD602", "APP/DEVICES", since=(2, 15))
def stream_at_the_default_limit_of_consumers(land: Landscape) -> str:
    """Found while the fault above was run."""
    return _devices(land, 1000)


@broken("JSD403", "APP/$MQTT_msgs/")
def mqtt_device_that_acknowledges_nothing(land: Landscape) -> str:
    """Connected with a session of QoS 1, at its `max_ack_pending`."""
    port = land.port("mqtt")
    single(land, f'mqtt {{ listen: "127.0.0.1:{port}", max_ack_pending: 10, ack_wait: "300s" }}\n')
    land.keep(mqtt_session(port, subscribe=True))
    land.keep(mqtt_session(port, subscribe=False))
    time.sleep(2)
    return land.url(user="sys")


@broken("JSD818", "n1")
def store_in_the_memory_of_the_host(land: Landscape) -> str:
    """A container whose volume is mounted elsewhere writes to memory."""
    directory = Path(tempfile.mkdtemp(dir="/dev/shm"))
    land.closing(lambda: shutil.rmtree(directory))
    store = f'jetstream {{ store_dir: "{directory}", max_memory_store: 64M, max_file_store: 1G }}\n'
    land.start("n1", server("n1", storage=False) + store)
    return land.url(user="sys")


@broken("JSD824", "APP")
def account_at_its_limit_of_streams(land: Landscape) -> str:
    single(land, accounts=ACCOUNTS.replace("jetstream: enabled", "jetstream: { max_streams: 3 }"))
    for number in range(3):
        stored(land.url(), f"ORDERS{number}")
    return land.url()


@broken("JSD809", "n1")
def program_with_an_old_password(land: Landscape) -> str:
    """It tries again and again."""
    single(land)

    for _ in range(10):
        with socket.create_connection(("127.0.0.1", land.node("n1").ports.client), timeout=5) as connection:
            connection.sendall(b'CONNECT {"user":"app","pass":"old","verbose":false}\r\nPING\r\n')
            while connection.recv(4096):
                pass
    return land.url(user="sys")


@broken("JSD808", "n1")
def program_that_connects_for_each_message(land: Landscape) -> str:
    single(land)
    stored(land.url(), "ORDERS")

    async def publish() -> None:
        for _ in range(1200):
            client = await nats.connect(land.url())
            await client.request("orders", b"x", timeout=5)
            await client.close()

    asyncio.run(publish())
    return land.url(user="sys")


@broken("JSD706", "cluster")
def cluster_of_two(land: Landscape) -> str:
    keys = KEYS[:2]
    for key in keys:
        land.start(key, server(key) + routed(land, "C", key, keys))
    land.wait_meta(*keys)
    return land.url(*keys, user="sys")


@broken("JSD710", "cluster", "--set", "JSD710.roll_out=1s")
def one_server_with_another_domain(land: Landscape) -> str:
    for key in KEYS:
        land.start(key, server(key, domain="old" if key == "n3" else "new") + routed(land, "C", key, KEYS))
    time.sleep(10)
    return land.url("n1", user="sys")


@broken("JSD805", "n3", "--interval", "25s")
def server_that_ends_again_and_again(land: Landscape) -> str:
    """As an orchestrator restarts it. Its first end is between the samples also on a busy machine, which takes seconds
    to begin a check and to let the others see a server.
    """
    cluster(land)
    end = threading.Event()

    def fail() -> None:
        # The kernel kills a server with the thread that started it, so this one stays.
        uptimes_s = chain((15,), repeat(30))
        while not end.wait(next(uptimes_s)):
            land.node("n3").kill()
            land.again("n3")

    thread = threading.Thread(target=fail, daemon=True)
    thread.start()

    def stop() -> None:
        end.set()
        thread.join(20)

    land.closing(stop)
    return land.url(*KEYS[:2], user="sys")


@broken("JSD806", "n1")
def subscriber_that_does_not_read(land: Landscape) -> str:
    """The server closes its connection as a slow consumer."""
    single(land, 'max_pending: 1MB\nwrite_deadline: "1s"\n')
    connection = socket.create_connection(("127.0.0.1", land.node("n1").ports.client), timeout=5)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    land.keep(connection)
    connection.sendall(b'CONNECT {"user":"app","pass":"app","verbose":false}\r\nSUB flood 1\r\nPING\r\n')

    async def flood() -> None:
        client = await nats.connect(land.url())
        for _ in range(60):
            await client.publish("flood", b"x" * 500_000)
            await client.flush(10)
        await client.close()

    asyncio.run(flood())
    time.sleep(2)
    return land.url(user="sys")


@broken("JSD812", "n1", since=(2, 12))
def certificate_that_expires_soon(land: Landscape) -> str:
    land.directory.mkdir(parents=True, exist_ok=True)
    certificate, key_file = Certificates(land.directory).valid_for(10)
    port = land.port("leaf/n1")
    single(
        land,
        f'leafnodes {{ listen: "127.0.0.1:{port}", tls {{ cert_file: "{certificate}", key_file: "{key_file}" }} }}\n',
    )
    return land.url(user="sys")


@broken("JSD705", "APP/ORDERS", "--interval", "10s")
def leader_that_changes_all_the_time(land: Landscape) -> str:
    """Somebody's script steps it down every half second. Declared first: with two seconds between the samples."""
    cluster(land)
    stored(land.url(), "ORDERS", num_replicas=3)
    end = threading.Event()

    async def step_down() -> None:
        client = await nats.connect(land.url().split(","))
        while not end.is_set():
            with contextlib.suppress(Exception):
                await api(client, "STREAM.LEADER.STEPDOWN.ORDERS")
            await asyncio.sleep(0.5)
        await client.close()

    thread = threading.Thread(target=lambda: asyncio.run(step_down()), daemon=True)
    thread.start()

    def stop() -> None:
        end.set()
        thread.join(20)

    land.closing(stop)
    time.sleep(3)
    return land.url(user="sys")


@broken("JSD710", "cluster", "--set", "JSD710.roll_out=1s")
def account_without_jetstream_on_one_server(land: Landscape) -> str:
    """A configuration that was not rolled out everywhere. Declared first, and missed: JSD803 for the server. Where n3
    leads the meta group, `STREAM.CREATE` is refused with 10039.
    """
    for key in KEYS:
        accounts = ACCOUNTS.replace(", jetstream: enabled", "") if key == "n3" else ACCOUNTS
        land.start(key, server(key, accounts=accounts) + routed(land, "C", key, KEYS))
    land.wait_meta(*KEYS)
    time.sleep(5)
    return land.url("n1", user="sys")
