"""JSD714: routes, gateways and leaf links that were refused, could not be resolved, went stale or looped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import detailed_finding
from jsdoctor.checks.logs.log_incidents import LogIncident, log_incidents
from jsdoctor.checks.logs.words import by_server, listed
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Severity
from jsdoctor.model.log import LogEvidence, Occurrence
from jsdoctor.model.params import Params

_RECONNECTING_US = 10_000_000
"""Leaf nodes behind one address that all reconnect do so within this time."""

_KINDS = {
    "routes": (
        "route-refused",
        "route-unresolved",
        "route-lost",
        "route-error",
        "route-not-flushed",
        "raft-awaits-routes",
    ),
    "gateways": ("gateway-refused", "gateway-unresolved", "gateway-lost", "gateway-misnamed", "gateway-error"),
    "leaf links": ("leaf-refused", "leaf-lost", "leaf-error"),
}
_REFUSED = {
    "leaf-loop": "leaf links loop: messages would go round, so the server refuses one; remove one of the links",
    "leaf-rejected": "a leaf link was refused for its version or its cluster name",
    "link-to-wrong-port": "a link leads to a port of the other side that is for something else (leaf nodes 7422, routes"
    " 6222, gateways 7222, clients 4222, unless set)",
    "leaf-tls-differs": "a leaf link lacks TLS that the other side wants",
    "leaf-credentials-bad": "the credentials of a leaf link cannot be read or are malformed",
    "gateway-rejected": "a gateway connection was refused: its name is in no list here",
    "gateway-unknown": "another server of this cluster has a gateway that is not configured here",
}

_FROM_THE_START = ("link-to-wrong-port",)
"""Signatures that also count while the other side starts: the link is refused from the first attempt on."""


@check("cluster_health.links_logged", lines_of="servers")
def links_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """A refused route is logged at the first attempt and then once an hour (server.go shouldReportConnectErr)."""
    for kind, signatures in _KINDS.items():
        for incident in log_incidents(logs, *signatures):
            if incident.notable:
                yield detailed_finding(
                    incident, _description(kind, incident), _effect(kind, incident), incident.severity()
                )
    for signature, what in _REFUSED.items():
        for burst in bursts(logs, signature, subjects=by_server, calm=signature not in _FROM_THE_START):
            severity = None if burst.count > 1 else Severity.WARNING
            yield detailed_finding(burst, what, "the link stays down as long as that is so", severity)
    for burst in bursts(logs, "leaf-replaced", calm=False):
        if any(_recurs(occurrence, params.integer("leaf_replaced")) for occurrence in burst.found):
            what = "connections of leaf nodes with the same server_name replace each other"
            effect = "each is cut off in turn; give every leaf node a name of its own"
            yield detailed_finding(burst, what, effect, Severity.WARNING)
        else:
            what = "a connection of a leaf node was replaced by another one of the same name"
            effect = "a leaf node that reconnects does this once; two with one server_name do it again and again"
            yield detailed_finding(burst, what, effect, Severity.INFO)


def _recurs(replaced: Occurrence, times: int) -> bool:
    """Whether one address goes on being replaced, rather than in the moment of a reconnect."""
    first, last = replaced.first, replaced.last
    lasting = first is not None and last is not None and last.us - first.us >= _RECONNECTING_US
    return replaced.count >= times and lasting


def _description(kind: str, incident: LogIncident) -> str:
    fields = [dict(interval.fields) for interval in incident.unresolved or incident.intervals]
    names = {field["remote"]: field["peer"] for field in fields if field.get("remote") and field.get("peer")}
    peers = listed(peer for field in fields if (peer := _peer(field, names)))
    reasons = listed(reason for field in fields if (reason := field.get("reason")))
    return f"{kind}{f' to {peers}' if peers else ''} down{f' ({reasons})' if reasons else ''}"


def _peer(fields: Mapping[str, str], names: Mapping[str, str]) -> str:
    """The other end of a link: `NAME (ADDRESS)`, else its address, or the configured host that DNS could not resolve.

    `names` has the name of each address, which lines have from 2.12 on.
    """
    remote, address = fields.get("remote", ""), fields.get("address", "")
    if name := fields.get("peer") or names.get(remote):
        return f"{name} ({remote})"
    return f"{remote} ({address})" if remote and address else remote or address


def _effect(kind: str, incident: LogIncident) -> str:
    effect = "its peers may be without a majority meanwhile" if kind == "routes" else "nothing went over them meanwhile"
    return (
        f"{effect}; look at the other side, at addresses and names, and at the network"
        if incident.unresolved
        else effect
    )
