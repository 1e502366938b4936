"""JSD712: a server that leads or holds far more streams than the others of its cluster."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from math import sqrt

import msgspec

from jsdoctor.checks.cluster_health.links import cluster_of
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import Finding, Observation, Subject, failed, passed
from jsdoctor.model.params import Params
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries


@check("cluster_health.placement_imbalance")
def placement_imbalance(snapshots: SnapshotSeries, servers: Servers | None, params: Params) -> Iterator[Finding]:
    """Judge leaders and single replicas. After restarts leaders stay where they are (server: jetstream_cluster.go)."""
    least, ratio = params.integer("min_assets"), params.number("max_ratio")
    for placement in placements(snapshots.last, servers):
        texts: dict[str, list[str]] = {}
        evidence: dict[str, list[Observation]] = {}
        for spread, what in ((placement.leaders, "leads"), (placement.singles, "holds")):
            name = spread.heaviest()
            if spread.is_heavy(name, least, ratio):
                texts.setdefault(name, []).append(_message(spread, name, what))
                evidence.setdefault(name, []).append(Observation(name, f"streams it {what}", spread.counts[name]))
        for name in sorted(placement.leaders.counts):
            if name in texts:
                yield _finding(name, texts[name], evidence[name])
            else:
                yield passed(Subject(kind="server", name=name))


def _message(spread: Spread, name: str, what: str) -> str:
    kind, effect = "streams with one replica", "its loss takes all of them away, and its disk fills first"
    if what == "leads":
        kind = "streams with several replicas"
        effect = "their publishes, acknowledgements and consumers all load this server"
    many = f"it {what} {spread.counts[name]:,} of {spread.total:,} {kind}"
    return f"{many}, where an equal share is {spread.fair:,.0f}: {effect}"


def _finding(name: str, texts: list[str], evidence: list[Observation]) -> Finding:
    leads = any(text.startswith("it leads") for text in texts)
    return failed(
        Subject(kind="server", name=name),
        "; ".join(texts),
        *evidence,
        remedy={} if leads else {"action": "cluster.inspect_members"},
    )


_DEVIATIONS = 4.0
"""Standard deviations above the equal share: random placement exceeds them in one of about ten thousand clusters."""


class Spread(msgspec.Struct, frozen=True):
    """How many streams each server of a cluster leads or holds; servers with none are counted as 0."""

    counts: dict[str, int]

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.counts.values())

    @property
    def fair(self) -> float:
        """What each server would have if all had the same."""
        return self.total / len(self.counts)

    def heaviest(self) -> str:
        """The server with the most."""
        return max(sorted(self.counts), key=self.counts.__getitem__)

    def exceeds_chance(self, server: str) -> bool:
        """Whether a server has more than random placement explains."""
        share = 1 / len(self.counts)
        return self.counts[server] > self.fair + _DEVIATIONS * sqrt(self.total * share * (1 - share))

    def is_heavy(self, server: str, least: int, ratio: float) -> bool:
        """Whether a server has at least `ratio` times its share of `least` streams or more, and not by chance.

        With n servers, n times the share is the most that is possible: the limit is at most 0.9 n.
        """
        enough = len(self.counts) > 1 and self.total >= least
        limit = min(ratio, 0.9 * len(self.counts))
        return enough and self.counts[server] >= limit * self.fair and self.exceeds_chance(server)


class PlacementSpread(msgspec.Struct, frozen=True):
    """The spreads of one cluster: leaders of streams with several replicas, and streams with one replica."""

    cluster: str
    leaders: Spread
    singles: Spread


def placements(snapshot: ClusterSnapshot, servers: Servers | None) -> Iterable[PlacementSpread]:
    """One for each cluster. Servers that hold nothing are known from their own replies, or not at all."""
    members: dict[str, set[str]] = defaultdict(set)
    leaders: dict[str, Counter[str]] = defaultdict(Counter)
    singles: dict[str, Counter[str]] = defaultdict(Counter)
    for server in servers.servers if servers else ():
        if server.jetstream and not server.jetstream.disabled and cluster_of(server):
            members[cluster_of(server)].add(server.name)
    for stream in snapshot.led_streams():
        placed = stream.cluster
        if placed is None or not placed.name or not placed.leader:
            continue
        members[placed.name] |= set(placed.members)
        (leaders if placed.replicas else singles)[placed.name][placed.leader] += 1
    for name in sorted(members):
        yield PlacementSpread(
            name, *(Spread({m: count[name][m] for m in members[name]}) for count in (leaders, singles))
        )
