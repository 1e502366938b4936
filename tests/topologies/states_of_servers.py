"""Healthy single servers and clusters: how they are configured, and who may look at them."""

from __future__ import annotations

import asyncio
import re
import signal
import ssl

from tests.collect.certificates import Certificates
from tests.servers import ROOT
from tests.topologies.deployments import cluster, single
from tests.topologies.healthy import furnish, of_habits
from tests.topologies.landscape import ACCOUNTS, Landscape, jetstream, routed, server
from tests.topologies.mqtt import acknowledge_always, mqtt_session
from tests.topologies.states import COMMON, Applications, Setting, States, connects, monitors, usual

SERVER_STATES = States()
state = SERVER_STATES.state
THREE = ["n1", "n2", "n3"]
FIVE = ["n1", "n2", "n3", "n4", "n5"]
_PERMISSIONS = (ROOT / "docs/permissions.md").read_text("utf-8")


def documented(block: str) -> str:
    """A block of docs/permissions.md."""
    match = re.search(rf"```permissions {block}\n(.*?)```", _PERMISSIONS, re.DOTALL)
    assert match, block
    return match[1]


@state()
def fresh_server(land: Landscape) -> Setting:
    """Nothing has been stored yet."""
    return usual(land, single(land), habits=())


@state()
def fresh_cluster(land: Landscape) -> Setting:
    return usual(land, cluster(land), habits=())


@state()
def server_without_accounts(land: Landscape) -> Setting:
    """`nats-server -js`: everyone is in the default account."""
    land.start("n1", server("n1", accounts=""))
    url = land.node("n1").url
    return Setting([Applications(url)], [connects(url), monitors(land, "n1")])


@state()
def server_with_a_token(land: Landscape) -> Setting:
    land.start("n1", server("n1", accounts="authorization { token: secret }\n"))
    url = land.node("n1").url.replace("nats://", "nats://secret@")
    return Setting([Applications(url)], [connects(url), monitors(land, "n1")])


@state()
def server_without_jetstream(land: Landscape) -> Setting:
    """Core NATS only: the system account and the monitoring port look at it."""
    land.start("n1", server("n1", storage=False, accounts=ACCOUNTS.replace(", jetstream: enabled", "")))
    return Setting([], [connects(land.url(user="sys")), monitors(land, "n1")])


@state()
def five_servers(land: Landscape) -> Setting:
    for key in FIVE:
        land.start(key, server(key) + routed(land, "C", key, FIVE))
    land.wait_meta(*FIVE)
    setting = usual(land, FIVE)
    setting.applications.append(Applications(land.url("n4"), 5, ("RING",)))
    return setting


@state()
def servers_in_zones(land: Landscape) -> Setting:
    """Replicas go to different zones."""
    for key in THREE:
        spread = jetstream(limits="max_memory_store: 64M, max_file_store: 4G, unique_tag: az")
        own = server(key, storage=False, tags=f"az:{key}, ssd") + spread
        land.start(key, own + routed(land, "C", key, THREE))
    land.wait_meta(*THREE)
    return usual(land, THREE)


@state()
def tls_everywhere(land: Landscape) -> Setting:
    """Clients show certificates, routes verify each other."""
    land.directory.mkdir(parents=True, exist_ok=True)
    pki = Certificates(land.directory)
    certificate, key_file = pki.valid_for(90)
    files = f'cert_file: "{certificate}", key_file: "{key_file}", ca_file: "{pki.ca}"'
    for key in THREE:
        route = routed(land, "C", key, THREE).replace("routes:", f"tls {{ {files}, verify: true }}, routes:")
        land.start(key, server(key) + route + f"tls {{ {files} }}\n")
    land.wait_meta(*THREE)
    context = ssl.create_default_context(cafile=str(pki.ca))
    working = Applications(land.url(*THREE), 3, login={"tls": context})
    logins = [connects(land.url(*THREE, user=user), tlsca=str(pki.ca)) for user in ("sys", "app")]
    return Setting([working], [*logins, monitors(land, *THREE)])


@state()
def clients_over_websocket(land: Landscape) -> Setting:
    port = land.port("websocket")
    single(land, f'websocket {{ listen: "127.0.0.1:{port}", no_tls: true, compression: true }}\n')
    urls = {user: f"ws://{user}:{user}@127.0.0.1:{port}" for user in ("app", "sys")}
    return Setting([Applications(urls["app"])], [connects(urls["sys"]), connects(urls["app"]), monitors(land, "n1")])


@state()
def mqtt_in_a_cluster(land: Landscape) -> Setting:
    """Devices with sessions beside other clients."""
    for key in THREE:
        mqtt = f'mqtt {{ listen: "127.0.0.1:{land.port(f"mqtt/{key}")}" }}\n'
        land.start(key, server(key) + routed(land, "C", key, THREE) + mqtt)
    land.wait_meta(*THREE)
    reader = mqtt_session(land.port("mqtt/n2"), subscribe=True)
    acknowledge_always(reader)
    sensor = mqtt_session(land.port("mqtt/n1"), subscribe=False)
    for device in (reader, sensor):
        land.keep(device)
    return usual(land, THREE)


@state()
def careful_disks(land: Landscape) -> Setting:
    """Every write is synchronised."""
    limits = "max_memory_store: 64M, max_file_store: 4G, sync_interval: always"
    for key in THREE:
        land.start(key, server(key, storage=False) + jetstream(limits=limits) + routed(land, "C", key, THREE))
    land.wait_meta(*THREE)
    return usual(land, THREE)


