"""Faults of servers, placement, links, accounts and deployers that the tables before this one do not have.

As there, the rule that must name each fault, and the subject of its finding, were declared before the first run. Rules
that did not exist then (JSD624, JSD727) were added after it.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import time
from typing import Any

import nats
import nkeys
import pytest
from nats.aio.client import Client

from tests.collect.certificates import Certificates
from tests.collect.operator_mode import Key, Operator, creds
from tests.support.deployment import HOUR_NS, add_consumer, add_stream, api
from tests.topologies.deployments import HUB, cluster, hub, single
from tests.topologies.deployments_reported import goes_on, until
from tests.topologies.faults_of_deployments import KEYS, BrokenDeployments, stored
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

MET = BrokenDeployments()
DAY_S = 24 * 3600
SECOND_NS = 1_000_000_000
broken = MET.broken


def furnished(land: Landscape, *assets: tuple[Any, ...]) -> None:
    """Streams `(name, config)` and consumers `(stream, name, config)`, as the API has them."""

    async def furnish() -> None:
        client = await nats.connect(land.url().split(","))
        for *names, config in assets:
            if len(names) == 1:
                await add_stream(client, names[0], **{"subjects": [names[0].lower()], **BOUNDED, **config})
            else:
                await add_consumer(client, *names, **config)
        await client.close()

    asyncio.run(furnish())


def published(land: Landscape, subject: str, count: int = 10) -> None:
    """Messages that a stream has stored."""

    async def publish() -> None:
        client = await nats.connect(land.url().split(","))
        for _ in range(count):
            await client.request(subject, b"x" * 100, timeout=10)
        await client.close()

    asyncio.run(publish())


def downgrade(land: Landscape, keys: list[str], version: str) -> None:
    """Stop all servers, and start them with an older version."""
    for key in keys:
        land.node(key).stop()
    for key in keys:
        land.start(key, server(key) + (routed(land, "C", key, keys) if len(keys) > 1 else ""), version)
    if len(keys) > 1:
        land.wait_meta(*keys)
    time.sleep(3)


# A version that is older than the configuration


@broken("JSD702", "APP/BATCHED", since=(2, 14))
def server_that_was_downgraded_below_a_setting_of_a_stream(land: Landscape) -> str:
    """https://docs.nats.io/release-notes/whats_new: the stream is offline on 2.12, and its clients get 10194."""
    keys = single(land)
    furnished(land, ("BATCHED", {"allow_batched": True}), ("PLAIN", {}))
    downgrade(land, keys, "2.12.8")
    return land.url(user="sys")


@broken(
    "JSD702",
    "APP/BATCHED",
    since=(2, 14),
    missed="no server of the cluster lists it to the system account, or counts it: the list of a plain account has it",
)
def cluster_that_was_downgraded_below_a_setting_of_a_stream(land: Landscape) -> str:
    """https://github.com/nats-io/nats-architecture-and-design/blob/main/adr/ADR-44.md: offline assets."""
    keys = cluster(land)
    furnished(land, ("BATCHED", {"allow_batched": True, "num_replicas": 3}), ("PLAIN", {"num_replicas": 3}))
    downgrade(land, keys, "2.12.8")
    return land.url(user="sys")


@broken("JSD727", "APP/TTL", since=(2, 11))
def server_that_was_downgraded_below_the_expiry_of_messages(land: Landscape) -> str:
    """2.10 reads the stream, leaves `allow_msg_ttl` out and keeps for ever what was to expire."""
    keys = single(land)
    furnished(land, ("TTL", {"allow_msg_ttl": True}))
    downgrade(land, keys, "2.10.26")
    return land.url(user="sys")


@broken("JSD727", "APP/ORDERS/pinned", since=(2, 11))
def cluster_that_was_downgraded_below_priority_groups(land: Landscape) -> str:
    keys = cluster(land)
    pinned = {"priority_policy": "pinned_client", "priority_groups": ["a"], "priority_timeout": 10 * SECOND_NS}
    furnished(land, ("ORDERS", {"num_replicas": 3}), ("ORDERS", "pinned", pinned))
    downgrade(land, keys, "2.10.26")
    return land.url(user="sys")


@broken("JSD727", "APP/COUNTS", since=(2, 12))
def server_that_was_downgraded_below_counters_seen_by_an_account(land: Landscape) -> str:
    keys = single(land)
    furnished(land, ("COUNTS", {"allow_msg_counter": True}))
    downgrade(land, keys, "2.10.26")
    return land.url()


