"""Faults of clusters: meta group, placement, versions, routes, gateways, leaf nodes."""

import asyncio
import contextlib
import json
import shutil
import signal
import threading
import time
from datetime import datetime

import nats
import pytest
from nats.aio.client import Client
from nats.errors import Error, NoRespondersError

from tests.faults.planting import fault
from tests.servers.deployments import (
    HUB,
    THREE,
    cluster,
    do,
    formed,
    furnished,
    goes_on,
    hub,
    single,
    stored,
    super_cluster,
)
from tests.servers.landscape import (
    ACCOUNTS,
    Landscape,
    gateways,
    jetstream,
    leaf_listener,
    leaf_remotes,
    routed,
    server,
)
from tests.servers.relay import Relay
from tests.support.deployment import add_consumer, add_stream, api
from tests.support.site import SECOND_NS

ALONE = ("--set", "JSD726.start_up=5s", "--samples", "5")


@fault("JSD701", "cluster", options=("--set", "JSD701.start_up=0s"))
def single_server_with_a_cluster_block(land: Landscape) -> str:
    """https://github.com/bitnami/charts/issues/29378: one replica of a chart; JetStream waits for routes for ever."""
    land.start("n1", server("n1") + routed(land, "C", "n1", ["n1"]))
    time.sleep(12)
    return land.url(user="sys")


@fault("JSD701", "cluster", mentions="JetStream refuses every request of this account")
def lost_majority_as_an_account_sees_it(land: Landscape) -> str:
    """Two of three servers are gone, and no login of the system account is at hand: only error 10008 shows it."""
    cluster(land)
    stored(land.url("n1"), "ORDERS", num_replicas=3)
    for key in ("n2", "n3"):
        land.node(key).kill()

    async def refused(client: Client) -> bool:
        with contextlib.suppress(Error, TimeoutError):
            reply = json.loads((await client.request("$JS.API.STREAM.LIST", b"", timeout=5)).data)
            return bool(reply.get("error", {}).get("err_code") == 10008)
        return False

    land.wait_for(lambda: do(land.url("n1"), refused), "the API to refuse")
    return land.url("n1")


