"""JSD706: a meta group whose size gives no fault tolerance, or none that is left."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.cluster_health.meta_group import MetaSamples, meta_groups
from jsdoctor.checks.cluster_health.raft import label, quorum
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, passed
from jsdoctor.model.params import Params
from jsdoctor.model.server import Servers


@check("cluster_health.meta_group_even")
def meta_group_even(servers: Servers, params: Params) -> Iterator[Finding]:
    """A quorum is half of all members ever added and not removed, and one more (server: raft.go)."""
    for group in meta_groups(servers):
        silent = group.silent(params.integer("silence")) or ()
        spare = group.size - len(silent) - quorum(group.size)
        reason = _size_problem(group.size) or (_spare_problem(group) if silent and spare <= 0 else "")
        if silent and reason:
            reason += f"; not heard from: {', '.join(sorted(label(peer) for peer in silent))}"
        if not reason or not group.size:
            yield passed(group.subject)
            continue
        yield Finding(
            subject=group.subject,
            message=reason,
            measured=max(spare, 0),
            threshold=1,
            unit="count",
            evidence=tuple(
                server.observed("meta_cluster.cluster_size", server.meta.cluster_size)
                for server in group.last
                if server.meta
            ),
        )


def _size_problem(size: int) -> str:
    if size == 1:
        return "the meta group has one member: when that server is down, JetStream is down"
    if size == 2:
        return "the meta group has two members and needs both: when either server is down, nothing can be changed"
    if size % 2 == 0:
        return (
            f"the meta group has {size} members, an even number: it survives the loss of {size - quorum(size)},"
            f" as {size - 1} members would, and cannot decide when it splits in halves"
        )
    return ""


def _spare_problem(group: MetaSamples) -> str:
    return (
        f"the meta group of {group.size} has no member to spare: if one more server is lost, no stream or consumer can"
        " be created, changed or moved"
    )
