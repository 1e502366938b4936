"""Healthy deployments that look like faults: limits that are used in full, links for a part, front ends."""

from __future__ import annotations

from tests.topologies.deployments import single
from tests.topologies.habits import BOUNDED
from tests.topologies.landscape import ACCOUNTS, Landscape, leaf_listener, leaf_remotes, routed, server
from tests.topologies.states import COMMON, Applications, Setting, States, connects, monitors, usual

COMMONEST_STATES = States()
state = COMMONEST_STATES.state
STREAMS_OF_COMMON = len(COMMON) + 2
"""The habit of a mirror and a source has three."""


@state()
def account_whose_streams_reserve_all_that_it_has(land: Landscape) -> Setting:
    """https://docs.nats.io/nats-concepts/jetstream/streams#configuration: `max_bytes` of all, and not a byte more."""
    limits = f"jetstream: {{ max_mem: 1M, max_file: {STREAMS_OF_COMMON * BOUNDED['max_bytes']} }}"
    single(land, accounts=ACCOUNTS.replace("jetstream: enabled", limits))
    return usual(land, ["n1"])


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
