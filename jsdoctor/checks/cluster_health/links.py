"""Clusters of servers and their links (gateways, routes, leaf nodes): which are missing, and which existed earlier."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import combinations

import msgspec

from jsdoctor.checks.servers.health import started_at, uptime_ns
from jsdoctor.model.finding import CLUSTER, Subject
from jsdoctor.model.links import Links, ServerLinks
from jsdoctor.model.partial import shown_or
from jsdoctor.model.server import Server, Servers
from jsdoctor.model.server_past import PastSample, ServerPast


class Members(msgspec.Struct, frozen=True):
    """The servers of one cluster that responded, by name. `subject` has the cluster's name if there are several."""

    name: str
    subject: Subject
    servers: tuple[Server, ...]


def clusters(servers: Servers) -> Iterator[Members]:
    """Every named cluster. Servers outside of any cluster, such as single ones and leaf nodes, are in none of them."""
    servers_by_cluster: dict[str, list[Server]] = defaultdict(list)
    for server in servers.servers:
        if name := cluster_of(server):
            servers_by_cluster[name].append(server)
    for name in sorted(servers_by_cluster):
        subject = CLUSTER if len(servers_by_cluster) == 1 else Subject(kind="cluster", name=name)
        yield Members(name, subject, tuple(servers_by_cluster[name]))


def cluster_of(server: Server) -> str:
    """The name of a server's cluster; empty outside of any."""
    return server.cluster or (server.varz.cluster.name if server.varz and server.varz.cluster else "")


def in_roll_out(servers: Sequence[Server], within_ns: int, apart_ns: int) -> bool:
    """Whether a rollout is in progress: some servers were started or reloaded within `within_ns`, others were not.

    If all are younger, the oldest must be at least `apart_ns` older than the youngest: servers that start together are
    no rollout.
    """
    ages = [age for server in servers if (age := _since_change_ns(server)) is not None]
    return (
        0 < len(ages) == len(servers)
        and min(ages) < within_ns
        and (max(ages) >= within_ns or max(ages) - min(ages) >= apart_ns)
    )


def _since_change_ns(server: Server) -> int | None:
    """Time since a server was started or took a new configuration, by its own clock, in ns; None if unknown."""
    varz = server.varz
    if varz is None or varz.start is None:
        return None
    since = max(varz.start, varz.config_load_time or varz.start)
    return int(((varz.now or server.at) - since).total_seconds() * 1e9)


def value_list(values: dict[str, list[str]]) -> str:
    """Such as `n1, n2: 1,048,576; n3: 8,388,608`, from the servers of each value."""
    ordered = sorted(values.items(), key=lambda item: (-len(item[1]), item[0]))
    return "; ".join(f"{', '.join(sorted(names))}: {value or 'none'}" for value, names in ordered)


class Down(msgspec.Struct, frozen=True):
    """A configured gateway to `remote` that no server is connected through; the links of those that reported any."""

    remote: str
    reporting: tuple[ServerLinks, ...]


def by_server(links: Links | None) -> dict[str, ServerLinks]:
    """The links of each server by its name."""
    return {server.server: server for server in links.servers} if links else {}


def gateways_down(group: Members, links: Links | None) -> tuple[Down, ...]:
    """Remote clusters of which no server of this cluster has an outbound gateway connection."""
    server_links = by_server(links)
    peers = tuple(
        server_links[s.name]
        for s in group.servers
        if s.name in server_links and server_links[s.name].gateways is not None
    )
    wanted = {remote for server in group.servers for remote in configured_gateways(server)} - {group.name}
    return tuple(
        Down(remote, peers)
        for remote in sorted(wanted)
        if peers and not any(g.cluster == remote and g.outbound for links in peers for g in links.gateways or ())
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
    running = {server.name for server in group.servers} | {name for peers in routes.values() for name in peers}
    for first, second in combinations(sorted(running), 2):
        reported = [far in routes[near] for near, far in ((first, second), (second, first)) if routes.get(near)]
        without_routes = [near for near in (first, second) if near in routes and not routes[near]]
        if (reported and not all(reported)) or (without_routes and not any(reported)):
            yield first, second


def any_young(servers: Sequence[Server], start_ns: int) -> bool:
    """Whether a server started less than `start_ns` ago: its connections may not be made yet."""
    return any((up := uptime_ns(server)) is not None and up < start_ns for server in servers)


class LinksOverTime(msgspec.Struct, frozen=True):
    """The links of a server since it took its present configuration, oldest first. `present`: the last two samples."""

    server: Server
    earlier: tuple[ServerLinks, ...]
    present: tuple[ServerLinks, ServerLinks]


def links_over_time(past: ServerPast) -> Iterator[LinksOverTime]:
    """Each server that runs now and reported links earlier. One that reports none now has empty links in `present`."""
    for server in past.samples[-1].servers:
        since = _configured_at(server)
        before, now = (_links_of(server, sample) for sample in past.present)
        earlier = tuple(
            links
            for sample in past.earlier
            if (links := _links_of(server, sample)) and _is_same(since, _configured_then(server.name, sample))
        )
        if earlier:
            yield LinksOverTime(server, earlier, (before or _no_links(server), now or _no_links(server)))


def before_fall(counts: Sequence[int], now: int) -> list[int]:
    """The counts before they fell to `now`; empty where they did not, or had been as low before.

    A single sample with more may be the moment of a change, so at least two are needed.
    """
    before = list(counts)
    while before and before[-1] <= now:
        before.pop()
    return before if len(before) > 1 and min(before) > now else []


def _configured_at(server: Server) -> datetime | None:
    """When a server took its configuration: at its start, or at its last reload. None: not shown."""
    return shown_or(lambda: server.varz.config_load_time if server.varz else None, None) or started_at(server)


def _is_same(time: datetime | None, other: datetime | None) -> bool:
    """Whether two times are known and equal to the second: exporters cut off fractions."""
    return time is not None and other is not None and abs((time - other).total_seconds()) < 1


def _configured_then(name: str, sample: PastSample) -> datetime | None:
    return next((_configured_at(server) for server in sample.servers if server.name == name), None)


def _links_of(server: Server, sample: PastSample) -> ServerLinks | None:
    return next((links for links in sample.links if links.server == server.name), None)


def _no_links(server: Server) -> ServerLinks:
    return ServerLinks(server=server.name, cluster=server.cluster, at=server.at)
