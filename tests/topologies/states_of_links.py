"""Healthy super-clusters, leaf nodes and domains, and servers that others decide for who may log in."""

from __future__ import annotations

import asyncio
from pathlib import Path

import nats

from tests.collect.operator_mode import Operator, creds
from tests.servers import VERSIONS
from tests.support.deployment import add_stream, api
from tests.topologies.callout import Callout
from tests.topologies.deployments import HUB, cluster, hub, sites, super_cluster
from tests.topologies.habits import BOUNDED, Place
from tests.topologies.landscape import Landscape, gateways, leaf_listener, leaf_remotes, routed, server
from tests.topologies.states import Applications, Setting, States, at_the_hub, connects, monitors, usual

LINK_STATES = States()
state = LINK_STATES.state
EDGE = ["e1", "e2", "e3"]


def copied(url: str, name: str, **config: object) -> None:
    """A stream that copies another one, whose messages must arrive."""

    async def copy() -> None:
        client = await nats.connect(url.split(","))
        try:
            await add_stream(client, name, **{**BOUNDED, **config})
            for _ in range(150):
                if (await api(client, f"STREAM.INFO.{name}"))["state"]["messages"]:
                    return
                await asyncio.sleep(0.2)
            raise AssertionError(f"nothing came to {name}")
        finally:
            await client.close()

    asyncio.run(copy())


def filled(url: str, name: str, **config: object) -> None:
    """A stream with messages."""

    async def fill() -> None:
        client = await nats.connect(url.split(","))
        try:
            await add_stream(client, name, **{"subjects": [name.lower()], **BOUNDED, **config})
            await Place(client, 1).publish(name.lower(), 20)
        finally:
            await client.close()

    asyncio.run(fill())


def of_domain(stream: str, domain: str) -> dict[str, object]:
    """Where a copy finds a stream of another domain."""
    return {"name": stream, "external": {"api": f"$JS.{domain}.API", "deliver": ""}}


@state()
def super_cluster_with_copies_near_the_readers(land: Landscape) -> Setting:
    """A stream in the west, with a mirror in the east and a source of it in the north."""
    keys = super_cluster(land)
    filled(land.url("west1"), "SALES", placement={"cluster": "west"})
    copied(land.url("east1"), "SALESEAST", mirror={"name": "SALES"}, placement={"cluster": "east"})
    copied(land.url("north1"), "SALESNORTH", sources=[{"name": "SALES"}], placement={"cluster": "north"})
    return usual(land, keys, replicas=1)


@state()
def two_regions_and_an_arbiter(land: Landscape) -> Setting:
    """The third cluster has a server that only votes, and takes no streams."""
    keys = super_cluster(land, ("west", "east", "arbiter"))
    return Setting(
        [Applications(land.url("west1"))],
        [connects(land.url("east1", user="sys")), connects(land.url("west1")), monitors(land, *keys)],
    )


@state()
def hub_and_sites_that_copy_both_ways(land: Landscape) -> Setting:
    """Prices go from the hub to every site, sales from every site to the hub."""
    hub(land)
    filled(land.url(*HUB), "PRICES", num_replicas=3)
    for key in sites(land, 3):
        filled(land.url(key), "SALES")
        copied(land.url(key), "PRICES_HERE", mirror=of_domain("PRICES", "hub"))
        copied(land.url(*HUB), f"SALES_{key}", sources=[of_domain("SALES", key)], num_replicas=3)
    return at_the_hub(land, "site1")


@state()
def leaf_cluster_with_a_domain_of_its_own(land: Landscape) -> Setting:
    hub(land)
    for key in EDGE:
        links = routed(land, "EDGE", key, EDGE) + leaf_remotes(land, HUB)
        land.start(key, server(key, domain="edge") + links)
    land.wait_meta(*EDGE)
    setting = at_the_hub(land, "e2")
    setting.applications.append(Applications(land.url(*EDGE), 3, ("RING", "PERKEY")))
    return setting


@state()
def sites_below_regions_below_a_hub(land: Landscape) -> Setting:
    """A leaf node that is itself the hub of a leaf node."""
    hub(land)
    land.start("region", server("region", domain="region") + leaf_block(land, "region", HUB))
    land.wait_leafs("region", 2)
    land.start("shop", server("shop", domain="shop") + leaf_remotes(land, ["region"]))
    land.wait_leafs("shop", 2)
    filled(land.url("shop"), "SALES")
    copied(land.url("region"), "SALES_SHOP", sources=[of_domain("SALES", "shop")])
    return at_the_hub(land, "region", "shop")


