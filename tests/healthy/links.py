"""Healthy deployments of several clusters, domains and sites."""

import asyncio
from pathlib import Path

import nats

from tests.healthy.frame import Applications, Setting, at_the_hub, connects, monitors, state, usual
from tests.servers import VERSIONS
from tests.servers.callout import Callout
from tests.servers.deployments import HUB, cluster, hub, sites, super_cluster
from tests.servers.landscape import ACCOUNTS, Landscape, gateways, leaf_listener, leaf_remotes, routed, server
from tests.sources.operator_mode import Operator, creds
from tests.support.deployment import add_stream, api
from tests.support.site import BOUNDED, Site


@state()
def site_below_a_hub_without_jetstream(land: Landscape) -> Setting:
    """https://natsbyexample.com/examples/topologies/simple-leafnode/cli, whose leaf node stores messages."""
    plain = ACCOUNTS.replace(", jetstream: enabled", "")
    land.start("h1", server("h1", storage=False, accounts=plain) + leaf_listener(land, "h1"))
    land.start("site", server("site") + leaf_remotes(land, ["h1"], ("app",)))
    land.wait_leafs("site", 1)
    logins = [connects(land.url(key, user="sys")) for key in ("site", "h1")]
    return Setting(
        [Applications(land.url("site"))], [*logins, connects(land.url("site")), monitors(land, "site", "h1")]
    )


@state()
def leaf_node_with_compression_and_denied_subjects(land: Landscape) -> Setting:
    """A site whose private subjects stay there."""
    land.start("h1", server("h1", domain="hub") + leaf_listener(land, "h1").replace(" }", ", compression: s2_auto }"))
    remotes = leaf_remotes(land, ["h1"]).replace(
        "account: APP", 'account: APP, compression: s2_better, deny_exports: ["private.>"], deny_imports: ["hub.>"]'
    )
    land.start("site", server("site", domain="site") + remotes)
    land.wait_leafs("site", 2)
    setting = usual(land, ["h1"])
    setting.applications.append(Applications(land.url("site"), habits=("RING", "KV_plain")))
    setting.logins += [connects(land.url("site", user=user)) for user in ("sys", "app")]
    return setting


@state()
def hub_that_was_restarted_server_by_server(land: Landscape) -> Setting:
    """https://docs.nats.io/running-a-nats-service/nats_admin/upgrading_cluster, with sites that change the server."""
    hub(land)
    sites(land, 2)
    for key in HUB:
        land.node(key).stop()
        land.again(key)
        land.wait_meta(*HUB)
    for site in ("site1", "site2"):
        land.wait_leafs(site, 2)
    return at_the_hub(land, "site1")


@state()
def leaf_node_over_websocket(land: Landscape) -> Setting:
    """https://docs.nats.io/learn/websocket/leaf-nodes-over-websocket: only HTTP leads to the hub."""
    port = land.port("websocket")
    listener = f'websocket {{ listen: "127.0.0.1:{port}", no_tls: true }}\n'
    land.start("h1", server("h1", domain="hub") + leaf_listener(land, "h1") + listener)
    remotes = ", ".join(
        f'{{ urls: ["ws://{user}:{user}@127.0.0.1:{port}"], account: {user.upper()} }}' for user in ("app", "sys")
    )
    land.start("site1", server("site1", domain="site1") + f"leafnodes {{ remotes: [{remotes}] }}\n")
    land.wait_leafs("site1", 2)
    setting = usual(land, ["h1"])
    setting.logins += [connects(land.url("site1", user=user)) for user in ("sys", "app")]
    return setting


@state()
def site_that_keeps_some_subjects_to_itself(land: Landscape) -> Setting:
    """https://docs.nats.io/running-a-nats-service/configuration/leafnodes/leafnode_conf: `deny_exports`."""
    land.start("h1", server("h1", domain="hub") + leaf_listener(land, "h1"))
    denied = 'deny_imports: ["commands.>"], deny_exports: ["local.>", "queue.>"], account: APP'
    remotes = leaf_remotes(land, ["h1"]).replace("account: APP", denied)
    land.start("site1", server("site1", domain="site1") + remotes)
    land.wait_leafs("site1", 2)
    applications = [Applications(land.url(key)) for key in ("h1", "site1")]
    logins = [connects(land.url(key, user=user)) for key in ("h1", "site1") for user in ("sys", "app")]
    return Setting(applications, [*logins, monitors(land, "h1", "site1")])


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
            await Site(client).publish(name.lower(), 20)
        finally:
            await client.close()

    asyncio.run(fill())


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


def of_domain(stream: str, domain: str) -> dict[str, object]:
    """Where a copy finds a stream of another domain."""
    return {"name": stream, "external": {"api": f"$JS.{domain}.API", "deliver": ""}}


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


EDGE = ["e1", "e2", "e3"]


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


def leaf_block(land: Landscape, key: str, hubs: list[str]) -> str:
    """One block that listens for leaf nodes and connects to others."""
    own, remotes = leaf_listener(land, key), leaf_remotes(land, hubs)
    return own.removesuffix(" }\n") + ", " + remotes.removeprefix("leafnodes { ")


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
def operator_mode_of_one_server(land: Landscape) -> Setting:
    operator = Operator(jetstream=True, others=("IDLE", "OTHER"))
    land.start("n1", server("n1", accounts=operator.config))
    return with_creds(land, operator, ["n1"])


TIERS = {
    "R1": {"disk_storage": 1 << 30, "mem_storage": 1 << 26, "streams": 10, "consumer": 50},
    "R3": {"disk_storage": 4 << 30, "mem_storage": 1 << 26, "streams": 20, "consumer": 100},
}


@state()
def operator_mode_of_a_cluster(land: Landscape) -> Setting:
    """Accounts with limits for each number of replicas."""
    operator = Operator(jetstream=True, tiers=TIERS, others=("IDLE", *(f"TENANT{number}" for number in range(1, 31))))
    return with_creds(land, operator, cluster(land, accounts=operator.config))


@state()
def leaf_cluster_that_extends_the_domain_of_its_hub(land: Landscape) -> Setting:
    """System account and domain are shared on purpose: one meta group over hub and edge, of an odd number of members.

    With three and three, JSD706 is right: each half is without a leader while the link between them is down.
    """
    hub(land)
    edge = ["e1", "e2"]
    for key in edge:
        links = routed(land, "EDGE", key, edge) + leaf_remotes(land, HUB)
        land.start(key, server(key, domain="hub") + links)
    land.wait_meta(*HUB, size=5)
    return at_the_hub(land, *edge)


@state()
def leaf_nodes_without_a_jetstream_of_their_own(land: Landscape) -> Setting:
    """`default_js_domain` leads the clients of a leaf node to the hub's JetStream."""
    hub(land)
    for key in ("l1", "l2"):
        own = server(key, storage=False, accounts=ACCOUNTS.replace(", jetstream: enabled", ""))
        land.start(key, own + "default_js_domain: { APP: hub }\n" + leaf_remotes(land, HUB))
        land.wait_leafs(key, 2)
    setting = at_the_hub(land)
    setting.applications[0].url = land.url("l1")
    setting.logins += [connects(land.url("l1", user="sys")), connects(land.url("l2"))]
    return setting


@state()
def super_cluster_of_three_clusters_of_three(land: Landscape) -> Setting:
    super_cluster(land, size=3)
    setting = usual(land, ["west1"], replicas=3)
    setting.logins = [connects(land.url("north2", user="sys")), connects(land.url("east3"))]
    return setting


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