@state()
def limits_of_the_server(land: Landscape) -> Setting:
    """Limits on what clients may ask for, none of which is reached."""
    limits = (
        "max_memory_store: 64M, max_file_store: 4G, "
        'limits: { max_ack_pending: 2000, max_ha_assets: 500, max_request_batch: 1000, duplicate_window: "2m" }'
    )
    for key in THREE:
        land.start(key, server(key, storage=False) + jetstream(limits=limits) + routed(land, "C", key, THREE))
    land.wait_meta(*THREE)
    return usual(land, THREE)


@state()
def routes_without_pools(land: Landscape) -> Setting:
    for key in THREE:
        route = routed(land, "C", key, THREE).replace("routes:", "pool_size: -1, compression: s2_fast, routes:")
        land.start(key, server(key) + route)
    land.wait_meta(*THREE)
    return usual(land, THREE)


@state()
def routes_of_their_own_for_accounts(land: Landscape) -> Setting:
    for key in THREE:
        land.start(key, server(key) + routed(land, "C", key, THREE).replace("routes:", "accounts: [APP], routes:"))
    land.wait_meta(*THREE)
    return usual(land, THREE)


@state()
def logins_with_the_documented_permissions(land: Landscape) -> Setting:
    """Those that docs/permissions.md names for a look, and no more."""
    system, account = (documented(f"look-{kind}") for kind in ("system", "account"))
    accounts = (
        "system_account: SYS\naccounts {\n"
        f"  SYS: {{ users: [{{ user: sys, password: sys, permissions: {{ {system} }} }}] }}\n"
        "  APP: { jetstream: enabled, users: [\n    { user: app, password: app }\n"
        f"    {{ user: look, password: look, permissions: {{ {account} }} }}\n  ] }}\n}}\n"
    )
    keys = cluster(land, accounts=accounts)
    logins = [connects(land.url(*keys, user=user)) for user in ("sys", "look")]
    return Setting([Applications(land.url(*keys), 3)], logins)


@state()
def cluster_that_has_just_started_again(land: Landscape) -> Setting:
    """All servers were down, and have been up for seconds."""
    keys = cluster(land)
    asyncio.run(furnish(land.url(*keys), 3, of_habits("PACKED", "SEALED", "NIGHTLY")))
    for key in keys:
        land.node(key).stop()
    for key in keys:
        land.again(key)
    land.wait_meta(*keys)
    return usual(land, keys)


@state()
def configuration_that_was_reloaded(land: Landscape) -> Setting:
    """With a new user and another limit."""
    keys = cluster(land)
    for key in keys:
        path = land.directory / key / "server.conf"
        more = ACCOUNTS.replace(
            "{ user: app, password: app }", "{ user: app, password: app }, { user: b, password: b }"
        )
        path.write_text(path.read_text("utf-8").replace(ACCOUNTS, more) + "max_connections: 5000\n", "utf-8")
        land.signal(key, signal.SIGHUP)
    land.wait_for(lambda: all(land.monitor(k, "/varz")["max_connections"] == 5000 for k in keys), "the reload")
    return usual(land, keys)


@state()
def server_that_was_added(land: Landscape) -> Setting:
    """Three servers at work, and then two more."""
    for key in THREE:
        land.start(key, server(key) + routed(land, "C", key, THREE))
    land.wait_meta(*THREE)
    for key in FIVE[3:]:
        land.start(key, server(key) + routed(land, "C", key, FIVE))
    land.wait_meta(*FIVE)
    return usual(land, FIVE)


@state()
def several_tenants(land: Landscape) -> Setting:
    """Accounts with the same names of streams, with limits and without."""
    tenants = "".join(
        f"  T{n}: {{ users: [{{ user: t{n}, password: t{n} }}], "
        "jetstream: { max_file: 1G, max_mem: 32M, max_streams: 20, max_consumers: 50 } }\n"
        for n in range(4)
    )
    keys = cluster(land, accounts=ACCOUNTS.removesuffix("}\n") + tenants + "}\n")
    setting = usual(land, keys)
    for number in range(4):
        setting.applications.append(Applications(land.url(*keys, user=f"t{number}"), 3, ("QUEUE", "RING")))
    setting.logins.append(connects(land.url(*keys, user="t1")))
    return setting


@state()
def stream_of_another_account_that_is_sourced(land: Landscape) -> Setting:
    """A bridge: the account SHOP imports the API and the delivery of APP, and copies a stream of its."""
    exports = '[{ service: "$JS.API.>", response_type: stream }, { service: "$JS.FC.>" }, { stream: "bridge.shop.>" }]'
    imports = (
        '[{ service: { account: APP, subject: "$JS.API.>" }, to: "JS.APP.API.>" }, '
        '{ service: { account: APP, subject: "$JS.FC.>" } }, { stream: { account: APP, subject: "bridge.shop.>" } }]'
    )
    accounts = (
        "system_account: SYS\naccounts {\n  SYS: { users: [{ user: sys, password: sys }] }\n"
        f"  APP: {{ jetstream: enabled, users: [{{ user: app, password: app }}], exports: {exports} }}\n"
        f"  SHOP: {{ jetstream: enabled, users: [{{ user: shop, password: shop }}], imports: {imports} }}\n}}\n"
    )
    keys = cluster(land, accounts=accounts)
    setting = usual(land, keys, (*COMMON, "BRIDGED"))
    setting.applications.append(Applications(land.url(*keys, user="shop"), 3, ("BRIDGECOPY",)))
    setting.logins.append(connects(land.url(*keys, user="shop")))
    return setting
