"""Healthy single servers and clusters: how they are configured, and who may look at them."""

import asyncio
import contextlib
import re
import signal
import socket
import ssl

from jsdoctor import ConnectionOptions
from tests.clients.mqtt import acknowledge_always, mqtt_session
from tests.healthy.frame import (
    COMMON,
    PATIENCE_S,
    Applications,
    Setting,
    connects,
    furnish,
    monitors,
    of_habits,
    state,
    usual,
)
from tests.servers import ROOT
from tests.servers.deployments import THREE, cluster, formed, single, stored
from tests.servers.landscape import ACCOUNTS, Landscape, jetstream, routed, server
from tests.servers.relay import Relay
from tests.sources.certificates import Certificates
from tests.support.site import BOUNDED


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


FIVE = ["n1", "n2", "n3", "n4", "n5"]


@state()
def five_servers(land: Landscape) -> Setting:
    formed(land, lambda key: server(key) + routed(land, "C", key, FIVE), FIVE)
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
    formed(
        land,
        lambda key: (
            server(key)
            + routed(land, "C", key, THREE).replace("routes:", f"tls {{ {files}, verify: true }}, routes:")
            + f"tls {{ {files} }}\n"
        ),
    )
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
    formed(
        land,
        lambda key: (
            server(key) + routed(land, "C", key, THREE) + f'mqtt {{ listen: "127.0.0.1:{land.port(f"mqtt/{key}")}" }}\n'
        ),
    )
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
    return usual(
        land,
        formed(land, lambda key: server(key, storage=False) + jetstream(limits=limits) + routed(land, "C", key, THREE)),
    )


@state()
def limits_of_the_server(land: Landscape) -> Setting:
    """Limits on what clients may ask for, none of which is reached."""
    limits = (
        "max_memory_store: 64M, max_file_store: 4G, "
        'limits: { max_ack_pending: 2000, max_ha_assets: 500, max_request_batch: 1000, duplicate_window: "2m" }'
    )
    return usual(
        land,
        formed(land, lambda key: server(key, storage=False) + jetstream(limits=limits) + routed(land, "C", key, THREE)),
    )


@state()
def routes_without_pools(land: Landscape) -> Setting:
    return usual(
        land,
        formed(
            land,
            lambda key: (
                server(key)
                + routed(land, "C", key, THREE).replace("routes:", "pool_size: -1, compression: s2_fast, routes:")
            ),
        ),
    )


@state()
def routes_of_their_own_for_accounts(land: Landscape) -> Setting:
    return usual(
        land,
        formed(
            land, lambda key: server(key) + routed(land, "C", key, THREE).replace("routes:", "accounts: [APP], routes:")
        ),
    )


_PERMISSIONS = (ROOT / "docs/permissions.md").read_text("utf-8")


def documented(block: str) -> str:
    """A block of docs/permissions.md."""
    match = re.search(rf"```permissions {block}\n(.*?)```", _PERMISSIONS, re.DOTALL)
    assert match, block
    return match[1]


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
    formed(land, lambda key: server(key) + routed(land, "C", key, THREE))
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


PODS = ["nats-0", "nats-1", "nats-2"]


SHUTDOWN = "lame_duck_grace_period: 10s\nlame_duck_duration: 30s\n"


@state()
def defaults_of_the_chart(land: Landscape) -> Setting:
    """https://github.com/nats-io/k8s/tree/main/helm/charts/nats: no memory store, 10Gi of files, no accounts.

    Its routes are not advertised.
    """
    for key in PODS:
        own = server(key, storage=False, accounts="") + jetstream(limits="max_memory_store: 0, max_file_store: 10Gi")
        route = routed(land, "nats", key, PODS).replace("routes:", "no_advertise: true, routes:")
        land.start(key, own + route + SHUTDOWN)
    land.wait_meta(*PODS)
    url = ",".join(land.node(key).url for key in PODS)
    return Setting([Applications(url, 3)], [connects(url), monitors(land, *PODS)])


@state()
def cluster_that_finds_itself_through_one_seed(land: Landscape) -> Setting:
    """Every server has a route to the first one only, also that one, and gossip does the rest."""
    keys = ["n1", "n2", "n3"]
    return usual(land, formed(land, lambda key: server(key) + routed(land, "C", key, ["n1"]), keys))