@broken("JSD727", "n3", since=(2, 14))
def one_server_that_was_downgraded(land: Landscape) -> str:
    """It is a member of a stream that the others keep and it cannot read."""
    keys = cluster(land)
    furnished(land, ("BATCHED", {"allow_batched": True, "num_replicas": 3}))
    land.node("n3").stop()
    land.start("n3", server("n3") + routed(land, "C", "n3", keys), "2.12.8")
    time.sleep(12)
    return land.url("n1", user="sys")


@broken("JSD701", "cluster", "--set", "JSD701.start_up=5s", since=(2, 14))
def cluster_whose_meta_log_has_a_consumer_that_it_cannot_read(land: Landscape) -> str:
    """`ack_policy: flow_control` of 2.14: 2.12 cannot apply its assignment, and no server leads the meta group."""
    keys = cluster(land)
    flow = {
        "ack_policy": "flow_control",
        "deliver_subject": "d.flow",
        "flow_control": True,
        "idle_heartbeat": SECOND_NS,
    }
    furnished(land, ("ORDERS", {"num_replicas": 3}), ("ORDERS", "flow", flow))
    for key in keys:
        land.node(key).stop()
    for key in keys:
        land.start(key, server(key) + routed(land, "C", key, keys), "2.12.8")
    time.sleep(12)
    return land.url(user="sys")


# Servers that are cut off

ALONE = ("--set", "JSD726.start_up=5s", "--samples", "5")


@broken("JSD726", "n3", *ALONE)
def server_with_another_name_of_the_cluster_and_one_address(land: Landscape) -> str:
    """All servers have the address of the first alone, as with a seed."""
    for key in KEYS:
        own = routed(land, "C", key, ["n1"])
        land.start(key, server(key) + (own.replace("name: C,", "name: c,") if key == "n3" else own))
    time.sleep(10)
    return land.url("n3", user="sys")


@broken("JSD726", "n3", *ALONE)
def server_with_a_wrong_password_for_its_only_address(land: Landscape) -> str:
    """It advertises nothing, so nobody connects to it either."""
    for key in KEYS:
        password = "other" if key == "n3" else "secret"
        own = routed(land, "C", key, ["n1"]).replace("nats://", f"nats://r:{password}@")
        login = "authorization { user: r, password: secret }, no_advertise: true"
        land.start(key, server(key) + own.replace("name: C,", f"name: C, {login},"))
    time.sleep(10)
    return land.url("n3", user="sys")


@broken("JSD726", "n3", *ALONE)
def server_of_core_nats_that_its_cluster_refuses(land: Landscape) -> str:
    """Without JetStream nobody lists it: only it shows that it is alone."""
    for key in KEYS:
        own = routed(land, "C", key, KEYS)
        own = own.replace("name: C,", "name: D,") if key == "n3" else own
        land.start(key, server(key, storage=key != "n3") + own)
    time.sleep(10)
    return land.node("n3").monitor_url


@broken("JSD726", "cluster", *ALONE)
def address_of_a_server_that_none_of_its_cluster_reaches(land: Landscape) -> str:
    """The refused server, as its cluster sees it: a third address, and routes to one server."""
    for key in KEYS:
        own = routed(land, "C", key, KEYS)
        land.start(key, server(key) + (own.replace("name: C,", "name: c,") if key == "n3" else own))
    time.sleep(10)
    return land.url("n1", "n2", user="sys")


# Configuration that is changed to and fro

OFTEN = ("--samples", "8", "--interval", "1s")


def _rivals(land: Landscape, *requests: tuple[str, dict[str, Any]], pause_s: float = 0.7) -> None:
    """Deployers that send these requests in turn."""
    turns = itertools.cycle(requests)

    async def deploy(client: Client) -> None:
        with contextlib.suppress(Exception):
            await api(client, *next(turns))
        await asyncio.sleep(pause_s)

    goes_on(land, lambda end: until(end, land.url(), deploy))


@broken("JSD624", "APP/ORDERS", *OFTEN)
def two_deployers_of_one_stream(land: Landscape) -> str:
    """GitOps states one `max_age`, and an application that updates its streams when it starts another."""
    single(land)
    stored(land.url(), "ORDERS")
    ages = [{"name": "ORDERS", "subjects": ["orders"], **BOUNDED, "max_age": hours * HOUR_NS} for hours in (24, 72)]
    _rivals(land, *(("STREAM.UPDATE.ORDERS", body) for body in ages))
    time.sleep(1)
    return land.url(user="sys")


