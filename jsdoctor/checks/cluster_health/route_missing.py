"""JSD718: two running servers of one cluster have no route to each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from jsdoctor.checks.cluster_health.links import (
    LinksOverTime,
    Members,
    any_young,
    before_fall,
    by_server,
    cluster_of,
    clusters,
    links_over_time,
    routes_missing,
)
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, failed, passed, unknown
from jsdoctor.model.links import Links
from jsdoctor.model.params import Params
from jsdoctor.model.partial import shown_or
from jsdoctor.model.server import Server, Servers
from jsdoctor.model.server_past import ServerPast

_EFFECT = (
    "They do not reach each other, not even through a third server: clients of one get nothing that is published at the"
    " other, and groups with members on both lose or change their leaders"
)


@check("cluster_health.route_missing")
def route_missing(servers: Servers, links: Links, params: Params) -> Iterator[Finding]:
    """Routes form a full mesh. If no server has a route to a server, JSD703 reports it as down."""
    server_links = by_server(links)
    for group in clusters(servers):
        members = [server_links[server.name] for server in group.servers if server.name in server_links]
        known = [member for member in members if member.routes is not None]
        if not known or (len(group.servers) == 1 and not known[0].routes):
            continue  # a single server, or routes were not requested
        pairs = list(routes_missing(group, links))
        if not pairs:
            yield passed(group.subject)
        elif any_young(group.servers, params.integer("start_up")):
            yield unknown(group.subject, "a server has just started and may still connect", "run again in a minute")
        else:
            between = "; ".join(f"{item} and {other}" for item, other in pairs)
            yield failed(
                group.subject,
                f"running servers have no route to each other: {between}. {_EFFECT}",
                *(links.observed("routes", list(links.routes or ())) for links in known),
                measured=(len(pairs), 0, "count"),
            )


@check("cluster_health.route_missing_history")
def route_missing_history(past: ServerPast) -> Iterator[Finding]:
    """Servers with fewer route connections than before, though other servers of the cluster have as many as before.

    When a server ends, all others lose a route to it. So where all have fewer, one without metrics may have ended.
    """
    known = {link.server.name: link for link in links_over_time(past)}
    ran = {server.name: cluster_of(server) for sample in past.earlier for server in sample.servers}
    for group in clusters(Servers(past.samples[-1].servers)):
        names = [server.name for server in group.servers]
        gone = [name for name, cluster in ran.items() if cluster == group.name and name not in names]
        now = {name: count for name in names if name in known and (count := _present_count(known[name])) is not None}
        if gone:
            reason = f"{', '.join(gone)} was there before and is not seen now: it may run without routes"
            yield unknown(group.subject, reason, "query its monitoring port: --monitor http://HOST:8222")
            continue
        if len(now) < len(names) or len(names) < 2:
            continue
        had = {name: min(before) for name in names if (before := _counts_before(known[name], now[name]))}
        if not had:
            yield _judge_steady(group, now, named=any(known[name].present[-1].routes for name in names))
        elif len(had) == len(names) and not _is_apart(group, now, had):
            reason = "all its servers have fewer routes than before, as if one had gone of which there are no metrics"
            yield unknown(group.subject, reason, "scrape every server of the cluster, or look with a login")
        else:
            counts = ", ".join(f"{name} ({now[name]:,} of {had[name]:,})" for name in had)
            yield failed(
                group.subject,
                f"running servers have fewer route connections than before: {counts}. {_EFFECT}",
                *(known[name].present[-1].observed("num_routes", now[name]) for name in had),
                measured=(len(had), 0, "count"),
            )


def _judge_steady(group: Members, now: Mapping[str, int], *, named: bool) -> Finding:
    """Judge counts that did not fall. They prove a full mesh only if all are equal: a route may have been lost before.

    `named`: the samples name the routes, so `route_missing` judges the mesh.
    """
    if named or (all(now.values()) and len(set(now.values())) == 1):
        return passed(group.subject)
    counts = ", ".join(f"{name} {count:,}" for name, count in now.items())
    reason = f"its numbers of route connections ({counts}) do not show a full mesh, and no earlier sample has more"
    return unknown(group.subject, reason, "look further back (--prometheus-since 1h) or with a login")


def _is_apart(group: Members, now: Mapping[str, int], had: Mapping[str, int]) -> bool:
    """Whether some server is cut off, where all have fewer routes: one that ended would take as many from each.

    It has no route, or the losses differ and the meta group has no further member. A server that is cut off counts
    the connections that it keeps trying to make.
    """
    fallen = {had[name] - now[name] for name in now}
    size = max(shown_or(partial(_meta_size, server), 0) for server in group.servers)
    return not all(now.values()) or (len(fallen) > 1 and size == len(now))


def _meta_size(server: Server) -> int:
    return server.meta.cluster_size if server.meta else 0


def _present_count(links_over_time: LinksOverTime) -> int | None:
    """The most route connections in the present samples; None where one of them does not show any number."""
    counts = [links.route_count for links in links_over_time.present]
    return max(count or 0 for count in counts) if None not in counts else None


def _counts_before(links_over_time: LinksOverTime, now: int) -> list[int]:
    return before_fall([links.route_count for links in links_over_time.earlier if links.route_count is not None], now)
