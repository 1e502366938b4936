"""JSD724: a server of the cluster with another system account, seen from the side of those that respond."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

from jsdoctor.checks.cluster_health.links import Members, by_server, clusters
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, failed, passed
from jsdoctor.model.links import Links, ServerLinks
from jsdoctor.model.params import Params
from jsdoctor.model.server import Server, Servers

_DEFAULT = "$SYS"
_MIN_POOL = 2
"""Connections without an account that prove a pool of routes; with a pool the system account has its own route."""


@check("cluster_health.system_account_apart")
def system_account_apart(servers: Servers, links: Links, params: Params) -> Iterator[Finding]:
    """Each pair of servers with one system account has a route of its own for it (server: opts.go PinnedAccounts)."""
    if not servers.complete:
        return  # only the system account knows that a server did not respond to it
    server_links = by_server(links)
    responded = {server.name for server in servers.servers}
    for group in clusters(servers):
        apart: Counter[str] = Counter()
        seen: list[tuple[Server, ServerLinks]] = []
        for server in group.servers:
            if server.name in server_links and server_links[server.name].routes is not None and server.varz is not None:
                seen.append((server, server_links[server.name]))
                apart.update(_apart(server, server_links[server.name], params.integer("start_up")))
        # All that have a connection to it must lack the route: one of them may just have been closed.
        for name in sorted(apart.keys() - responded):
            if apart[name] == sum(name in (links.routes or ()) for _, links in seen):
                yield _finding(group, name, seen)
        if seen and not apart.keys() - responded:
            yield passed(group.subject)


def _apart(server: Server, links: ServerLinks, start_ns: int) -> Iterator[str]:
    """Servers with pooled connections, none of them for the system account and none younger than `start_up`."""
    account = server.varz.system_account if server.varz else ""
    pinned = {route.name for route in links.route_connections if route.account == (account or _DEFAULT)}
    within = timedelta(microseconds=start_ns / 1000)
    for name in links.routes or ():
        starts = [route.start for route in links.route_connections if route.name == name and not route.account]
        old = all(start is not None and links.at - start >= within for start in starts)
        if name not in pinned and old and (len(starts) >= _MIN_POOL or pinned):
            yield name


def _finding(group: Members, name: str, seen: list[tuple[Server, ServerLinks]]) -> Finding:
    near = [(server, links) for server, links in seen if name in (links.routes or ())]
    accounts = ", ".join(sorted({(server.varz.system_account or _DEFAULT) for server, _ in near if server.varz}))
    return failed(
        group.subject,
        f"{name} has routes to {', '.join(sorted(server.name for server, _ in near))} and none for their system"
        f" account {accounts}, and does not respond to it: its system account is another one. It takes no part in"
        " their Raft groups, and its own streams and consumers have no leader",
        *(
            links.observed("routes.account", sorted({route.account for route in links.route_connections} - {""}))
            for _, links in near
        ),
        measured=(1, 0, "count"),
    )
