"""JSD709: servers of one cluster that run different versions for longer than an upgrade takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from jsdoctor.checks.cluster_health.clusters import Members, clusters, in_roll_out, parted
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Finding, Severity, passed
from jsdoctor.model.params import Params
from jsdoctor.model.server import Server, Servers


@check("cluster_health.version_mixed")
def version_mixed(servers: Servers, params: Params) -> Iterator[Finding]:
    """A stream that uses what only the newer servers know is offline on the older ones (server: stream.go, 2.11)."""
    groups = list(clusters(servers))
    mixed = False
    for group in groups:
        if len(_by_version(group.servers)) > 1:
            mixed = True
            yield _finding(group, in_roll_out(group.servers, params.integer("roll_out")))
        elif len(groups) > 1:
            yield passed(group.subject)
    among = _by_version([server for server in servers.servers if server.version])
    if len(among) > 1 and not mixed:
        yield Finding(
            subject=CLUSTER,
            severity=Severity.INFO,
            message=f"clusters, single servers or leaf nodes run different versions ({parted(among)}): streams and"
            " settings that only the newer ones know cannot be moved to the older ones",
            evidence=tuple(server.observed("version", server.version) for server in servers.servers),
        )
    elif servers.servers and len(among) <= 1:
        yield passed(CLUSTER)


def _by_version(servers: Sequence[Server]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for server in servers:
        if server.version:
            found[server.version].append(server.name)
    return found


def _finding(group: Members, rolling: bool) -> Finding:
    versions = _by_version(group.servers)
    of = "its servers" if group.subject is CLUSTER else f"the servers of {group.name}"
    then = (
        "an upgrade seems to be under way, as some were started lately"
        if rolling
        else "what only the newer ones know (stream settings, API replies, Raft messages) fails on the others, and a"
        " stream made with such a setting goes offline where it is led by an older one"
    )
    return Finding(
        subject=group.subject,
        severity=Severity.INFO if rolling else None,
        message=f"{of} run {len(versions)} versions ({parted(versions)}): {then}",
        measured=len(versions),
        threshold=1,
        unit="count",
        evidence=tuple(server.observed("version", server.version) for server in group.servers),
    )
