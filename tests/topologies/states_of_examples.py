"""Healthy servers of guides and charts after what happens to all of them: restarts, health checks, address changes."""

from __future__ import annotations

import contextlib
import socket
import time

from tests.collect.certificates import Certificates
from tests.topologies.deployments import HUB, cluster, hub, single, sites
from tests.topologies.landscape import Landscape, leaf_listener, leaf_remotes, server
from tests.topologies.states import Setting, States, at_the_hub, connects, monitors, usual

EXAMPLE_STATES = States()
state = EXAMPLE_STATES.state


@state()
def site_whose_hub_was_restarted(land: Landscape) -> Setting:
    """A single hub that was restarted once, as planned: the site connects again by itself."""
    land.start("h1", server("h1", domain="hub") + leaf_listener(land, "h1"))
    land.start("site1", server("site1", domain="site1") + leaf_remotes(land, ["h1"]))
    land.wait_leafs("site1", 2)
    time.sleep(62)
    land.node("h1").stop()
    land.again("h1")
    land.wait_leafs("site1", 2)
    setting = usual(land, ["h1"])
    setting.logins += [connects(land.url("site1", user=user)) for user in ("sys", "app")]
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
def cluster_that_was_restarted_server_by_server(land: Landscape) -> Setting:
    """The same without sites: routes are connected again once for each restart."""
    keys = cluster(land)
    for key in keys:
        land.node(key).stop()
        land.again(key)
        land.wait_meta(*keys)
    return usual(land, keys)


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


def _opened(land: Landscape, times: int) -> None:
    for _ in range(times):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", land.node("n1").ports.client), timeout=5).close()


@state()
def names_of_servers_with_a_suffix(land: Landscape) -> Setting:
    """https://github.com/nats-io/k8s/tree/main/helm/charts/nats: `config.serverNamePrefix`."""
    key = "eu-west-1-nats-0"
    land.start(key, server(key, tags='"region:eu-west-1", "az:a"'))
    return usual(land, [key])