@state()
def partitions_by_a_mapping_of_the_account(land: Landscape) -> Setting:
    """https://natsbyexample.com/examples/jetstream/partitions/cli, whose servers have no limits."""
    mapping = (
        'mappings: { "events.*": "events.{{wildcard(1)}}.{{partition(3,1)}}", "events.canary.*.*":'
        ' [{ destination: "events.new.$1.$2", weight: 10% }], "api.>": "v2.api.>" }'
    )
    accounts = ACCOUNTS.replace("jetstream: enabled }", f"jetstream: enabled, {mapping} }}")
    keys = ["n1", "n2", "n3"]
    formed(
        land,
        lambda key: (
            server(key, storage=False, accounts=accounts)
            + "jetstream { store_dir: store }\n"
            + routed(land, "C", key, keys)
        ),
        keys,
    )
    return usual(land, keys, (*COMMON, "EVENTS"))


@state()
def store_without_limits_on_a_single_server(land: Landscape) -> Setting:
    """https://github.com/argoproj/argo-events and numaflow: `-1` for what the server may use."""
    land.start("n1", server("n1", storage=False) + jetstream(limits="max_memory_store: -1, max_file_store: -1"))
    return usual(land, ["n1"])


@state()
def messages_of_eight_megabytes(land: Landscape) -> Setting:
    """With pings every twenty seconds and a deadline for writes of five."""
    limits = "max_payload: 8MB\nping_interval: 20s\nping_max: 3\nwrite_deadline: 5s\nmax_connections: 200\n"
    return usual(land, cluster(land, limits), (*COMMON, "LARGE", "OBJ_files"))


@state(since=(2, 11))
def replication_in_the_account(land: Landscape) -> Setting:
    """`cluster_traffic: owner`: the traffic of replicas goes over the account of the stream."""
    accounts = ACCOUNTS.replace("jetstream: enabled }", "jetstream: { cluster_traffic: owner } }")
    return usual(land, cluster(land, accounts=accounts))


@state()
def store_of_one_kubernetes(land: Landscape) -> Setting:
    """https://github.com/nats-io/k8s/tree/main/kine-nats: one account with a bucket that watchers follow."""
    accounts = "accounts {\n  test: { jetstream: enabled, users: [{ user: test, password: test }] }\n}\n"
    limits = "max_mem: 1Gi, max_file: 10Gi"
    land.start("n1", server("n1", storage=False, accounts=accounts) + jetstream(limits=limits))
    url = land.url(user="test")
    return Setting([Applications(url, habits=("KV_plain", "KV_history"))], [connects(url), monitors(land, "n1")])


@state()
def clients_without_a_login(land: Landscape) -> Setting:
    """`no_auth_user`: who shows no login belongs to the account of the applications."""
    single(land, "no_auth_user: app\n")
    url = land.node("n1").url
    logins = [connects(url), connects(land.url(user="sys")), monitors(land, "n1")]
    return Setting([Applications(url)], logins)


@state()
def account_within_its_limits(land: Landscape) -> Setting:
    """Streams reserve two thirds of what the account may store, and it has six of ten streams."""
    limits = "jetstream: { max_file: 576MB, max_mem: 16MB, max_streams: 10, max_consumers: 20 }"
    return usual(land, cluster(land, accounts=ACCOUNTS.replace("jetstream: enabled", limits)))


def _opened(land: Landscape, times: int) -> None:
    for _ in range(times):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", land.node("n1").ports.client), timeout=5).close()


@state()
def load_balancer_that_opens_connections(land: Landscape) -> Setting:
    """https://github.com/nats-io/nats-server/issues/1903: a check of the port of clients that says nothing."""
    single(land)
    _opened(land, 30)
    return usual(land, ["n1"])


@state()
def load_balancer_in_front_of_tls(land: Landscape) -> Setting:
    """The same where clients must speak TLS: each check is a handshake that fails."""
    land.directory.mkdir(parents=True, exist_ok=True)
    pairs = Certificates(land.directory)
    certificate, key_file = pairs.valid_for(90)
    single(land, f'tls {{ cert_file: "{certificate}", key_file: "{key_file}", timeout: 2 }}\n')
    _opened(land, 30)
    return Setting([], [monitors(land, "n1")])


