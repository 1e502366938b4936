"""JSD717: no server of a cluster is connected to another cluster that their configuration names as a gateway."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from jsdoctor.checks.cluster_health.links import (
    LinksOverTime,
    any_young,
    by_server,
    clusters,
    configured_gateways,
    gateways_down,
    links_over_time,
)
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, failed, passed, unknown
from jsdoctor.model.links import Gateway, Links, ServerLinks
from jsdoctor.model.params import Params
from jsdoctor.model.server import Servers
from jsdoctor.model.server_past import ServerPast

_EFFECT = (
    "messages between the clusters are not delivered, JetStream requests that need the other side fail, and its servers"
    " count as dead in the meta group"
)


@check("cluster_health.gateway_down")
def gateway_down(servers: Servers, links: Links, params: Params) -> Iterator[Finding]:
    """Gateways that no server of the cluster is connected through. JSD710 judges those that some servers are."""
    server_links = by_server(links)
    for group in clusters(servers):
        wanted = {remote for server in group.servers for remote in configured_gateways(server)} - {group.name}
        if not wanted:
            continue
        own = (server_links.get(server.name) for server in group.servers)
        if not any(member is not None and member.gateways is not None for member in own):
            yield unknown(group.subject, "the gateways of its servers were not read", "see the gaps of this run")
        elif not (down := gateways_down(group, links)):
            yield passed(group.subject)
        elif any_young(group.servers, params.integer("start_up")):
            yield unknown(group.subject, "a server has just started and may still connect", "run again in a minute")
        else:
            names = ", ".join(gateway.remote for gateway in down)
            yield failed(
                group.subject,
                f"no server of {group.name} has a gateway connection to {names}: {_EFFECT}",
                *(
                    links.observed(f"outbound_gateways.{gateway.remote}", None)
                    for gateway in down
                    for links in gateway.reporting
                ),
                measured=(len(down), 0, "count"),
            )


@check("cluster_health.gateway_down_history")
def gateway_down_history(past: ServerPast) -> Iterator[Finding]:
    """Gateways that were connected earlier. Metrics show connected gateways only, so not those that never were."""
    known = {link.server.name: link for link in links_over_time(past)}
    for group in clusters(Servers(past.samples[-1].servers)):
        members = [known[server.name] for server in group.servers if server.name in known]
        last_seen = _last_seen(members)
        connected = {g.cluster for member in members for links in member.present for g in _outbound(links)}
        if lost := {remote: at for remote, at in last_seen.items() if remote not in connected}:
            names = ", ".join(f"{remote} (last seen at {at:%Y-%m-%d %H:%M} UTC)" for remote, at in sorted(lost.items()))
            yield failed(
                group.subject,
                f"no server of {group.name} has a gateway connection to {names} any more: {_EFFECT}",
                *(
                    member.present[-1].observed(f"outbound_gateways.{remote}", None)
                    for remote in sorted(lost)
                    for member in members
                ),
                measured=(len(lost), 0, "count"),
            )
        elif last_seen:
            yield passed(group.subject)


def _outbound(links: ServerLinks) -> Iterator[Gateway]:
    return (gateway for gateway in links.gateways or () if gateway.outbound)


def _last_seen(members: list[LinksOverTime]) -> dict[str, datetime]:
    """When a server of the cluster last had each gateway that its configuration names."""
    times: dict[str, datetime] = {}
    for links in (links for member in members for links in member.earlier):
        for gateway in _outbound(links):
            if gateway.configured:
                times[gateway.cluster] = max(links.at, times.get(gateway.cluster, links.at))
    return times
