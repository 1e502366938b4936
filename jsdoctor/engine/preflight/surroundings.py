"""What depends on servers besides their Raft groups: clients, leaf nodes, gateways."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from jsdoctor.checks.cluster_health.links import by_server, cluster_of
from jsdoctor.engine.preflight.groups import Landscape
from jsdoctor.model.connections import Connections
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.harm import Harm
from jsdoctor.model.links import Links, ServerLinks
from jsdoctor.model.preflight import Obstacle, SideEffect
from jsdoctor.model.server import Server
from jsdoctor.model.wording import counted

_SHOWN = 3
_OWN_NAME = "jsdoctor"
"""The name of the connections of this program."""


def clients(land: Landscape, evidence: EvidenceSet, away: frozenset[str]) -> Iterator[Obstacle | SideEffect | Gap]:
    """Connections that move to the other servers of their cluster, if these take them."""
    for cluster, leaving in _by_cluster(land, away).items():
        moving = sum(_clients_of(server, evidence) for server in leaving)
        rest = _others_of_cluster(land, cluster, away)
        names = " and ".join(server.name for server in leaving)
        subject = Subject("cluster", cluster) if cluster else leaving[0].subject
        if not moving:
            continue
        if not rest and cluster and not (land.servers and land.servers.complete):
            reason = f"no other server of {cluster} was queried, so where its clients go does not show"
            yield Gap("server", subject, reason, "name each server in --monitor, or use a login of the system account")
            continue
        if not rest:
            yield Obstacle(
                harm=Harm.CUT_OFF,
                subject=subject,
                message=f"{counted(moving, 'client')} of {names} can reconnect to no other server",
                advice="stop the clients first",
            )
            continue
        limits = [server.varz.max_connections for server in rest if server.varz]
        free = [s.varz.max_connections - s.varz.connections for s in rest if s.varz and s.varz.max_connections > 0]
        if limits and min(limits) > 0 and len(limits) == len(rest) and sum(map(_at_least_zero, free)) < moving:
            yield Obstacle(
                harm=Harm.NO_ROOM,
                subject=subject,
                message=f"{counted(moving, 'client')} of {names} must move, and the other servers take"
                f" {sum(map(_at_least_zero, free)):,} more (max_connections)",
                advice="raise max_connections there, or add a server",
            )
        else:
            where = " or ".join(server.name for server in rest[:_SHOWN]) if len(rest) <= _SHOWN else cluster
            verb = "reconnects" if moving == 1 else "reconnect"
            yield SideEffect(
                kind="clients_move",
                message=f"{counted(moving, 'client')} {verb} to {where}",
                count=moving,
                names=tuple(server.name for server in rest),
            )


def links(land: Landscape, evidence: EvidenceSet, away: frozenset[str]) -> Iterator[Obstacle | SideEffect | Gap]:
    """Leaf nodes and gateways of which only these servers have the connection."""
    shown = by_server(evidence.get(Links))
    for cluster, leaving in _by_cluster(land, away).items():
        rest = _others_of_cluster(land, cluster, away)
        for server in leaving:
            own = shown.get(server.name)
            if own is None or own.leafs is None or own.gateways is None:
                if _is_linked(server):
                    reason = "its leaf nodes and gateways were not read"
                    yield Gap("endpoint", server.subject, reason, "use a login of the system account, or --monitor")
                continue
            others = [shown[other.name] for other in rest if other.name in shown]
            yield from _leaf_effects(server, own, rest, others, away)
            yield from _hub_obstacles(server, own, rest, others)
            yield from _gateway_obstacles(server, own, rest, others)


def _is_linked(server: Server) -> bool:
    """Whether its configuration has leaf nodes or gateways, or was not read."""
    varz = server.varz
    if varz is None:
        return True
    return bool((varz.leaf and (varz.leaf.port or varz.leaf.remotes)) or (varz.gateway and varz.gateway.name))


def _leaf_effects(
    server: Server, own: ServerLinks, rest: list[Server], others: list[ServerLinks], away: frozenset[str]
) -> Iterator[Obstacle | SideEffect]:
    """Leaf nodes that no other server of the cluster accepts: they move, or are cut off."""
    elsewhere = {leaf.name for known in others for leaf in known.leafs or () if not leaf.is_spoke}
    sites = sorted({leaf.name or leaf.ip for leaf in own.leafs or () if not leaf.is_spoke} - elsewhere - away)
    if not sites:
        return
    many = len(sites) > 1
    if any(other.varz and other.varz.leaf and other.varz.leaf.port for other in rest):
        yield SideEffect(
            kind="leafs_move",
            message=f"{counted(len(sites), 'leaf node')} reconnect{'' if many else 's'} to another server of"
            f" {server.cluster}",
            count=len(sites),
            names=tuple(sites),
        )
        return
    for site in sites:
        yield Obstacle(
            harm=Harm.CUT_OFF,
            subject=Subject("server", site),
            message=f"{server.name} is the only server that takes its leaf connection",
            advice="let another server of the cluster accept leaf nodes",
        )


def _hub_obstacles(
    server: Server, own: ServerLinks, rest: list[Server], others: list[ServerLinks]
) -> Iterator[Obstacle]:
    """Accounts for which this server has the only leaf connection of its cluster to the hub."""
    if not rest or not any(leaf.is_spoke for leaf in own.leafs or ()):
        return
    accounts = {leaf.account for leaf in own.leafs or () if leaf.is_spoke}
    kept = {leaf.account for known in others for leaf in known.leafs or () if leaf.is_spoke}
    if lost := sorted(accounts - kept):
        yield Obstacle(
            harm=Harm.CUT_OFF,
            subject=Subject("cluster", server.cluster),
            message=f"{server.name} has its only connection to the hub, for account {', '.join(lost)}",
            advice="configure the same leaf node remotes on another server of the cluster",
        )


def _gateway_obstacles(
    server: Server, own: ServerLinks, rest: list[Server], others: list[ServerLinks]
) -> Iterator[Obstacle]:
    """Other clusters that only this server of its cluster is connected to."""
    if not rest or not others:
        return
    kept = {gateway.cluster for known in others for gateway in known.gateways or () if gateway.outbound}
    for gateway in own.gateways or ():
        if gateway.outbound and gateway.cluster not in kept:
            yield Obstacle(
                harm=Harm.CUT_OFF,
                subject=Subject("cluster", server.cluster),
                message=f"{server.name} has its only gateway connection to {gateway.cluster}",
                advice=f"bring up the gateways of its other servers to {gateway.cluster}",
            )


def _by_cluster(land: Landscape, away: frozenset[str]) -> dict[str, list[Server]]:
    """The servers that go away, by their cluster; servers without a cluster are under their own name."""
    by_cluster: dict[str, list[Server]] = defaultdict(list)
    for name in sorted(away & land.by_name.keys()):
        by_cluster[cluster_of(land.by_name[name])].append(land.by_name[name])
    return by_cluster


def _others_of_cluster(land: Landscape, cluster: str, away: frozenset[str]) -> list[Server]:
    """The other servers of the cluster that respond. Clients need no JetStream there."""
    return [s for name, s in sorted(land.by_name.items()) if cluster and cluster_of(s) == cluster and name not in away]


def _clients_of(server: Server, evidence: EvidenceSet) -> int:
    """The number of its connections, without those of jsdoctor and those of the system account."""
    if server.varz is None:
        return 0
    connections = evidence.get(Connections)
    shown = next((s.open for s in connections.servers if s.server == server.name), None) if connections else None
    system = server.varz.system_account
    tools = sum(1 for c in shown or () if c.name == _OWN_NAME or (c.account and c.account == system))
    return max(0, server.varz.connections - tools)


def _at_least_zero(number: int) -> int:
    return max(0, number)
