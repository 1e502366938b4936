"""JSD712: a server that leads or holds far more streams than the others of its cluster."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.checks.cluster_health.balance import Spread, placements
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Subject, failed, passed
from jsdoctor.model.params import Params
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import SnapshotSeries


@check("cluster_health.placement_imbalance")
def placement_imbalance(snapshots: SnapshotSeries, servers: Servers | None, params: Params) -> Iterator[Finding]:
    """Leaders do the work of a stream; after restarts they stay where they went (server: jetstream_cluster.go)."""
    least, ratio = params.integer("min_assets"), params.number("max_ratio")
    for placement in placements(snapshots.last, servers):
        piled: dict[str, list[str]] = {}
        evidence: dict[str, list[Observation]] = {}
        for spread, what in ((placement.leaders, "leads"), (placement.singles, "holds")):
            name = spread.heaviest()
            if spread.piled(name, least, ratio):
                piled.setdefault(name, []).append(_words(spread, name, what))
                evidence.setdefault(name, []).append(Observation(name, f"streams it {what}", spread.counts[name]))
        for name in sorted(placement.leaders.counts):
            if name in piled:
                yield _finding(name, piled[name], evidence[name])
            else:
                yield passed(Subject(kind="server", name=name))


def _words(spread: Spread, name: str, what: str) -> str:
    kind, then = "streams with one replica", "its loss takes all of them away, and its disk fills first"
    if what == "leads":
        kind = "streams with several replicas"
        then = "their publishes, acknowledgements and consumers all load this server"
    many = f"it {what} {spread.counts[name]:,} of {spread.total:,} {kind}"
    return f"{many}, where an equal share is {spread.fair:,.0f}: {then}"


def _finding(name: str, texts: list[str], evidence: list[Observation]) -> Finding:
    leads = any(text.startswith("it leads") for text in texts)
    return failed(
        Subject(kind="server", name=name),
        "; ".join(texts),
        *evidence,
        remedy={} if leads else {"action": "cluster.inspect_members"},
    )
