"""Real nats-servers for the tests: how to get one, and what is in it.

Nothing here imitates a server. Every test that needs one starts the real thing on free ports of 127.0.0.1,
in pytest's temporary directory, and the fixtures stop it again whatever happens.

Fixtures (tests/conftest.py), all of them available without an import::

    cluster_factory(version=DEFAULT_VERSION, nodes=1, **options) -> Cluster
        A fresh deployment for this test alone: break it as you like. Function scope.
    shared_cluster(version=DEFAULT_VERSION, nodes=1, **options) -> Cluster
        Module scope: the same arguments give the same running deployment again. For tests that only read, or
        that use streams with names of their own. Never kill a node of it and never leave it unhealthy.
    server_version: str
        Parametrised: the test runs once for every version in VERSIONS.
    nats_cli: Path
        The real `nats` command, v0.5.1. Skips the test with a reason where Go is missing; fails it when CI is set.
    shift_clock(pid, seconds) -> None
        Sets the clock of a process wrong. Module scope.

Options of both factories (they are those of `Cluster.launch`)::

    extra_config: str = ""              appended to every node's configuration file (top level)
    jetstream: str                      inside the `jetstream {}` block, in place of the limits 256M / 2G
    app_account: str = ""               inside account APP, e.g. 'jetstream: {max_streams: 3}' or exports
    accounts: str = ""                  more accounts, inside the `accounts {}` block
    node_config: Callable[[str], str]   called with the node's name ("n1"), its answer is appended to that node's file

What is in every deployment: account SYS (user sys/sys, the system account), account APP (user app/app, JetStream
on), HTTP monitoring, a store directory for each node. `nodes=1` is a single server outside any cluster; `nodes=3`
is a JetStream cluster of n1, n2, n3, handed out when there is a meta leader and all peers are current::

    cluster.name                        cluster name, None for a single server
    cluster.names                       ["n1", "n2", "n3"]
    cluster.urls                        ["nats://127.0.0.1:21001", ...] without credentials
    cluster.servers("app")              the same with user app/app in them: what nats.connect(servers=...) takes
    cluster.url("sys")                  one string, comma-separated: what `jsdoctor check --server` and `nats -s` take
    cluster.monitor_urls                ["http://127.0.0.1:21002", ...]
    cluster.monitor("n1", "/jsz?streams=true")   GET on one node's monitoring port, decoded JSON
    cluster.meta_leader()               name of the meta leader, or None
    cluster.node("n1")                  its jsdoctor.demo.server.NatsServer: .pid .log_path .url .monitor_url .running
    cluster.store_dir("n1")             its JetStream store directory
    cluster.kill("n1")                  SIGKILL; cluster.stop("n1") is a clean shutdown
    cluster.pause("n1"), .resume("n1")  SIGSTOP and SIGCONT: connected, but nothing answers
    cluster.start("n1", wait=True)      the same store and ports again; wait=False returns as soon as its ports are open
    cluster.wait_ready()                until the running nodes agree on a meta leader and are healthy

A test in full::

    @pytest.mark.real
    def test_leader_loss_is_reported(cluster_factory: ClusterFactory, server_version: str) -> None:
        cluster = cluster_factory(server_version, nodes=3)
        cluster.kill("n2")
        report = run_check("--server", cluster.url("sys"))

Waiting for a state of the server: `wait_until(predicate, "what is awaited", timeout=10)`, which polls and fails with
that text; never `time.sleep` for a guess. Without fixtures: `server_binary(version)` gives the path of a server
binary, `Cluster.launch(directory, version, nodes, ...)` is a context manager. `landscape.py` forms any other topology
of servers with configurations of their own, and `deployments.py` has the usual ones: gateways, hubs, sites.
"""

from tests.servers.binaries import DEFAULT_VERSION, ROOT, VERSIONS, server_binary
from tests.servers.cluster import Cluster, ClusterFactory, cluster_factories
from tests.servers.waiting import wait_until

__all__ = [
    "DEFAULT_VERSION",
    "ROOT",
    "VERSIONS",
    "Cluster",
    "ClusterFactory",
    "cluster_factories",
    "server_binary",
    "wait_until",
]