def _one_consumer(land: Landscape) -> None:
    cluster(land)
    furnished(land, ("ORDERS", {"num_replicas": 3}), ("ORDERS", "worker", {}))
    common = {"name": "worker", "durable_name": "worker", "ack_policy": "explicit"}
    bodies = [{"stream_name": "ORDERS", "config": {**common, "max_ack_pending": n}} for n in (100, 1000)]
    _rivals(land, *(("CONSUMER.CREATE.ORDERS.worker", body) for body in bodies))
    time.sleep(1)


@broken(
    "JSD624",
    "APP/ORDERS/worker",
    *OFTEN,
    missed="a plain account does not request consumers again while their stream is idle",
)
def two_deployers_of_one_consumer(land: Landscape) -> str:
    _one_consumer(land)
    return land.url()


@broken("JSD624", "APP/ORDERS/worker", *OFTEN)
def two_deployers_of_one_consumer_seen_by_the_system_account(land: Landscape) -> str:
    """Added after the first run, which missed the one above for its login."""
    _one_consumer(land)
    return land.url(user="sys")


@broken("JSD624", "APP/ORDERS", *OFTEN)
def two_deployers_whose_descriptions_differ(land: Landscape) -> str:
    """Each update is one of the meta group, and a restart of what watches the stream."""
    cluster(land)
    stored(land.url(), "ORDERS", num_replicas=3)
    full = {"name": "ORDERS", "subjects": ["orders"], **BOUNDED, "num_replicas": 3}
    metas = [{**full, "metadata": {"managed-by": who}} for who in ("terraform", "nack")]
    _rivals(land, *(("STREAM.UPDATE.ORDERS", body) for body in metas))
    time.sleep(1)
    return land.url(user="sys")


# Placement

UNIQUE = "max_memory_store: 64M, max_file_store: 4G, unique_tag: az"


def _zones(land: Landscape, *zones: str) -> None:
    """Three servers with a tag each, whose streams must be on servers of different zones."""
    for key, zone in zip(KEYS, zones, strict=True):
        config = server(key, storage=False, tags=f'"{zone}"' if zone else "") + jetstream(limits=UNIQUE)
        land.start(key, config + routed(land, "C", key, KEYS))
    land.wait_meta(*KEYS)


@broken("JSD716", "cluster")
def three_servers_in_two_zones(land: Landscape) -> str:
    """https://docs.nats.io/running-a-nats-service/configuration: `unique_tag`. No stream with three replicas fits."""
    _zones(land, "az:a", "az:a", "az:b")
    return land.url("n1", user="sys")


@broken("JSD716", "cluster")
def server_without_the_tag_that_must_be_unique(land: Landscape) -> str:
    _zones(land, "az:a", "az:b", "rack:c")
    return land.url("n1", user="sys")


@broken("JSD716", "APP/ORDERS")
def stream_that_was_placed_before_its_servers_had_zones(land: Landscape) -> str:
    keys = cluster(land)
    stored(land.url("n1"), "ORDERS", num_replicas=3)
    for key in keys:
        land.node(key).stop()
    _zones(land, "az:a", "az:b", "az:b")
    return land.url("n1", user="sys")


@broken("JSD716", "APP/ORDERS", "--set", "JSD716.settle=5s")
def stream_whose_removed_peer_has_no_successor(land: Landscape) -> str:
    """n3 is taken out, and no other server has the tag: two replicas of three are left. 2.15 refuses to remove it from
    the stream.
    """
    keys = [*KEYS, "n4"]
    for key in keys:
        land.start(key, server(key, tags="spare" if key == "n4" else "disk") + routed(land, "C", key, keys))
    land.wait_meta(*keys)
    stored(land.url("n1"), "ORDERS", num_replicas=3, placement={"tags": ["disk"]})
    land.node("n3").stop()
    time.sleep(3)
    _removed(land, "n1", "n3")
    try:
        land.wait_for(lambda: "n3" not in _members(land, "n1", "n2"), "ORDERS without its member n3", timeout=20)
    except TimeoutError:
        pytest.skip("the servers kept n3 as a member of ORDERS: about one attempt in four on 2.10.26 and 2.12.8")
    time.sleep(6)
    return land.url("n1", "n2", "n4", user="sys")


