"""Healthy servers in places where few are: far apart, behind HTTP, with TLS before the first byte, with a new key."""

from __future__ import annotations

import ssl

from jsdoctor import ConnectionOptions
from tests.collect.certificates import Certificates
from tests.topologies.deployments import single
from tests.topologies.distance import LongPath
from tests.topologies.faults_of_deployments import stored
from tests.topologies.landscape import Landscape, leaf_listener, server
from tests.topologies.states import PATIENCE_S, Applications, Setting, States, connects, monitors, usual

UNUSUAL_STATES = States()
state = UNUSUAL_STATES.state
THREE = ["n1", "n2", "n3"]
ONE_WAY_S = 0.04
"""As between two coasts: 80 ms there and back."""


@state()
def cluster_over_three_regions(land: Landscape) -> Setting:
    """https://synadia.com/blog/multi-cluster-consistency-models: a cluster that is stretched."""
    for key in THREE:
        path = LongPath(land.port(f"far/{key}"), land.port(f"C/{key}"), ONE_WAY_S)
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
