"""JSD711: names with white space in them, which the text protocol between servers takes for the end of a name.

From manifests: names with white space in the configuration of servers.
"""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.cluster_health.links import cluster_of
from jsdoctor.checks.declared.doubts import unclear
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, Subject, failed, passed, unknown
from jsdoctor.model.links import Links, ServerLinks
from jsdoctor.model.manifest import Manifests
from jsdoctor.model.server import Server, Servers


@check("cluster_health.name_has_whitespace")
def name_has_whitespace(servers: Servers | None, links: Links | None) -> Iterator[Finding]:
    """From 2.11 on a server with a space in its names does not start; tabs pass all versions (server: opts.go)."""
    yield from _clusters(servers.servers if servers else ())
    for server in servers.servers if servers else ():
        domain = server.jetstream.config.domain if server.jetstream and server.jetstream.config else ""
        bad = {kind: name for kind, name in (("name", server.name), ("JetStream domain", domain)) if _is_bad(name)}
        if bad:
            words = " and ".join(f"its {kind} {name!r}" for kind, name in bad.items())
            yield failed(
                server.subject,
                f"{words} {'contains' if len(bad) == 1 else 'contain'} white space: tools that split lines at it take"
                " it for two names, and from 2.11 on a server with a space in its name does not start, so an upgrade"
                " fails",
                *(server.observed(kind, name) for kind, name in bad.items()),
            )
        elif server.varz is None or server.jetstream is None:
            where = "its gateway" if server.varz is None else "its JetStream domain"
            yield unknown(server.subject, f"the name of {where} was not read", "see the gaps of this run")
        else:
            yield passed(server.subject)
    known = {server.name for server in (servers.servers if servers else ())}
    yield from _leaf_nodes(links.servers if links else (), known)


def _is_bad(name: str) -> bool:
    return any(letter.isspace() for letter in name)


def _clusters(servers: tuple[Server, ...]) -> Iterator[Finding]:
    servers_by_name: dict[str, Server] = {}
    for server in servers:
        gateway = server.varz.gateway.name if server.varz and server.varz.gateway else ""
        for name in {cluster_of(server), gateway} - {""}:
            servers_by_name.setdefault(name, server)
    for name, server in sorted(servers_by_name.items()):
        subject = Subject(kind="cluster", name=name)
        if not _is_bad(name):
            yield passed(subject)
            continue
        yield failed(
            subject,
            f"the name of the cluster, {name!r}, contains white space: servers write it between spaces to each"
            " other and to leaf nodes, so connections fail or messages are lost, and from 2.11 on a server with a"
            " space in it does not start",
            server.observed("cluster.name", name),
            severity=Severity.ERROR,
        )


def _leaf_nodes(servers: tuple[ServerLinks, ...], judged: set[str]) -> Iterator[Finding]:
    """One for each leaf node that is not among the servers judged above, however many connections it has."""
    seen: dict[str, Observation] = {}
    for server in servers:
        for leaf in server.leafs or ():
            if leaf.name and leaf.name not in judged:
                seen.setdefault(leaf.name, server.observed("leafs.name", leaf.name))
    for name, observation in sorted(seen.items()):
        if _is_bad(name):
            yield failed(
                Subject(kind="server", name=name),
                f"the leaf node {name!r} has white space in its name: tools that split lines at it take it for"
                " two names, and from 2.11 on a server with a space in its name does not start",
                observation,
            )
        else:
            yield passed(Subject(kind="server", name=name))


_NAMES = {
    "server_name": "the server's name",
    "cluster_name": "the cluster's name",
    "gateway_name": "the gateway's name",
    "domain": "the JetStream domain",
}


@check("cluster_health.name_has_whitespace_declared", also_mounted=True)
def name_has_whitespace_declared(manifests: Manifests) -> Iterator[Finding]:
    """From 2.11 on a server with a space in its names does not start; tabs pass all versions (server: opts.go)."""
    for servers in manifests.servers:
        names = {setting: str(servers.get(setting)) for setting in _NAMES if servers.get(setting)}
        bad = [setting for setting, name in names.items() if any(letter.isspace() for letter in name)]
        if bad:
            words = " and ".join(f"{_NAMES[setting]} {names[setting]!r}" for setting in bad)
            yield failed(
                servers.subject,
                f"white space in {words}: from 2.11 on a server with a space in its names does not start",
                *(servers.shows(setting, f"{setting}: {names[setting]}") for setting in bad),
                severity=Severity.ERROR if "cluster_name" in bad or "gateway_name" in bad else None,
            )
        else:
            yield unclear(servers, "cluster_name", "domain") or passed(servers.subject)