def _members(land: Landscape, *keys: str) -> set[str]:
    """The other members of the only stream, as its leader lists them."""
    replicas: set[str] = set()
    for key in keys:
        for account in land.monitor(key, "/jsz?streams=1")["account_details"]:
            for stream in account["stream_detail"]:
                if stream["cluster"].get("leader") == key:
                    replicas |= {peer["name"] for peer in stream["cluster"].get("replicas", ())}
    return replicas


def _removed(land: Landscape, key: str, peer: str) -> None:
    """Take a server out of the meta group, as `nats server raft peer-remove` does."""

    async def remove() -> None:
        client = await nats.connect(land.url(key, user="sys"))
        reply = await client.request("$JS.API.SERVER.REMOVE", json.dumps({"peer": peer}).encode(), timeout=10)
        assert "error" not in json.loads(reply.data), reply.data
        await client.close()

    asyncio.run(remove())


@broken("JSD716", "cluster", since=(2, 11))
def servers_at_their_limit_of_replicated_assets(land: Landscape) -> str:
    """`max_ha_assets`: the next replicated stream is refused, and nothing but its client is told. 2.10 does not show
    the limit.
    """
    limits = "max_memory_store: 64M, max_file_store: 4G, limits: { max_ha_assets: 3 }"
    for key in KEYS:
        land.start(key, server(key, storage=False) + jetstream(limits=limits) + routed(land, "C", key, KEYS))
    land.wait_meta(*KEYS)
    for number in range(3):
        stored(land.url("n1"), f"ORDERS{number}", num_replicas=3)
    return land.url("n1", user="sys")


# Accounts with a JWT


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


@broken("JSD822", "n1")
def account_that_has_no_jwt_on_a_server(land: Landscape) -> str:
    """https://docs.nats.io/running-a-nats-service/configuration/securing_nats/auth_intro/jwt: it was not pushed."""
    operator = Operator(jetstream=True)
    land.start("n1", server("n1", accounts=operator.config))
    _logs_in(land, operator, Key(nkeys.PREFIX_BYTE_ACCOUNT))
    return land.node("n1").monitor_url


@broken("JSD822", "APP")
def account_whose_jwt_has_expired(land: Landscape) -> str:
    operator = Operator(jetstream=True, app_expires=int(time.time()) + 5)
    land.start("n1", server("n1", accounts=operator.config))
    _logs_in(land, operator, operator.app, 1)
    time.sleep(6)
    _logs_in(land, operator, operator.app)
    return land.node("n1").monitor_url


@broken("JSD822", "n1")
def resolver_that_cannot_be_reached(land: Landscape) -> str:
    """Declared first with a resolver of type URL, which takes no preloaded accounts: the server does not start."""
    resolver = '{ type: cache, dir: "jwt", ttl: "1h", timeout: "500ms" }'
    operator = Operator(jetstream=True, resolver=resolver)
    land.start("n1", server("n1", accounts=operator.config))
    _logs_in(land, operator, operator.app)
    return land.node("n1").monitor_url


@broken("JSD822", "APP")
def account_whose_jwt_expires_tomorrow(land: Landscape) -> str:
    operator = Operator(jetstream=True, app_expires=int(time.time()) + DAY_S)
    land.start("n1", server("n1", accounts=operator.config))
    _logs_in(land, operator, operator.app, 1)
    return land.node("n1").monitor_url


# Copies and filters that get nothing


@broken("JSD607", "APP/ALL")
def one_of_two_sources_with_a_filter_that_matches_nothing(land: Landscape) -> str:
    """The other source fills the copy."""
    single(land)
    stored(land.url(), "ORDERS", subjects=["orders"])
    stored(land.url(), "BILLS", subjects=["bills"])
    sources = [{"name": "ORDERS"}, {"name": "BILLS", "filter_subject": "bill.>"}]
    furnished(land, ("ALL", {"subjects": [], "sources": sources}))
    time.sleep(3)
    return land.url(user="sys")


@broken("JSD607", "APP/LATE")
def source_that_starts_past_the_end_of_its_origin(land: Landscape) -> str:
    """The origin was made again, and the copy starts at a sequence of the old one."""
    single(land)
    stored(land.url(), "ORDERS")
    furnished(land, ("LATE", {"subjects": [], "sources": [{"name": "ORDERS", "opt_start_seq": 5000}]}))
    published(land, "orders")
    time.sleep(3)
    return land.url(user="sys")


