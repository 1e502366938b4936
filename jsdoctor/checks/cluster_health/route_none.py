"""JSD726: a server without any route, though its configuration names other servers of its cluster."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from jsdoctor.checks.cluster_health.links import all_young, by_server
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, passed, unknown
from jsdoctor.model.links import Links, Route
from jsdoctor.model.params import Params
from jsdoctor.model.server import Servers

_OWN = 1
"""One of the addresses is mostly the server's own: a list that all servers share has it."""
_ATTEMPT = timedelta(seconds=5)
"""The side that connects lists a route before the other side has checked its login (server: route.go addRoute)."""
_TWICE = 2


@check("cluster_health.route_none")
def route_none(servers: Servers, links: Links, params: Params) -> Iterator[Finding]:
    """A server that its cluster refuses, or that refuses it, runs on alone, and its clients stay."""
    by_name = by_server(links)
    for server in servers.servers:
        options = server.varz.cluster if server.varz else None
        addresses = sorted(set(options.urls)) if options else []
        own = by_name.get(server.name)
        if options is None or not addresses:
            continue
        if own is None or own.route_count is None:
            yield unknown(server.subject, "its routes were not read", "see the gaps of this run")
            continue
        without = sum(1 for reading in links.readings_of(server.name) if reading.route_count == 0)
        attempts = bool(own.route_connections) and all(_is_attempt(route, own.at) for route in own.route_connections)
        if own.route_count and not (attempts and without):
            yield passed(server.subject)
        elif len(addresses) <= _OWN:
            reason = "it has no route, and the only address in its configuration may be its own"
            yield unknown(server.subject, reason, "compare `cluster.routes` with the server's own address")
        elif all_young([server], params.integer("start_up")):
            yield unknown(server.subject, "it has just started and may still connect", "run again in a minute")
        elif own.route_count and without < _TWICE:
            yield unknown(server.subject, "its only routes are a moment old, and it had none before", "run again")
        else:
            yield Finding(
                subject=server.subject,
                message=f"it has no route to any server, and its configuration names {len(addresses):,} addresses of"
                f" cluster {options.name}: it is alone. Its clients do not reach those of the other servers, and its"
                " JetStream has no leader or goes apart",
                measured=0,
                threshold=1,
                unit="count",
                evidence=(
                    own.observed("num_routes", own.route_count),
                    server.observed("cluster.urls", addresses),
                ),
            )


def _is_attempt(route: Route, at: datetime) -> bool:
    return route.start is not None and at - route.start < _ATTEMPT
