"""JSD726: a server without any route, though its configuration names other servers of its cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from jsdoctor.checks.cluster_health.links import Members, any_young, by_server, clusters
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity, failed, passed, suspected, unknown
from jsdoctor.model.links import Links, ServerLinks
from jsdoctor.model.params import Params
from jsdoctor.model.server import ListenerOptions, Server, Servers
from jsdoctor.model.wording import counted

_OWN_ADDRESSES = 1
"""Number of configured addresses that are the server's own, if all servers share one list."""
_DEFAULT_PORT = "6222"
_ATTEMPT_TIME = timedelta(seconds=5)
"""A younger route may be a mere attempt: it is listed before the other side checks its login (route.go addRoute)."""
_MIN_READINGS = 2
_MIN_ATTEMPTS = 3
"""Readings with attempts only, over more time than an attempt takes, that show that no route stays."""


@check("cluster_health.route_none")
def route_none(servers: Servers, links: Links, params: Params) -> Iterator[Finding]:
    """Judge servers without routes: one that its cluster refuses goes on alone, and its clients stay connected."""
    yield from _unreached(servers, links, params)
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
        readings = links.readings_of(server.name)
        without = sum(1 for reading in readings if reading.route_count == 0)
        # No attempt to connect can be in all of these.
        apart = len(readings) >= _MIN_ATTEMPTS and readings[-1].at - readings[0].at > _ATTEMPT_TIME
        lasting = any(reading.route_count and not _has_only_attempts(reading) for reading in readings)
        if own.route_count and not (_has_only_attempts(own) and (without or not lasting)):
            yield passed(server.subject)
        elif len(addresses) <= _OWN_ADDRESSES and not _is_of_another(addresses[0], options):
            reason = "it has no route, and the only address in its configuration may be its own"
            yield unknown(server.subject, reason, "compare `cluster.routes` with the server's own address")
        elif any_young([server], params.integer("start_up")):
            yield unknown(server.subject, "it has just started and may still connect", "run again in a minute")
        elif own.route_count and without < _MIN_READINGS and (lasting or not apart):
            reason = "its only routes are a moment old, and it had none before"
            yield suspected(server.subject, reason, "run again with --samples 5")
        else:
            yield _alone(server, options.name, addresses, own)


def _alone(server: Server, cluster: str, addresses: Sequence[str], own: ServerLinks) -> Finding:
    return failed(
        server.subject,
        f"it has no route to any server, and its configuration names {_addresses(len(addresses))} of"
        f" cluster {cluster}: the others are down, or cut off from it. Its clients do not reach theirs, and its"
        " JetStream has no leader, or one of its own",
        own.observed("num_routes", own.route_count),
        server.observed("cluster.urls", addresses),
        measured=(0, 1, "count"),
        advice="See whether the other servers run: start those that do not, else open the way to their cluster ports.",
    )


def _addresses(number: int) -> str:
    return "1 address" if number == 1 else f"{number:,} addresses"


def _unreached(servers: Servers, links: Links, params: Params) -> Iterator[Finding]:
    """A finding for each cluster in which a server has more configured addresses than routes: the first such server."""
    by_name = by_server(links)
    for group in clusters(servers):
        if any_young(group.servers, params.integer("start_up")):
            continue
        for server in group.servers:
            own, options = by_name.get(server.name), server.varz.cluster if server.varz else None
            if own is None or options is None or len(links.readings_of(server.name)) < _MIN_READINGS:
                continue
            if not own.routes or _has_only_attempts(own):
                continue
            certain = sum(_is_of_another(url, options) for url in set(options.urls))
            others = max(certain, len(set(options.urls)) - _OWN_ADDRESSES)
            reached = max(len(set(reading.routes or ())) for reading in links.readings_of(server.name))
            if others > reached:
                yield _unreached_finding(group, server, others, reached, own)
                break


def _unreached_finding(group: Members, server: Server, others: int, reached: int, own: ServerLinks) -> Finding:
    addresses = server.varz.cluster.urls if server.varz and server.varz.cluster else ()
    return failed(
        group.subject,
        f"the configuration of {server.name} names {_addresses(others)} of other servers of cluster"
        f" {group.name}, and it has routes to {counted(reached, 'server')}: the rest are down, refuse the route"
        " (another cluster name, user or password), do not exist, or are other names of these servers",
        own.observed("routes", list(own.routes or ())),
        server.observed("cluster.urls", sorted(addresses)),
        severity=Severity.INFO,
        measured=(reached, others, "count"),
    )


def _is_of_another(address: str, options: ListenerOptions) -> bool:
    """Whether an address cannot be the server's own: it has another port than its routes."""
    port = address.rpartition(":")[2] if ":" in address else _DEFAULT_PORT
    return options.cluster_port > 0 and port.isdigit() and int(port) != options.cluster_port


def _has_only_attempts(links: ServerLinks) -> bool:
    routes = links.route_connections
    return bool(routes) and all(r.start is not None and links.at - r.start < _ATTEMPT_TIME for r in routes)
