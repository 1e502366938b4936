"""The servers of a deployment by cluster, what is down, and the links between clusters."""

from __future__ import annotations

from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Severity
from jsdoctor.model.links import Links
from jsdoctor.model.picture import Edge, Node
from jsdoctor.model.report import Report
from jsdoctor.model.server import Servers

_MAX = 60


def nodes(report: Report, evidence: EvidenceSet) -> tuple[Node, ...]:
    """Servers that responded, then members of the meta group that did not."""
    servers = evidence.get(Servers)
    if servers is None:
        return ()
    wrong: dict[str, str] = {}
    for result in report.failures():
        subject = result.finding.subject
        if subject.kind == "server" and result.severity is not Severity.INFO:
            wrong.setdefault(subject.name, f"{result.rule.code} {result.finding.message}")
    nodes_by_name: dict[str, Node] = {}
    for server in servers.servers:
        leads = bool(server.meta and server.meta.leader == server.name)
        why = wrong.get(server.name, "")
        nodes_by_name[server.name] = Node(server.name, server.cluster, "warned" if why else "ok", leads, why)
    for server in servers.servers:
        for peer in server.meta.replicas if server.meta else ():
            if peer.offline and peer.name and peer.name not in nodes_by_name:
                why = wrong.get(peer.name, "offline in the meta group")
                nodes_by_name[peer.name] = Node(peer.name, server.cluster, "down", why=why)
    return tuple(sorted(nodes_by_name.values(), key=lambda item: (item.cluster, item.name))[:_MAX])


def edges(evidence: EvidenceSet) -> tuple[Edge, ...]:
    """Gateways between clusters and leaf nodes, each once; a configured gateway without a connection is down."""
    links = evidence.get(Links)
    result: dict[tuple[str, str, str], bool] = {}
    for server in links.servers if links is not None else ():
        here = server.cluster or server.server
        for gateway in server.gateways or ():
            first, second = sorted((here, gateway.cluster))
            key = ("gateway", first, second)
            result[key] = result.get(key, False) or gateway.outbound
        for leaf in server.leafs or ():
            hub, site = (leaf.name, here) if leaf.is_spoke else (here, leaf.name)
            result["leaf node", hub, site] = True
    return tuple(Edge(kind, first, second, up) for (kind, first, second), up in sorted(result.items())[:_MAX])