@broken("JSD607", "APP/LATE")
def mirror_that_starts_next_year(land: Landscape) -> str:
    single(land)
    stored(land.url(), "ORDERS")
    start = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 365 * DAY_S))
    furnished(land, ("LATE", {"subjects": [], "mirror": {"name": "ORDERS", "opt_start_time": start}}))
    published(land, "orders")
    time.sleep(3)
    return land.url(user="sys")


@broken("JSD607", "APP/COPY", "--set", "JSD607.warn_silence=5s", "--interval", "6s")
def mirror_in_a_domain_that_is_not_linked(land: Landscape) -> str:
    single(land)
    mirror = {"name": "ORDERS", "external": {"api": "$JS.branch.API", "deliver": ""}}
    furnished(land, ("COPY", {"subjects": [], "mirror": mirror}))
    time.sleep(8)
    return land.url(user="sys")


@broken("JSD416", "APP/COPY/billing")
def consumer_of_a_mirror_with_a_filter_outside_the_origin(land: Landscape) -> str:
    single(land)
    stored(land.url(), "ORDERS", subjects=["orders"])
    furnished(land, ("COPY", {"subjects": [], "mirror": {"name": "ORDERS"}}))
    furnished(land, ("COPY", "billing", {"filter_subject": "order.paid"}))
    time.sleep(2)
    return land.url(user="sys")


@broken("JSD416", "APP/ALL/billing")
def consumer_of_collected_streams_with_a_filter_outside_all_of_them(land: Landscape) -> str:
    single(land)
    for name in ("ORDERS", "BILLS"):
        stored(land.url(), name)
    furnished(land, ("ALL", {"subjects": [], "sources": [{"name": "ORDERS"}, {"name": "BILLS"}]}))
    furnished(land, ("ALL", "billing", {"filter_subject": "bill"}))
    time.sleep(2)
    return land.url()


@broken("JSD416", "APP/ORDERS/two", since=(2, 10))
def consumer_with_one_filter_of_two_that_matches_nothing(land: Landscape) -> str:
    """What waits for the other one hides it."""
    single(land)
    stored(land.url(), "ORDERS", subjects=["orders"])
    furnished(land, ("ORDERS", "two", {"filter_subjects": ["orders", "returns"]}))
    return land.url(user="sys")


# What nobody planted before


@broken("JSD803", "n3")
def server_that_was_removed_and_still_runs(land: Landscape) -> str:
    """`peer-remove` of a server that is up: its JetStream is shut down, and its clients stay connected."""
    cluster(land)
    stored(land.url("n1"), "ORDERS")
    leader = land.monitor("n1", "/jsz")["meta_cluster"]["leader"]
    if leader == "n3":
        asyncio.run(_step_down(land))
        time.sleep(6)
    _removed(land, "n1", "n3")
    time.sleep(8)
    return land.url("n1", user="sys")


async def _step_down(land: Landscape) -> None:
    client = await nats.connect(land.url("n1", user="sys"))
    await api(client, "META.LEADER.STEPDOWN", {"placement": {}})
    await client.close()


@broken("JSD706", "cluster")
def cluster_with_jetstream_on_two_of_three(land: Landscape) -> str:
    for key in KEYS:
        land.start(key, server(key, storage=key != "n3") + routed(land, "C", key, KEYS))
    land.wait_meta("n1", "n2")
    time.sleep(3)
    return land.url("n1", user="sys")


@broken("JSD605", "APP/$MQTT_sess")
def mqtt_sessions_on_one_of_three_servers(land: Landscape) -> str:
    """`mqtt.stream_replicas: 1`: all devices lose their sessions with that server."""
    for key in KEYS:
        mqtt = f'mqtt {{ listen: "127.0.0.1:{land.port(f"mqtt/{key}")}", stream_replicas: 1 }}\n'
        land.start(key, server(key) + routed(land, "C", key, KEYS) + mqtt)
    land.wait_meta(*KEYS)
    land.keep(mqtt_session(land.port("mqtt/n1"), subscribe=True))
    time.sleep(3)
    return land.url("n1", user="sys")