@fault("JSD713", "APP/ORDERS", logs=True)
def files_that_were_removed_under_a_server(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/3652: `error opening msg block file: no such file`."""
    single(land)
    stored(land.url(), "ORDERS")
    shutil.rmtree(land.node("n1").directory / "store" / "jetstream" / "APP" / "streams" / "ORDERS" / "msgs")

    async def publish(client: Client) -> None:
        with contextlib.suppress(Error):
            for _ in range(200):
                await client.request("orders", b"x" * 100_000, timeout=2)

    do(land.url(), publish)
    return land.url(user="sys")


@fault("JSD701", "cluster", options=("--set", "JSD701.start_up=5s"), since=(2, 14))
def cluster_whose_meta_log_has_a_consumer_that_it_cannot_read(land: Landscape) -> str:
    """`ack_policy: flow_control` of 2.14: 2.12 cannot apply its assignment, and no server leads the meta group."""
    keys = cluster(land)
    push = {"deliver_subject": "d.flow", "flow_control": True, "idle_heartbeat": SECOND_NS}
    furnished(land, ("ORDERS", {"num_replicas": 3}), ("ORDERS", "flow", {"ack_policy": "flow_control", **push}))
    for key in keys:
        land.node(key).stop()
    for key in keys:
        land.start(key, server(key) + routed(land, "C", key, keys), "2.12.8")
    time.sleep(12)
    return land.url(user="sys")


def downgrade(land: Landscape, keys: list[str], version: str) -> None:
    """Stop all servers, and start them with an older version."""
    for key in keys:
        land.node(key).stop()
    for key in keys:
        land.start(key, server(key) + (routed(land, "C", key, keys) if len(keys) > 1 else ""), version)
    if len(keys) > 1:
        land.wait_meta(*keys)
    time.sleep(3)


@fault("JSD702", "APP/BATCHED", since=(2, 14))
def server_that_was_downgraded_below_a_setting_of_a_stream(land: Landscape) -> str:
    """https://docs.nats.io/release-notes/whats_new: the stream is offline on 2.12, and its clients get 10194."""
    keys = single(land)
    furnished(land, ("BATCHED", {"allow_batched": True}), ("PLAIN", {}))
    downgrade(land, keys, "2.12.8")
    return land.url(user="sys")


@fault("JSD706", "cluster")
def cluster_with_jetstream_on_two_of_three(land: Landscape) -> str:
    for key in THREE:
        land.start(key, server(key, storage=key != "n3") + routed(land, "C", key, THREE))
    land.wait_meta("n1", "n2")
    time.sleep(3)
    return land.url("n1", user="sys")


@fault("JSD710", "cluster", options=("--set", "JSD710.roll_out=1s"))
def account_that_one_server_does_not_have(land: Landscape) -> str:
    """Clients of SHOP that come to n3 are refused."""
    shop = ACCOUNTS.removesuffix("}\n") + "  SHOP: { users: [{ user: shop, password: shop }], jetstream: enabled }\n}\n"
    formed(land, lambda key: server(key, accounts=ACCOUNTS if key == "n3" else shop) + routed(land, "C", key, THREE))
    time.sleep(3)
    return land.url("n1", user="sys")


UNIQUE = "max_memory_store: 64M, max_file_store: 4G, unique_tag: az"


@fault("JSD710", "cluster", options=("--set", "JSD710.roll_out=1s"))
def zone_tag_that_only_some_servers_demand(land: Landscape) -> str:
    """`unique_tag` was rolled out to two of three: which streams can be placed depends on who leads the meta group."""
    for key, zone in zip(THREE, "abb", strict=True):
        limits = UNIQUE if key != "n3" else UNIQUE.replace(", unique_tag: az", "")
        config = server(key, storage=False, tags=f'"az:{zone}"') + jetstream(limits=limits)
        land.start(key, config + routed(land, "C", key, THREE))
    land.wait_meta(*THREE)
    time.sleep(3)
    return land.url("n1", user="sys")


@fault("JSD716", "cluster", since=(2, 11))
def servers_at_their_limit_of_replicated_assets(land: Landscape) -> str:
    """`max_ha_assets`: the next replicated stream is refused, and nothing but its client is told. 2.10 does not show
    the limit.
    """
    limits = "max_memory_store: 64M, max_file_store: 4G, limits: { max_ha_assets: 3 }"
    formed(land, lambda key: server(key, storage=False) + jetstream(limits=limits) + routed(land, "C", key, THREE))
    for number in range(3):
        stored(land.url("n1"), f"ORDERS{number}", num_replicas=3)
    return land.url("n1", user="sys")


def _zones(land: Landscape, *zones: str) -> None:
    """Three servers with a tag each, whose streams must be on servers of different zones."""
    for key, zone in zip(THREE, zones, strict=True):
        config = server(key, storage=False, tags=f'"{zone}"' if zone else "") + jetstream(limits=UNIQUE)
        land.start(key, config + routed(land, "C", key, THREE))
    land.wait_meta(*THREE)


@fault("JSD716", "APP/ORDERS")
def stream_that_was_placed_before_its_servers_had_zones(land: Landscape) -> str:
    keys = cluster(land)
    stored(land.url("n1"), "ORDERS", num_replicas=3)
    for key in keys:
        land.node(key).stop()
    _zones(land, "az:a", "az:b", "az:b")
    return land.url("n1", user="sys")


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
    do(land.url(key, user="sys"), lambda client: api(client, "SERVER.REMOVE", {"peer": peer}))


@fault("JSD716", "APP/ORDERS", options=("--set", "JSD716.settle=5s"))
def stream_whose_removed_peer_has_no_successor(land: Landscape) -> str:
    """n3 is taken out, and no other server has the tag: two replicas of three are left. 2.15 refuses to remove it from
    the stream.
    """
    keys = [*THREE, "n4"]
    formed(land, lambda key: server(key, tags="spare" if key == "n4" else "disk") + routed(land, "C", key, keys), keys)
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


@fault("JSD716", "cluster")
def three_servers_in_two_zones(land: Landscape) -> str:
    """https://docs.nats.io/running-a-nats-service/configuration: `unique_tag`. No stream with three replicas fits."""
    _zones(land, "az:a", "az:a", "az:b")
    return land.url("n1", user="sys")


@fault("JSD717", "cluster", options=("--set", "JSD717.start_up=0s"))
def gateway_with_a_wrong_password(land: Landscape) -> str:
    members = {"west": ["west1"], "east": ["east1"]}
    for name, (key,) in members.items():
        links = gateways(land, name, key, members)
        if name == "east":
            links = links.replace("gateway {", "gateway { authorization { user: g, password: g }, ")
            links = links.replace("{ name: west, ", "{ name: north, ")
        land.start(key, server(key) + routed(land, name, key, [key]) + links)
    time.sleep(5)
    return land.url("west1", user="sys")


@fault("JSD726", "n3", options=ALONE)
def server_with_a_wrong_password_for_its_only_address(land: Landscape) -> str:
    """It advertises nothing, so nobody connects to it either."""
    for key in THREE:
        password = "other" if key == "n3" else "secret"
        own = routed(land, "C", key, ["n1"]).replace("nats://", f"nats://r:{password}@")
        login = "authorization { user: r, password: secret }, no_advertise: true"
        land.start(key, server(key) + own.replace("name: C,", f"name: C, {login},"))
    time.sleep(10)
    return land.url("n3", user="sys")


@fault("JSD726", "n3", options=ALONE)
def server_of_core_nats_that_its_cluster_refuses(land: Landscape) -> str:
    """Without JetStream nobody lists it: only it shows that it is alone."""
    for key in THREE:
        own = routed(land, "C", key, THREE)
        own = own.replace("name: C,", "name: D,") if key == "n3" else own
        land.start(key, server(key, storage=key != "n3") + own)
    time.sleep(10)
    return land.node("n3").monitor_url


@fault("JSD727", "APP/TTL", since=(2, 11))
def server_that_was_downgraded_below_the_expiry_of_messages(land: Landscape) -> str:
    """2.10 reads the stream, leaves `allow_msg_ttl` out and keeps for ever what was to expire."""
    keys = single(land)
    furnished(land, ("TTL", {"allow_msg_ttl": True}))
    downgrade(land, keys, "2.10.26")
    return land.url(user="sys")


@fault("JSD727", "APP/ORDERS/pinned", since=(2, 11))
def cluster_that_was_downgraded_below_priority_groups(land: Landscape) -> str:
    keys = cluster(land)
    pinned = {"priority_policy": "pinned_client", "priority_groups": ["a"], "priority_timeout": 10 * SECOND_NS}
    furnished(land, ("ORDERS", {"num_replicas": 3}), ("ORDERS", "pinned", pinned))
    downgrade(land, keys, "2.10.26")
    return land.url(user="sys")


@fault("JSD727", "n3", since=(2, 14))
def one_server_that_was_downgraded(land: Landscape) -> str:
    """It is a member of a stream that the others keep and it cannot read."""
    keys = cluster(land)
    furnished(land, ("BATCHED", {"allow_batched": True, "num_replicas": 3}))
    land.node("n3").stop()
    land.start("n3", server("n3") + routed(land, "C", "n3", keys), "2.12.8")
    time.sleep(12)
    return land.url("n1", user="sys")


@fault("JSD702", "APP/ORDERS/worker")
def consumer_with_one_replica_whose_server_is_gone(land: Landscape) -> str:
    """https://github.com/nats-io/nats.node/issues/570: the stream has three replicas, and its consumer has one."""
    keys = cluster(land)
    stored(land.url("n1"), "ORDERS", num_replicas=3)

    async def placed(client: Client) -> str:
        created = await add_consumer(client, "ORDERS", "worker", num_replicas=1)
        info = await api(client, "CONSUMER.INFO.ORDERS.worker")
        return str((info.get("cluster") or created["cluster"])["leader"])

    holder = do(land.url("n1"), placed)
    land.node(holder).kill()
    time.sleep(15)
    return land.url(*(key for key in keys if key != holder))


def _leads_anything(land: Landscape, key: str) -> bool:
    accounts = land.monitor(key, "/jsz?streams=1").get("account_details") or []
    streams = [stream for account in accounts for stream in account.get("stream_detail") or []]
    return any(stream["cluster"].get("leader") == key for stream in streams)


@fault("JSD702", "APP/ORDERS")
def stream_without_its_majority_while_the_meta_group_has_one(land: Landscape) -> str:
    keys = ["n1", "n2", "n3", "n4", "n5"]
    formed(land, lambda key: server(key, tags="disk" if key in THREE else "spare") + routed(land, "C", key, keys), keys)
    stored(land.url("n4"), "ORDERS", num_replicas=3, placement={"tags": ["disk"]})
    for key in ("n1", "n2"):
        land.node(key).kill()
    time.sleep(15)
    # A last replica takes itself for the leader until it misses the others, which a busy machine delays.
    land.wait_for(lambda: not _leads_anything(land, "n3"), "n3 leads no stream any more", timeout=60)
    return land.url("n3", "n4", "n5", user="sys")


@fault("JSD703", "n3")
def suspended_server(land: Landscape) -> str:
    cluster(land)
    stored(land.url("n1"), "ORDERS", num_replicas=3)
    land.signal("n3", signal.SIGSTOP)
    time.sleep(15)
    return land.url("n1", "n2", user="sys")


@fault("JSD706", "cluster")
def super_cluster_of_two_and_two(land: Landscape) -> str:
    super_cluster(land, ("west", "east"), size=2)
    return land.url("west1", user="sys")


@fault("JSD710", "cluster", options=("--set", "JSD710.roll_out=1s"))
def account_without_jetstream_on_one_server(land: Landscape) -> str:
    """A configuration that was not rolled out everywhere."""
    for key in THREE:
        accounts = ACCOUNTS.replace(", jetstream: enabled", "") if key == "n3" else ACCOUNTS
        land.start(key, server(key, accounts=accounts) + routed(land, "C", key, THREE))
    land.wait_meta(*THREE)
    time.sleep(5)
    return land.url("n1", user="sys")


@fault("JSD710", "cluster", options=("--set", "JSD710.roll_out=1s"))
def one_server_with_another_domain(land: Landscape) -> str:
    for key in THREE:
        land.start(key, server(key, domain="old" if key == "n3" else "new") + routed(land, "C", key, THREE))
    time.sleep(10)
    return land.url("n1", user="sys")


@fault("JSD719", "site1", options=("--set", "JSD719.start_up=0s"))
def leaf_whose_system_account_is_not_connected(land: Landscape) -> str:
    hub(land)
    remotes = leaf_remotes(land, HUB).replace("sys:sys@", "sys:wrong@")
    land.start("site1", server("site1", domain="site1") + remotes)
    land.wait_leafs("site1", 1)
    time.sleep(2)
    return land.url("site1", user="sys")


@fault("JSD719", "site1", options=("--set", "JSD719.start_up=0s"))
def leaf_with_a_wrong_password(land: Landscape) -> str:
    hub(land)
    remotes = leaf_remotes(land, HUB, ("app",)).replace("app:app@", "app:wrong@")
    land.start("site1", server("site1", domain="site1") + remotes)
    time.sleep(3)
    return land.url("site1", user="sys")


@fault("JSD721", "site2", options=("--set", "JSD721.start_up=0s"))
def leaf_without_a_domain_below_a_hub_without_one(land: Landscape) -> str:
    formed(land, lambda key: server(key) + routed(land, "HUB", key, HUB) + leaf_listener(land, key), HUB)
    land.start("site2", server("site2") + leaf_remotes(land, HUB))
    land.wait_leafs("site2", 2)
    return land.url(*HUB, user="sys")


@fault("JSD721", "shop/s2", options=("--set", "JSD721.start_up=0s"))
def two_sites_with_one_domain(land: Landscape) -> str:
    hub(land)
    for key in ("s1", "s2"):
        land.start(key, server(key, domain="shop") + leaf_remotes(land, HUB))
        land.wait_leafs(key, 2)
    return land.url(*HUB, user="sys")


@fault("JSD722", "n2")
def two_servers_of_one_name(land: Landscape) -> str:
    """Kubernetes templates and copied configurations: the third server has the name of the second."""
    for key, name in zip(THREE, ("n1", "n2", "n2"), strict=True):
        land.start(key, server(name) + routed(land, "C", key, THREE))
        time.sleep(3)
    return land.url(*THREE, user="sys")


@fault("JSD723", "APP/ORDERS")
def stream_on_servers_that_lost_the_tag_of_its_placement(land: Landscape) -> str:
    """A stream stays where it is, and its next move or a lost server finds no peer."""
    formed(land, lambda key: server(key, tags="ssd") + routed(land, "C", key, THREE))
    stored(land.url("n1"), "ORDERS", num_replicas=3, placement={"tags": ["ssd"]})
    for key in THREE:
        land.node(key).stop()
        land.start(key, server(key, tags="hdd") + routed(land, "C", key, THREE))
        land.wait_meta(*THREE)
    return land.url("n1", user="sys")


def _has_settled_routes(land: Landscape, key: str, to: str, age_s: float) -> bool:
    """Whether a server has pooled routes to another one, none of them younger than that."""
    shown = land.monitor(key, "/routez")
    pooled = [route for route in shown["routes"] if route.get("remote_name") == to and not route.get("account")]
    now = datetime.fromisoformat(shown["now"])
    return len(pooled) > 1 and all((now - datetime.fromisoformat(r["start"])).total_seconds() > age_s for r in pooled)


@fault("JSD724", "cluster", options=("--set", "JSD724.start_up=5s"))
def one_server_with_another_system_account(land: Landscape) -> str:
    """Each side refuses the other's route of its system account."""
    for key in THREE:
        accounts = ACCOUNTS.replace("system_account: SYS\n", "system_account: OPS\n").replace("SYS:", "OPS:")
        config = server(key, accounts=accounts if key == "n3" else ACCOUNTS)
        land.start(key, config + routed(land, "C", key, THREE))
    land.wait_for(lambda: all(_has_settled_routes(land, key, "n3", 6) for key in ("n1", "n2")), "routes past start_up")
    return land.url("n1", "n2", user="sys")


@fault("JSD703", "n3", options=("--set", "JSD703.long_silence=5s"))
def server_that_came_back_with_another_name(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/2737: pods that are named anew leave dead peers behind."""
    cluster(land)
    stored(land.url("n1"), "ORDERS", num_replicas=3)
    land.node("n3").kill()
    land.start("n4", server("n4") + routed(land, "C", "n4", ["n1", "n2", "n4"]))
    time.sleep(25)
    return land.url("n1", "n2", user="sys")


@fault("JSD717", "west", options=("--set", "JSD717.start_up=0s"))
def gateway_with_a_misspelled_name(land: Landscape) -> str:
    """https://docs.nats.io/running-a-nats-service/configuration/gateways: the names must agree."""
    members = {"west": ["west1"], "east": ["east1"]}
    for name, (key,) in members.items():
        links = gateways(land, name, key, members)
        if name == "west":
            links = links.replace("{ name: east,", "{ name: eeast,")
        land.start(key, server(key) + routed(land, name, key, [key]) + links)
    time.sleep(5)
    return land.url("west1", user="sys")


def _listens(land: Landscape, key: str) -> str:
    return leaf_listener(land, key).removeprefix("leafnodes { ").removesuffix(" }\n") + ","


@fault("JSD719", "h1", options=("--set", "JSD719.start_up=5s"))
def hub_and_site_that_are_leaf_nodes_of_each_other(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/5117: a loop, which one of them detects."""
    for key, other in (("h1", "site1"), ("site1", "h1")):
        remotes = leaf_remotes(land, [other], ("app",)).replace("remotes:", f"{_listens(land, key)} remotes:")
        land.start(key, server(key, domain=key) + remotes)
    time.sleep(12)
    return land.url("h1", user="sys")


CUT_S = 2.0
"""So long a connection over an unsteady path lasts."""


def unsteady(land: Landscape, name: str, target: int) -> int:
    """The port of a path to `target` that breaks again and again."""
    path = Relay(land.port(f"unsteady/{name}"), target, lasts_s=CUT_S)
    land.closing(path.close)
    return land.port(f"unsteady/{name}")


@fault("JSD725", "n2", options=("--set", "JSD725.start_up=5s", "--interval", "5s"))
def route_over_an_unsteady_line(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/1399: two servers, one of them behind a mobile network."""
    keys = THREE[:2]
    alone = routed(land, "C", "n1", ["n1"]).replace("name: C,", "name: C, no_advertise: true,")
    land.start("n1", server("n1") + alone)
    port = unsteady(land, "route", land.port("C/n1"))
    over = routed(land, "C", "n2", keys).replace(
        f'"nats://127.0.0.1:{land.port("C/n1")}"', f'"nats://127.0.0.1:{port}"'
    )
    land.start("n2", server("n2") + over.replace("name: C,", "name: C, no_advertise: true,"))
    time.sleep(22)
    return land.url("n2", user="sys")


def _hub_over_an_unsteady_path(land: Landscape) -> int:
    """Starts a hub that advertises the path, and returns the port of it."""
    port = unsteady(land, "leaf", land.port("leaf/h1"))
    advertised = leaf_listener(land, "h1").replace("{ ", f'{{ advertise: "127.0.0.1:{port}", ', 1)
    land.start("h1", server("h1", domain="hub") + advertised)
    return port


@fault("JSD725", "site1", options=("--set", "JSD725.start_up=5s"))
def site_behind_an_unsteady_line(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/7615: it connects again and again."""
    port = _hub_over_an_unsteady_path(land)
    remotes = leaf_remotes(land, ["h1"], ("app",)).replace(f":{land.port('leaf/h1')}", f":{port}")
    land.start("site1", server("site1", domain="site1") + remotes)
    time.sleep(22)
    return land.url("site1", user="sys")


@fault("JSD725", "h1", options=("--set", "JSD725.start_up=5s"))
def two_sites_with_one_server_name(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/4939: the hub closes one's connection for the other's."""
    land.start("h1", server("h1", domain="hub") + leaf_listener(land, "h1"))
    for key in ("s1", "s2"):
        land.start(key, server("edge", domain=key) + leaf_remotes(land, ["h1"], ("app",)))
    time.sleep(20)
    return land.url("h1", user="sys")


@fault("JSD726", "n3", options=ALONE)
def server_with_another_name_of_the_cluster(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/2429: its routes are refused, and it goes on alone."""
    for key in THREE:
        own = routed(land, "C", key, THREE)
        land.start(key, server(key) + (own.replace("name: C,", "name: OTHER,") if key == "n3" else own))
    time.sleep(10)
    return land.url("n3", user="sys")


@fault("JSD714", "site1", logs=True, always=True)
def site_that_connects_to_the_port_for_clients(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/pull/1265: 4222 where 7422 was meant."""
    land.start("h1", server("h1", domain="hub") + leaf_listener(land, "h1"))
    address = f"nats://app:app@127.0.0.1:{land.node('h1').ports.client}"
    remotes = f'leafnodes {{ remotes: [{{ urls: ["{address}"], account: APP }}] }}\n'
    land.start("site1", server("site1", domain="site1") + remotes)
    time.sleep(12)
    return land.url("site1", user="sys")


@fault("JSD726", "n1", options=ALONE)
def routes_to_the_ports_for_clients(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/270: 4222 where 6222 was meant."""
    for key in THREE:
        land.start(key, server(key))
    urls = ", ".join(f'"nats://127.0.0.1:{land.node(key).ports.client}"' for key in THREE)
    for key in THREE:
        land.node(key).stop()
    for key in THREE:
        listen = f"127.0.0.1:{land.port(f'C/{key}')}"
        land.start(key, server(key) + f'cluster {{ name: C, listen: "{listen}", routes: [{urls}] }}\n')
    time.sleep(12)
    return land.url("n1", user="sys")


@fault("JSD728", "site1", always=True)
def leaf_node_with_a_remote_for_each_server_of_the_hub(land: Landscape) -> str:
    """Every message crosses twice, each way, and no server logs it (seen on 2.10.26, 2.12.8 and 2.15.1)."""
    hub(land)
    remotes = [leaf_remotes(land, [key], ("app",)).split("[", 1)[1].rsplit("]", 1)[0] for key in HUB[:2]]
    land.start("site1", server("site1", domain="site1") + f"leafnodes {{ remotes: [{', '.join(remotes)}] }}\n")
    land.wait_leafs("site1", 2)

    async def talk(end: threading.Event) -> None:
        here, there = await nats.connect(land.url("site1")), await nats.connect(land.url(HUB[2]))
        await there.subscribe("sold")
        await there.flush()
        while not end.is_set():
            await here.publish("sold", b"x")
            await asyncio.sleep(0.01)
        await here.close()
        await there.close()

    goes_on(land, talk)
    return land.url(HUB[0], user="sys")


@fault("JSD729", "site1")
def leaf_node_that_denies_gets_of_its_hub(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/4819: a watch works, and a get finds no responders."""
    hub(land, domain="hub")
    stored(land.url(*HUB), "KV_prices", 0, subjects=["$KV.prices.>"], max_msgs_per_subject=1, allow_direct=True)
    remotes = leaf_remotes(land, HUB, ("app",))
    land.start("site1", server("site1") + remotes.replace("APP", 'APP, deny_exports: ["$JS.hub.API.DIRECT.>"]'))
    land.wait_leafs("site1", 1)

    async def get(client: Client) -> bool:
        with contextlib.suppress(NoRespondersError):
            await client.request("$JS.hub.API.DIRECT.GET.KV_prices.$KV.prices.tea", timeout=5)
            return True
        return False

    assert not do(land.url("site1"), get)
    return land.url("site1", user="sys")


@fault("JSD730", "APP/ORDERS", before=(2, 11))
def leader_that_lost_its_subscription(land: Landscape) -> str:
    """https://github.com/nats-io/nats-server/issues/5738: two updates at once leave 2.10 with a leader that is deaf."""
    cluster(land)

    async def is_deaf(client: Client) -> bool:
        await client.request("$JS.API.STREAM.DELETE.ORDERS", timeout=5)
        await add_stream(client, "ORDERS", subjects=["orders"], num_replicas=1)
        both = ({"name": "ORDERS", "num_replicas": n, "subjects": [f"orders.{n}"]} for n in (1, 3))
        requests = (client.request("$JS.API.STREAM.UPDATE.ORDERS", json.dumps(u).encode(), timeout=5) for u in both)
        await asyncio.gather(*requests)
        await asyncio.sleep(2)
        try:
            await client.request((await api(client, "STREAM.INFO.ORDERS"))["config"]["subjects"][0], timeout=5)
        except NoRespondersError:
            return True
        return False

    land.wait_for(lambda: do(land.url("n1"), is_deaf), "a leader without its subscription", 120)
    time.sleep(31)
    return land.url("n1", user="sys")


@fault("JSD731", "APP/ORDERS", since=(2, 15), options=("--set", "JSD731.warn_after=5s"))
def move_to_a_server_that_does_not_respond(land: Landscape) -> str:
    formed(land, lambda key: server(key) + routed(land, "C", key, THREE) + f'server_tags: ["t:{key}"]\n')
    stored(land.url("n1"), "ORDERS", num_replicas=1, placement={"tags": ["t:n1"]})
    land.signal("n3", signal.SIGSTOP)
    moved = {"name": "ORDERS", "subjects": ["orders"], "num_replicas": 1, "placement": {"tags": ["t:n3"]}}
    do(land.url("n1"), lambda client: api(client, "STREAM.UPDATE.ORDERS", moved))
    time.sleep(8)
    return land.url("n1", user="sys")
