"""JSD722: two servers of one cluster or super-cluster have the same name, which is their identity in Raft groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from jsdoctor.checks.cluster_health.clusters import cluster_of
from jsdoctor.checks.cluster_health.links import configured_gateways
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Subject, passed, unknown
from jsdoctor.model.server import Server, Servers


@check("cluster_health.server_name_repeated")
def server_name_repeated(servers: Servers) -> Iterator[Finding]:
    """A server refuses leaf nodes of its own cluster name, so two servers of one cluster name are routed together."""
    lasting = [frozenset(server.server_id for server in look) for look in servers.looks]
    by_name: dict[str, list[Server]] = defaultdict(list)
    for server in servers.servers:
        if server.varz is not None and server.varz.server_name and cluster_of(server):
            by_name[server.varz.server_name].append(server)
    for name, members in sorted(by_name.items()):
        twins = [one for one in members if any(_together(one, other) for other in members if other is not one)]
        twins = [one for one in twins if all(one.server_id in look for look in lasting)]
        subject = Subject(kind="server", name=name)
        if len({one.server_id for one in twins}) < 2:
            yield passed(subject)
        elif not servers.complete:
            yield unknown(
                subject,
                "two servers have this name, and may belong to different deployments",
                "use a login of the system account, which reaches the servers of one deployment",
            )
        elif len(servers.looks) < 2:
            yield unknown(
                subject, "it may have been restarted while the only sample was taken", "run with --samples 2 or more"
            )
        else:
            yield _finding(subject, twins)


def _together(one: Server, other: Server) -> bool:
    """Whether both are in one cluster, or in clusters of which one names the other as a gateway."""
    if one.server_id == other.server_id:
        return False
    here, there = cluster_of(one), cluster_of(other)
    return here == there or there in configured_gateways(one) or here in configured_gateways(other)


def _finding(subject: Subject, twins: Sequence[Server]) -> Finding:
    where = ", ".join(f"{one.server_id} in {cluster_of(one)}" for one in twins)
    return Finding(
        subject=subject,
        message=f"{len(twins):,} running servers have this name ({where}): Raft groups take them for one member, so"
        " that votes and acknowledgements of either count for both, and elections fail",
        measured=len(twins),
        threshold=1,
        unit="count",
        evidence=tuple(one.observed("server_id", one.server_id) for one in twins),
    )
