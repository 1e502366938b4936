"""JSD721: two JetStreams that leaf nodes connect have one domain name, and both respond to the same requests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from jsdoctor.checks.cluster_health.links import any_young, by_server
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, Subject, failed, passed, unknown
from jsdoctor.model.links import Links, ServerLinks
from jsdoctor.model.params import Params
from jsdoctor.model.server import Server, Servers
from jsdoctor.model.topology import Domain, Topology


@check("cluster_health.domain_shared")
def domain_shared(topology: Topology, servers: Servers, links: Links, params: Params) -> Iterator[Finding]:
    """Servers keep JetStream requests from crossing a leaf connection unless the domains have one name and the system
    account crosses it as well: then they take the other side for a part of their own JetStream (server: leafnode.go,
    addLeafNodeConnection). A leaf cluster that joins the meta group of its hub is a part of it, and one domain here.
    """
    if len(topology.domains) < 2:
        return
    server_links, known = by_server(links), {server.name: server for server in servers.servers}
    by_name: dict[str, list[Domain]] = defaultdict(list)
    for domain in topology.domains:
        by_name[domain.name].append(domain)
    for site in topology.sites:
        members = [known[name] for name in site.servers if name in known]
        twins = [other for other in by_name[site.name] if other is not site]
        subject = Subject(kind="cluster", name=site.label) if site.label else CLUSTER
        if not twins or not members:
            yield passed(subject)
        elif any(name not in server_links or server_links[name].leafs is None for name in site.servers):
            yield unknown(subject, "its leaf node connections were not read", "see the gaps of this run")
        elif not (competing := _competing_domains(site, twins, _shares_system_account(members, server_links))):
            yield passed(subject)
        elif any_young(members, params.integer("start_up")):
            yield unknown(subject, "a server has just started and may still join the other", "run again in a minute")
        else:
            yield _finding(site, subject, competing, members)


def _shares_system_account(members: Sequence[Server], links: Mapping[str, ServerLinks]) -> bool:
    return any(
        leaf.is_spoke and member.varz is not None and leaf.account == member.varz.system_account
        for member in members
        for leaf in links[member.name].leafs or ()
    )


def _competing_domains(site: Domain, twins: Sequence[Domain], shared: bool) -> list[Domain]:
    """The hubs with the same domain, if the system account crosses the link; else the other sites with the domain."""
    hubs = [twin for twin in twins if shared and not twin.is_site]
    return hubs or [twin for twin in twins if site.name and twin.is_site]


def _finding(site: Domain, subject: Subject, competing: Sequence[Domain], members: Sequence[Server]) -> Finding:
    with_hub = not competing[0].is_site
    others = ", ".join(", ".join(other.servers) for other in competing)
    named = f"has the JetStream domain {site.name}" if site.name else "has no JetStream domain, as its hub,"
    return failed(
        subject,
        (
            f"{', '.join(site.servers)} {named} and shares the system account with {others}: both respond to every"
            " request to the JetStream API, so streams are created, listed, changed and deleted at the wrong one"
            if with_hub
            else f"{', '.join(site.servers)} {named}, as {others}: requests to that domain, and mirrors and sources"
            " of it, reach any of them"
        ),
        *(member.observed("jetstream.config.domain", site.name) for member in members),
        severity=None if with_hub else Severity.WARNING,
        measured=(1 + len(competing), 1, "count"),
    )
