"""JSD718: two running servers of one cluster have no route to each other."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.cluster_health.clusters import clusters
from jsdoctor.checks.cluster_health.links import all_young, by_server, routes_missing
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, passed, unknown
from jsdoctor.model.links import Links
from jsdoctor.model.params import Params
from jsdoctor.model.server import Servers


@check("cluster_health.route_missing")
def route_missing(servers: Servers, links: Links, params: Params) -> Iterator[Finding]:
    """Routes form a full mesh. If no server has a route to a server, JSD703 reports it as down."""
    told = by_server(links)
    for group in clusters(servers):
        members = [told[server.name] for server in group.servers if server.name in told]
        known = [one for one in members if one.routes is not None]
        if not known or (len(group.servers) < 2 and not any(one.routes for one in known)):
            continue  # a single server, or routes were not requested
        pairs = list(routes_missing(group, links))
        if not pairs:
            yield passed(group.subject)
        elif all_young(group.servers, params.integer("start_up")):
            yield unknown(group.subject, "a server has just started and may still connect", "run again in a minute")
        else:
            between = "; ".join(f"{one} and {other}" for one, other in pairs)
            yield Finding(
                subject=group.subject,
                message=f"running servers have no route to each other: {between}. They do not reach each other, not"
                " even through a third server: clients of one get nothing that is published at the other, and groups"
                " with members on both lose or change their leaders",
                measured=len(pairs),
                threshold=0,
                unit="count",
                evidence=tuple(one.observed("routes", sorted(one.routes or ())) for one in known),
            )
