"""Which servers share one JetStream, from their own replies, and names for domains and servers that never collide.

Leaf nodes carry the system account across domains: one login sees the servers of a hub and of every site, and two of
them may have the same server name, the same domain, or both.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from jsdoctor.model.server import MetaGroup
from jsdoctor.replies.decoding import ServerIdentity
from jsdoctor.replies.peers import peer_id

_ID_LENGTH = 6
"""Number of characters of a server id that distinguish two servers of one name."""


class AnsweringServer(msgspec.Struct, frozen=True):
    """A server that responded: its configured names, and the meta group as it reports it (None outside of any)."""

    key: str
    name: str
    cluster: str
    domain: str = ""
    meta: MetaGroup | None = None
    has_jetstream: bool = True

    @property
    def peers(self) -> frozenset[str]:
        """Ids of the members of its meta group that it knows, itself included."""
        if self.meta is None:
            return frozenset()
        named = {peer.peer or peer_id(peer.name) for peer in self.meta.replicas}
        leader = {peer_id(self.meta.leader)} if self.meta.leader else set()
        return frozenset({peer_id(self.name)} | named | leader)


class Domains(msgspec.Struct, frozen=True):
    """By server key: the label of its JetStream domain, and the server's name if another server has the same one.

    A label is the configured domain. It is empty for the only domain without a name, and has the name of its cluster
    or server added where two domains would have the same. Servers without JetStream have the label of their cluster.
    """

    labels: Mapping[str, str] = {}
    names: Mapping[str, str] = {}

    def label(self, key: str) -> str:
        """The label of that server's domain."""
        return self.labels.get(key, "")

    def renamed(self, key: str) -> Mapping[str, str]:
        """Configured server names of that server's domain to the names they have here, where these differ."""
        label = self.label(key)
        return {
            name.removesuffix(f"@{label}"): name for other, name in self.names.items() if self.label(other) == label
        }


def domains_of(servers: Sequence[AnsweringServer], known_twins: set[str]) -> Domains:
    """The domains of the servers of one sample. Adds names that two servers have to `known_twins`."""
    groups = _groups(servers)
    labels = _labels(groups)
    by_key = {server.key: label for group, label in zip(groups, labels, strict=True) for server in group}
    by_cluster = {s.cluster: by_key[s.key] for group in groups for s in group if s.cluster}
    for server in servers:
        by_key.setdefault(server.key, by_cluster.get(server.cluster, ""))
    counts = Counter(server.name for server in servers)
    known_twins |= {name for name, count in counts.items() if count > 1}
    names = {s.key: f"{s.name}@{by_key[s.key]}" for s in servers if s.name in known_twins and by_key[s.key]}
    return Domains(by_key, names | _twins_of_one_domain(servers, by_key))


def _twins_of_one_domain(servers: Sequence[AnsweringServer], labels: Mapping[str, str]) -> dict[str, str]:
    """Names with ids for servers that one domain has twice.

    A server that restarts within a sample has two ids as well, one of which did not report its JetStream.
    """
    alike = Counter((s.name, labels[s.key]) for s in servers if s.has_jetstream)
    return {
        s.key: f"{s.name}#{s.key[:_ID_LENGTH]}{'@' if labels[s.key] else ''}{labels[s.key]}"
        for s in servers
        if s.has_jetstream and alike[s.name, labels[s.key]] > 1
    }


def answering(
    identity: ServerIdentity, key: str, domain: str, meta: MetaGroup | None, has_jetstream: bool
) -> AnsweringServer:
    """The server with that identity, which sent the replies under `key`."""
    return AnsweringServer(key, identity.name, identity.cluster, domain or identity.domain, meta, has_jetstream)


def _groups(servers: Iterable[AnsweringServer]) -> list[list[AnsweringServer]]:
    """Servers by the JetStream they share: a single server is on its own, a meta group may span clusters."""
    single: list[list[AnsweringServer]] = []
    clustered: dict[tuple[str, str], list[AnsweringServer]] = defaultdict(list)
    for item in servers:
        if item.meta is not None:
            clustered[item.domain, item.cluster].append(item)
        elif item.has_jetstream:
            single.append([item])
    merged: list[list[AnsweringServer]] = []
    for group in clustered.values():
        same_group = [other for other in merged if _same_meta_group(other, group)]
        merged = [other for other in merged if other not in same_group] + [sum(same_group, group)]
    return [*merged, *single]


def _same_meta_group(first: Sequence[AnsweringServer], second: Sequence[AnsweringServer]) -> bool:
    """Whether two clusters share a meta group: a super-cluster, or a leaf cluster that extends its hub's domain."""
    if first[0].domain != second[0].domain or {s.name for s in first} & {s.name for s in second}:
        return False
    if frozenset[str]().union(*(s.peers for s in first)) & frozenset[str]().union(*(s.peers for s in second)):
        return True
    # Without a leader no server of 2.10 names the others: a size beyond what either cluster shows decides.
    sizes = {s.meta.cluster_size for s in (*first, *second) if s.meta}
    return len(sizes) == 1 and sizes.pop() >= len(first) + len(second)


def _labels(groups: Sequence[Sequence[AnsweringServer]]) -> list[str]:
    """One label for each group; of several with the same domain, the largest keeps the plain one if it is the only one.

    Without a domain, a single server never keeps the empty label beside others: it is a site and not the hub.
    """
    sizes_by_domain: dict[str, list[int]] = defaultdict(list)
    for group in groups:
        sizes_by_domain[group[0].domain].append(len(group))
    labels = []
    for group in groups:
        domain, sizes = group[0].domain, sorted(sizes_by_domain[group[0].domain])
        is_plain = len(sizes) == 1 or (len(group) == sizes[-1] > sizes[-2])
        labels.append(domain if is_plain else _qualified_label(group, domain))
    counts = Counter(labels)
    return [
        label if counts[label] == 1 else f"{label}/{group[0].key}" for group, label in zip(groups, labels, strict=True)
    ]


def _qualified_label(group: Sequence[AnsweringServer], domain: str) -> str:
    own = group[0].cluster if group[0].meta and group[0].cluster else group[0].name
    return f"{domain}/{own}" if domain else own
