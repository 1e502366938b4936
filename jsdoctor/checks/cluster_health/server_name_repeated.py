"""JSD722: two servers of one cluster or super-cluster have the same name, which is their identity in Raft groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from jsdoctor.checks.cluster_health.links import cluster_of, configured_gateways
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Subject, failed, passed, suspected
from jsdoctor.model.server import Server, Servers


@check("cluster_health.server_name_repeated")
def server_name_repeated(servers: Servers) -> Iterator[Finding]:
    """Two servers with one name and one cluster name are connected: a server refuses leaf nodes of its cluster name."""
    lasting = [frozenset(server.server_id for server in sample) for sample in servers.samples]
    by_name: dict[str, list[Server]] = defaultdict(list)
    for server in servers.servers:
        if server.varz is not None and server.varz.server_name and cluster_of(server):
            by_name[server.varz.server_name].append(server)
    for name, members in sorted(by_name.items()):
        twins = [m for m in members if any(_are_connected(m, other) for other in members if other is not m)]
        twins = [item for item in twins if all(item.server_id in sample for sample in lasting)]
        subject = Subject(kind="server", name=name)
        if len({item.server_id for item in twins}) < 2:
            yield passed(subject)
        elif not servers.complete:
            yield suspected(
                subject,
                "two servers have this name, and may belong to different deployments",
                "use a login of the system account, which reaches the servers of one deployment",
            )
        elif len(servers.samples) < 2:
            reason = "it may have been restarted while the only sample was taken"
            yield suspected(subject, reason, "run with --samples 2 or more")
        else:
            where = ", ".join(f"{item.server_id} in {cluster_of(item)}" for item in twins)
            yield failed(
                subject,
                f"{len(twins):,} running servers have this name ({where}): Raft groups take them for one member, so"
                " that votes and acknowledgements of either count for both, and elections fail",
                *(item.observed("server_id", item.server_id) for item in twins),
                measured=(len(twins), 1, "count"),
            )


def _are_connected(first: Server, second: Server) -> bool:
    """Whether both are in one cluster, or in clusters of which one names the other as a gateway."""
    if first.server_id == second.server_id:
        return False
    first_cluster, second_cluster = cluster_of(first), cluster_of(second)
    return (
        first_cluster == second_cluster
        or second_cluster in configured_gateways(first)
        or first_cluster in configured_gateways(second)
    )
