"""JSD710: servers of one cluster whose settings differ where they should be alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from jsdoctor.checks.cluster_health.clusters import Members, clusters, in_roll_out, parted
from jsdoctor.checks.cluster_health.links import configured_gateways
from jsdoctor.checks.cluster_health.settings import SETTINGS, storage_limits
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Severity, passed, unknown
from jsdoctor.model.links import Links
from jsdoctor.model.params import Params
from jsdoctor.model.server import UNLIMITED, Server, Servers


class Difference(msgspec.Struct, frozen=True):
    """One setting in which servers differ: the text of the finding, its severity, and the value of each server."""

    text: str
    severity: Severity
    evidence: tuple[Observation, ...]


@check("cluster_health.configuration_differs")
def configuration_differs(servers: Servers, links: Links | None, params: Params) -> Iterator[Finding]:
    """Names and ports in a file make each server's config_digest its own: only what can be read is compared."""
    for group in clusters(servers):
        if len(group.servers) < 2:
            continue
        known = [server for server in group.servers if server.varz]
        differences = [
            *_settings(known),
            *_limits(group.servers, params.number("limit_ratio")),
            *_gateway_links(known, links),
        ]
        if differences:
            yield _finding(group, differences, in_roll_out(known, params.integer("roll_out"), params.integer("apart")))
        elif len(known) < len(group.servers):
            silent = ", ".join(server.name for server in group.servers if not server.varz)
            yield unknown(group.subject, f"the settings of {silent} were not read", "see the gaps of this run")
        else:
            yield passed(group.subject)


def _settings(servers: Sequence[Server]) -> Iterator[Difference]:
    for setting in SETTINGS:
        stated = {server.name: word for server in servers if (word := setting.word(server)) is not None}
        if len(set(stated.values())) > 1:
            yield Difference(
                f"{setting.name} differs ({parted(_grouped(stated))}): {setting.effect}",
                setting.severity,
                tuple(s.observed(setting.path, stated[s.name]) for s in servers if s.name in stated),
            )


def _limits(servers: Sequence[Server], ratio: float) -> Iterator[Difference]:
    """Limits that are not configured come from each host's own disk and memory: small differences are no finding."""
    by_limit: dict[str, list[tuple[Server, int]]] = defaultdict(list)
    for server in servers:
        for name, limit in storage_limits(server):
            if 0 < limit < UNLIMITED:
                by_limit[name].append((server, limit))
    for name, limits in by_limit.items():
        sizes = [limit for _, limit in limits]
        if min(sizes) < ratio * max(sizes):
            words = {server.name: f"{limit:,}" for server, limit in limits}
            yield Difference(
                f"{name} differs ({parted(_grouped(words))}): the smallest one fills up while the others have room,"
                " and streams whose replicas are there stop with it",
                Severity.INFO,
                tuple(server.observed(name, limit) for server, limit in limits),
            )


def _gateway_links(servers: Sequence[Server], links: Links | None) -> Iterator[Difference]:
    """Gateways that every server has in its configuration, while some servers have no connection through them."""
    server_links = {server.server: server for server in links.servers} if links else {}
    configured = {configured_gateways(server) for server in servers}
    if len(configured) != 1:
        return
    for remote in sorted(configured.pop()):
        up = {
            s.name: any(g.cluster == remote and g.outbound for g in server_links[s.name].gateways or ())
            for s in servers
            if s.name in server_links and server_links[s.name].gateways is not None
        }
        if len(set(up.values())) > 1:
            down = [name for name, connected in up.items() if not connected]
            verb = "has" if len(down) == 1 else "have"
            yield Difference(
                f"{', '.join(down)} {verb} no connection to the cluster {remote}, which other servers reach: clients"
                " there cannot",
                Severity.WARNING,
                tuple(s.observed(f"outbound_gateways.{remote}", up[s.name]) for s in servers if s.name in up),
            )


def _grouped(stated: Mapping[str, str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for name, word in stated.items():
        groups[word].append(name)
    return groups


def _finding(group: Members, differences: Sequence[Difference], rolling: bool) -> Finding:
    worst = Severity.INFO if rolling else max((d.severity for d in differences), key=lambda severity: severity.rank)
    of = f"of the servers of {group.name}, " if group.subject.name else ""
    late = "; a change seems to be under way, as some servers were started or reloaded lately" if rolling else ""
    return Finding(
        subject=group.subject,
        severity=worst,
        message=of + "; ".join(difference.text for difference in differences) + late,
        measured=len(differences),
        threshold=0,
        unit="count",
        evidence=tuple(observation for difference in differences for observation in difference.evidence),
    )
