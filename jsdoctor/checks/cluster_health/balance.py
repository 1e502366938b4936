"""How streams and their leaders are spread over the servers of a cluster, and how much of that may be chance."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from math import sqrt

import msgspec

from jsdoctor.checks.cluster_health.links import cluster_of
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import ClusterSnapshot

_DEVIATIONS = 4.0
"""Of placements by lot, one server gets that much more than its share once in some ten thousand clusters."""


class Spread(msgspec.Struct, frozen=True):
    """How many of `total` things each server of a cluster has. Servers with none of them are among `counts`."""

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
        """Whether a server has more than drawing lots explains."""
        share = 1 / len(self.counts)
        return self.counts[server] > self.fair + _DEVIATIONS * sqrt(self.total * share * (1 - share))

    def piled(self, server: str, least: int, ratio: float) -> bool:
        """Whether a server has at least `ratio` times its share, of `least` things or more, and not by chance.

        All of them on one of two servers is twice the share, and no more than that is possible there.
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
        members[placed.name] |= {placed.leader, *(peer.name for peer in placed.replicas)}
        (leaders if placed.replicas else singles)[placed.name][placed.leader] += 1
    for name in sorted(members):
        yield PlacementSpread(
            name, *(Spread({m: count[name][m] for m in members[name]}) for count in (leaders, singles))
        )
