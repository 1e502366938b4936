"""Which configured or expected connections between servers are missing: gateways, routes, leaf nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import msgspec

from jsdoctor.checks.cluster_health.clusters import Members
from jsdoctor.checks.servers.health import uptime_ns
from jsdoctor.model.links import Links, ServerLinks
from jsdoctor.model.server import Server


class Down(msgspec.Struct, frozen=True):
    """A gateway to `remote` that servers have in their configuration and none of them is connected through."""

    remote: str
    told: tuple[ServerLinks, ...]


def by_server(links: Links | None) -> dict[str, ServerLinks]:
    """The links of each server by its name."""
    return {server.server: server for server in links.servers} if links else {}


def gateways_down(group: Members, links: Links | None) -> tuple[Down, ...]:
    """Remote clusters of which no server of this cluster has an outbound gateway connection."""
    server_links = by_server(links)
    known = tuple(
        server_links[s.name]
        for s in group.servers
        if s.name in server_links and server_links[s.name].gateways is not None
    )
    wanted = {remote for server in group.servers for remote in configured_gateways(server)} - {group.name}
    return tuple(
        Down(remote, known)
        for remote in sorted(wanted)
        if known and not any(g.cluster == remote and g.outbound for links in known for g in links.gateways or ())
    )


def configured_gateways(server: Server) -> frozenset[str]:
    """The clusters that a server's configuration names as gateways; its own may be among them."""
    gateway = server.varz.gateway if server.varz else None
    return frozenset(remote.name for remote in gateway.gateways) if gateway else frozenset()


def routes_missing(group: Members, links: Links | None) -> Iterator[tuple[str, str]]:
    """Pairs of servers of this cluster that have no route to each other, though both are known to run.

    A server runs if it responded, or if another has a route to it. Servers do not forward what arrives on a route, so
    two servers without a route to each other exchange nothing (server: route.go). Both ends report a route that is in
    use: a server that is cut off lists the connections that it keeps trying to make.
    """
    server_links = by_server(links)
    routes = {
        server.name: frozenset(server_links[server.name].routes or ())
        for server in group.servers
        if server.name in server_links and server_links[server.name].routes is not None
    }
    running = {server.name for server in group.servers} | {name for known in routes.values() for name in known}
    for first, second in combinations(sorted(running), 2):
        ends = [far in routes[near] for near, far in ((first, second), (second, first)) if routes.get(near)]
        nameless = [near for near in (first, second) if near in routes and not routes[near]]
        if (ends and not all(ends)) or (nameless and not any(ends)):
            yield first, second


def all_young(servers: Sequence[Server], start_ns: int) -> bool:
    """Whether some server has just started: its connections may be on their way."""
    return any((up := uptime_ns(server)) is not None and up < start_ns for server in servers)