def leaf_block(land: Landscape, key: str, hubs: list[str]) -> str:
    """One block that listens for leaf nodes and connects to others."""
    own, remotes = leaf_listener(land, key), leaf_remotes(land, hubs)
    return own.removesuffix(" }\n") + ", " + remotes.removeprefix("leafnodes { ")


@state()
def site_that_shares_an_account_only(land: Landscape) -> Setting:
    """The site's system account stays with the site."""
    hub(land)
    for key in sites(land, 2, users=("app",)):
        filled(land.url(key), "SALES")
        copied(land.url(*HUB), f"SALES_{key}", mirror=of_domain("SALES", key), num_replicas=3)
    return at_the_hub(land, "site1")


@state()
def sites_of_other_versions(land: Landscape) -> Setting:
    """A fleet is upgraded when somebody comes by: every version below one hub."""
    hub(land)
    for number, version in enumerate(VERSIONS):
        key = f"site{number}"
        land.start(key, server(key, domain=key) + leaf_remotes(land, HUB), version)
        land.wait_leafs(key, 2)
        filled(land.url(key), "SALES")
        copied(land.url(*HUB), f"SALES_{key}", sources=[of_domain("SALES", key)], num_replicas=3)
    return at_the_hub(land, "site0", "site2")


@state()
def leaf_nodes_of_single_servers(land: Landscape) -> Setting:
    """One server without a cluster is the hub of two."""
    land.start("h1", server("h1", domain="hub") + leaf_listener(land, "h1"))
    for key in ("s1", "s2"):
        land.start(key, server(key, domain=key) + leaf_remotes(land, ["h1"]))
        land.wait_leafs(key, 2)
        filled(land.url(key), "SALES")
    setting = usual(land, ["h1"])
    setting.logins += [connects(land.url("s1", user=user)) for user in ("sys", "app")]
    return setting


@state()
def super_cluster_with_sites(land: Landscape) -> Setting:
    """Leaf nodes of one of three clusters."""
    members = {name: [f"{name}1"] for name in ("west", "east", "north")}
    for name, (key,) in members.items():
        links = gateways(land, name, key, members) + routed(land, name, key, [key]) + leaf_listener(land, key)
        land.start(key, server(key, domain="core") + links)
    land.wait_meta("west1", "east1", "north1")
    for key in ("s1", "s2"):
        land.start(key, server(key, domain=key) + leaf_remotes(land, ["west1"]))
        land.wait_leafs(key, 2)
        filled(land.url(key), "SALES")
        copied(land.url("east1"), f"SALES_{key}", sources=[of_domain("SALES", key)])
    setting = usual(land, ["west1", "east1", "north1"], replicas=1)
    setting.logins += [connects(land.url("s2", user=user)) for user in ("sys", "app")]
    return setting


@state()
def operator_mode_of_one_server(land: Landscape) -> Setting:
    operator = Operator(jetstream=True, others=("IDLE", "OTHER"))
    land.start("n1", server("n1", accounts=operator.config))
    return with_creds(land, operator, ["n1"])


@state()
def operator_mode_of_a_cluster(land: Landscape) -> Setting:
    operator = Operator(jetstream=True, others=("IDLE",))
    return with_creds(land, operator, cluster(land, accounts=operator.config))


def with_creds(land: Landscape, operator: Operator, keys: list[str]) -> Setting:
    urls = ",".join(land.node(key).url for key in keys)

    def login(name: str, user: tuple[str, str]) -> str:
        path = Path(land.directory / f"{name}.creds")
        path.write_text(creds(*user), "utf-8")
        return str(path)

    app, sys = login("app", operator.user(operator.app)), login("sys", operator.user(operator.system))
    working = Applications(urls, min(3, len(keys)), login={"user_credentials": app})
    return Setting([working], [connects(urls, creds=sys), connects(urls, creds=app), monitors(land, *keys)])


@state()
def logins_that_a_service_decides(land: Landscape) -> Setting:
    """Auth callout: a service signs who a user is, and which account it belongs to."""
    callout = Callout()
    land.start("n1", server("n1", accounts=callout.accounts))
    callout.serve(land.url("n1", user="auth"))
    land.closing(callout.close)
    logins = [connects(land.url("n1", user=user)) for user in ("sys", "app")]
    return Setting([Applications(land.url("n1"))], [*logins, monitors(land, "n1")])


@state()
def clients_of_a_leaf_that_use_the_hub(land: Landscape) -> Setting:
    """The leaf has a JetStream of its own, and its clients publish to streams of the hub."""
    hub(land)
    sites(land, 1)
    setting = at_the_hub(land, "site1")
    setting.logins.append(connects(land.url("site1"), js_domain="hub"))
    return setting
