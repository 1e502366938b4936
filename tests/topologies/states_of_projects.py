"""Healthy servers as published charts, examples and projects configure them."""

from __future__ import annotations

from tests.topologies.deployments import cluster, single
from tests.topologies.landscape import ACCOUNTS, Landscape, jetstream, leaf_listener, leaf_remotes, routed, server
from tests.topologies.states import COMMON, Applications, Setting, States, connects, monitors, usual

PROJECT_STATES = States()
state = PROJECT_STATES.state
LAST_STATES = States()
"""Written down with the others, and first looked at when the rules passed those."""
last = LAST_STATES.state
PODS = ["nats-0", "nats-1", "nats-2"]
SHUTDOWN = "lame_duck_grace_period: 10s\nlame_duck_duration: 30s\n"


def started(land: Landscape, keys: list[str], limits: str, extra: str = "", accounts: str = ACCOUNTS) -> list[str]:
    """A cluster whose servers have those limits of JetStream."""
    for key in keys:
        own = server(key, storage=False, accounts=accounts) + jetstream(limits=limits)
        land.start(key, own + routed(land, "C", key, keys) + extra)
    land.wait_meta(*keys)
    return keys


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
def chart_with_a_system_account(land: Landscape) -> Setting:
    """The same with accounts, as its README shows them."""
    keys = started(land, PODS, "max_memory_store: 0, max_file_store: 10Gi", SHUTDOWN)
    return usual(land, keys)


@state()
def cluster_that_finds_itself_through_one_seed(land: Landscape) -> Setting:
    """Every server has a route to the first one only, also that one, and gossip does the rest."""
    keys = ["n1", "n2", "n3"]
    for key in keys:
        land.start(key, server(key) + routed(land, "C", key, ["n1"]))
    land.wait_meta(*keys)
    return usual(land, keys)


@state()
def partitions_by_a_mapping_of_the_account(land: Landscape) -> Setting:
    """https://natsbyexample.com/examples/jetstream/partitions/cli, whose servers have no limits."""
    mapping = 'mappings: { "events.*": "events.{{wildcard(1)}}.{{partition(3,1)}}" }'
    accounts = ACCOUNTS.replace("jetstream: enabled }", f"jetstream: enabled, {mapping} }}")
    keys = ["n1", "n2", "n3"]
    for key in keys:
        own = server(key, storage=False, accounts=accounts) + "jetstream { store_dir: store }\n"
        land.start(key, own + routed(land, "C", key, keys))
    land.wait_meta(*keys)
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


@last()
def site_below_a_hub_without_jetstream(land: Landscape) -> Setting:
    """https://natsbyexample.com/examples/topologies/simple-leafnode/cli, whose leaf node stores messages.

    Declared first: with a link of the system accounts, too. Such a hub refuses what JetStream subscribes to on it, and
    the link comes and goes once a second: JSD719 was right.
    """
    plain = ACCOUNTS.replace(", jetstream: enabled", "")
    land.start("h1", server("h1", storage=False, accounts=plain) + leaf_listener(land, "h1"))
    land.start("site", server("site") + leaf_remotes(land, ["h1"], ("app",)))
    land.wait_leafs("site", 1)
    logins = [connects(land.url(key, user="sys")) for key in ("site", "h1")]
    return Setting(
        [Applications(land.url("site"))], [*logins, connects(land.url("site")), monitors(land, "site", "h1")]
    )


@last()
def clients_without_a_login(land: Landscape) -> Setting:
    """`no_auth_user`: who shows no login belongs to the account of the applications."""
    single(land, "no_auth_user: app\n")
    url = land.node("n1").url
    logins = [connects(url), connects(land.url(user="sys")), monitors(land, "n1")]
    return Setting([Applications(url)], logins)


@last()
def account_within_its_limits(land: Landscape) -> Setting:
    """Streams reserve two thirds of what the account may store, and it has six of ten streams."""
    limits = "jetstream: { max_file: 576MB, max_mem: 16MB, max_streams: 10, max_consumers: 20 }"
    return usual(land, cluster(land, accounts=ACCOUNTS.replace("jetstream: enabled", limits)))


@last()
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
