"""The meta group of each JetStream domain in all samples: its members, their leaders, members without contact."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from jsdoctor.checks.cluster_health.raft import silent_peers
from jsdoctor.model.finding import CLUSTER, Observation, Subject
from jsdoctor.model.jetstream import Peer
from jsdoctor.model.server import Server, Servers


class MetaSamples(msgspec.Struct, frozen=True):
    """One domain's meta group: in each sample, oldest first, the servers of the group that responded."""

    domain: str
    samples: tuple[tuple[Server, ...], ...]

    @property
    def subject(self) -> Subject:
        """The cluster; with a name only where there are domains."""
        return Subject(kind="cluster", name=self.domain) if self.domain else CLUSTER

    @property
    def last(self) -> tuple[Server, ...]:
        """The members in the newest sample."""
        return self.samples[-1]

    @property
    def size(self) -> int:
        """How many peers count for the quorum: every one that was added and not removed, the dead ones too."""
        return max(server.meta.cluster_size for server in self.last if server.meta)

    def named(self) -> list[set[str]]:
        """The leaders that the members name, per sample."""
        return [
            {server.meta.leader for server in sample if server.meta and server.meta.leader} for sample in self.samples
        ]

    def silent(self, silence_ns: int) -> tuple[Peer, ...] | None:
        """Peers without contact to the leader; None if the leader itself did not respond.

        Followers report each other as never seen, so only the leader's report counts (server: raft.go Peers).
        """
        views = [view for sample in self.samples if (view := leader_of(sample))]
        if leader_of(self.last) is None:
            return None
        leader = views[-1].name
        same = [view.meta.replicas for view in views if view.name == leader and view.meta]
        return silent_peers(same, silence_ns)

    @property
    def peers(self) -> tuple[Peer, ...]:
        """The other members as the leader reports them in the newest sample; none if it did not respond."""
        leader = leader_of(self.last)
        return leader.meta.replicas if leader and leader.meta else ()

    def observed(self) -> tuple[Observation, ...]:
        """Which leader every member names, in the newest sample."""
        return tuple(
            server.observed("meta_cluster.leader", server.meta.leader or None) for server in self.last if server.meta
        )


def leader_of(sample: Iterable[Server]) -> Server | None:
    """The server that reports itself as leader."""
    return next((server for server in sample if server.meta and server.meta.leader == server.name), None)


def meta_groups(servers: Servers) -> list[MetaSamples]:
    """The meta group of every domain that the newest sample shows. Single servers have none."""
    by_domain: dict[str, list[tuple[Server, ...]]] = defaultdict(list)
    for sample in servers.samples:
        members: dict[str, list[Server]] = defaultdict(list)
        for server in sample:
            if server.meta and server.jetstream and not server.jetstream.disabled:
                members[server.domain].append(server)
        for domain, member in members.items():
            by_domain[domain].append(tuple(member))
    shown = {server.domain for server in servers.servers if server.meta}
    return [MetaSamples(domain, tuple(by_domain[domain])) for domain in sorted(shown) if by_domain[domain]]