@state()
def names_of_servers_with_a_suffix(land: Landscape) -> Setting:
    """https://github.com/nats-io/k8s/tree/main/helm/charts/nats: `config.serverNamePrefix`."""
    key = "eu-west-1-nats-0"
    land.start(key, server(key, tags='"region:eu-west-1", "az:a"'))
    return usual(land, [key])


ONE_WAY_S = 0.04
"""As between two coasts: 80 ms there and back."""


@state()
def cluster_over_three_regions(land: Landscape) -> Setting:
    """https://synadia.com/blog/multi-cluster-consistency-models: a cluster that is stretched."""
    for key in THREE:
        path = Relay(land.port(f"far/{key}"), land.port(f"C/{key}"), delay_s=ONE_WAY_S)
        land.closing(path.close)
    far = ", ".join(f'"nats://127.0.0.1:{land.port(f"far/{key}")}"' for key in THREE)
    for key in THREE:
        listen, advertise = f"127.0.0.1:{land.port(f'C/{key}')}", f"127.0.0.1:{land.port(f'far/{key}')}"
        block = f'cluster {{ name: C, listen: "{listen}", advertise: "{advertise}", routes: [{far}] }}\n'
        land.start(key, server(key, tags=f'"region:{key}"') + block)
    land.wait_meta(*THREE)
    return usual(land, THREE)


@state()
def tls_before_the_first_byte(land: Landscape) -> Setting:
    """https://docs.nats.io/reference/config/tls/handshake_first"""
    land.directory.mkdir(parents=True, exist_ok=True)
    pki = Certificates(land.directory)
    certificate, key_file = pki.valid_for(90)
    files = f'cert_file: "{certificate}", key_file: "{key_file}", ca_file: "{pki.ca}"'
    single(land, f"tls {{ {files}, handshake_first: true }}\n")
    trusted = {"tls": ssl.create_default_context(cafile=str(pki.ca)), "tls_handshake_first": True}
    working = Applications(land.url().replace("nats://", "tls://"), login=trusted)
    logins = [connects(land.url(user=user), tlsca=str(pki.ca), tlsfirst=True) for user in ("sys", "app")]
    return Setting([working], [*logins, monitors(land, "n1")])


@state()
def monitoring_below_a_path(land: Landscape) -> Setting:
    """https://github.com/nats-io/nats-server/pull/1392: behind a proxy that serves several programs."""
    single(land, 'http_base_path: "/nats"\n')
    patient = ConnectionOptions(no_context=True, timeout=PATIENCE_S)
    below = {"deployment": patient, "monitor": [land.node("n1").monitor_url + "/nats"]}
    logins = [connects(land.url(user=user)) for user in ("sys", "app")]
    return Setting([Applications(land.url())], [*logins, below])


@state()
def store_with_a_new_key(land: Landscape) -> Setting:
    """https://docs.nats.io/jetstream/encryption_at_rest: the key before is given as well, for a restart."""
    keys = ["key: one", "key: two, prev_key: one", "key: two"]
    for number, key in enumerate(keys):
        if number:
            land.node("n1").stop()
        land.start("n1", server("n1").replace("store_dir: store", f"store_dir: store, cipher: aes, {key}"))
        if not number:
            stored(land.url(), "ORDERS", 50)
    return usual(land, ["n1"])


STREAMS_OF_COMMON = len(COMMON) + 2
"""The habit of a mirror and a source has three."""


@state()
def account_whose_streams_reserve_all_that_it_has(land: Landscape) -> Setting:
    """https://docs.nats.io/nats-concepts/jetstream/streams#configuration: `max_bytes` of all, and not a byte more."""
    limits = f"jetstream: {{ max_mem: 1M, max_file: {STREAMS_OF_COMMON * BOUNDED['max_bytes']} }}"
    single(land, accounts=ACCOUNTS.replace("jetstream: enabled", limits))
    return usual(land, ["n1"])


@state()
def front_ends_without_jetstream(land: Landscape) -> Setting:
    """https://docs.nats.io/running-a-nats-service/configuration/clustering/jetstream_clustering: mixed servers."""
    stores, fronts = ["n1", "n2", "n3"], ["f1", "f2"]
    for key in (*stores, *fronts):
        land.start(key, server(key, storage=key in stores) + routed(land, "C", key, [*stores, *fronts]))
    land.wait_meta(*stores)
    setting = usual(land, fronts, replicas=3)
    setting.logins[-1] = monitors(land, *stores, *fronts)
    return setting