@broken("JSD717", "cluster", "--set", "JSD717.start_up=0s")
def gateway_with_a_wrong_password(land: Landscape) -> str:
    """Declared first for the cluster by its name, which a finding has where servers of several are known."""
    members = {"west": ["west1"], "east": ["east1"]}
    for name, (key,) in members.items():
        links = gateways(land, name, key, members)
        if name == "east":
            links = links.replace("gateway {", "gateway { authorization { user: g, password: g }, ")
            links = links.replace("{ name: west, ", "{ name: north, ")
        land.start(key, server(key) + routed(land, name, key, [key]) + links)
    time.sleep(5)
    return land.url("west1", user="sys")


@broken("JSD719", "site1", "--set", "JSD719.start_up=0s")
def site_without_tls_at_a_hub_that_requires_it(land: Landscape) -> str:
    land.directory.mkdir(parents=True, exist_ok=True)
    certificate, key_file = Certificates(land.directory).localhost
    tls = f'tls {{ cert_file: "{certificate}", key_file: "{key_file}", timeout: 2 }}, '
    land.start("h1", server("h1", domain="hub") + leaf_listener(land, "h1").replace("{ ", "{ " + tls, 1))
    land.start("site1", server("site1", domain="site1") + leaf_remotes(land, ["h1"], ("app",)))
    time.sleep(6)
    return land.url("site1", user="sys")


@broken("JSD719", "site1", "--set", "JSD719.start_up=0s")
def site_whose_hub_has_no_listener_for_leaf_nodes(land: Landscape) -> str:
    """The port is that of clients."""
    for key in HUB:
        land.start(key, server(key, domain="hub") + routed(land, "HUB", key, HUB))
    land.wait_meta(*HUB)
    port = land.node("h1").ports.client
    remotes = leaf_remotes(land, ["h1"], ("app",)).replace(f":{land.port('leaf/h1')}", f":{port}")
    land.start("site1", server("site1", domain="site1") + remotes)
    time.sleep(6)
    return land.url("site1", user="sys")


@broken("JSD710", "cluster", "--set", "JSD710.roll_out=1s")
def account_that_one_server_does_not_have(land: Landscape) -> str:
    """Clients of SHOP that come to n3 are refused."""
    shop = ACCOUNTS.removesuffix("}\n") + "  SHOP: { users: [{ user: shop, password: shop }], jetstream: enabled }\n}\n"
    for key in KEYS:
        land.start(key, server(key, accounts=ACCOUNTS if key == "n3" else shop) + routed(land, "C", key, KEYS))
    land.wait_meta(*KEYS)
    time.sleep(3)
    return land.url("n1", user="sys")


@broken("JSD808", "n1")
def server_that_turns_clients_away(land: Landscape) -> str:
    """`max_connections`, as a leak of connections in an application meets it."""
    single(land, "max_connections: 5\n")

    async def leak() -> None:
        clients = [Client() for _ in range(12)]
        for client in clients:
            with contextlib.suppress(Exception):
                await client.connect(land.url(), allow_reconnect=False, max_reconnect_attempts=0)
        for client in clients:
            await client.close()

    asyncio.run(leak())
    return land.node("n1").monitor_url


@broken("JSD607", "APP@hub/FROM_SITE", "--set", "JSD607.warn_silence=5s", "--interval", "6s")
def source_of_a_site_whose_stream_was_renamed(land: Landscape) -> str:
    hub(land)
    land.start("site1", server("site1", domain="site1") + leaf_remotes(land, HUB))
    land.wait_leafs("site1", 2)
    stored(land.url("site1"), "SALES2")
    source = {"name": "SALES", "external": {"api": "$JS.site1.API", "deliver": ""}}
    stored(land.url(*HUB), "FROM_SITE", 0, subjects=[], sources=[source], num_replicas=3)
    time.sleep(8)
    return land.url(*HUB, user="sys")


@broken("JSD710", "cluster", "--set", "JSD710.roll_out=1s")
def zone_tag_that_only_some_servers_demand(land: Landscape) -> str:
    """`unique_tag` was rolled out to two of three: which streams can be placed depends on who leads the meta group."""
    for key, zone in zip(KEYS, "abb", strict=True):
        limits = UNIQUE if key != "n3" else UNIQUE.replace(", unique_tag: az", "")
        config = server(key, storage=False, tags=f'"az:{zone}"') + jetstream(limits=limits)
        land.start(key, config + routed(land, "C", key, KEYS))
    land.wait_meta(*KEYS)
    time.sleep(3)
    return land.url("n1", user="sys")
