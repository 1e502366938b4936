"""JSD717: no server of a cluster is connected to another cluster that their configuration names as a gateway."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.cluster_health.clusters import Members, clusters
from jsdoctor.checks.cluster_health.links import Down, all_young, by_server, configured_gateways, gateways_down
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, passed, unknown
from jsdoctor.model.links import Links
from jsdoctor.model.params import Params
from jsdoctor.model.server import Servers


@check("cluster_health.gateway_down")
def gateway_down(servers: Servers, links: Links, params: Params) -> Iterator[Finding]:
    """A gateway that only some servers are connected through is JSD710's: clients of the others are cut off."""
    told = by_server(links)
    for group in clusters(servers):
        wanted = {remote for server in group.servers for remote in configured_gateways(server)} - {group.name}
        if not wanted:
            continue
        if not any(server.name in told and told[server.name].gateways is not None for server in group.servers):
            yield unknown(group.subject, "the gateways of its servers were not read", "see the gaps of this run")
        elif not (down := gateways_down(group, links)):
            yield passed(group.subject)
        elif all_young(group.servers, params.integer("start_up")):
            yield unknown(group.subject, "a server has just started and may still connect", "run again in a minute")
        else:
            yield _finding(group, down)


def _finding(group: Members, down: tuple[Down, ...]) -> Finding:
    names = ", ".join(one.remote for one in down)
    return Finding(
        subject=group.subject,
        message=f"no server of {group.name} has a gateway connection to {names}: messages between the clusters are not"
        " delivered, JetStream requests that need the other side fail, and its servers count as dead in the meta group",
        measured=len(down),
        threshold=0,
        unit="count",
        evidence=tuple(told.observed(f"outbound_gateways.{one.remote}", None) for one in down for told in one.told),
    )
