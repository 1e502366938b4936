"""The deployment: JetStream domains with their clusters, how they are connected, and what they are used for.

Derived from what servers report of themselves and of their links, and from the names that server, clients and tools
give to the streams they create. Rules use this model instead of assuming one cluster.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import msgspec

from jsdoctor.model.evidence import NO_SERVERS, Evidence, EvidenceSource
from jsdoctor.model.links import Links
from jsdoctor.model.server import Server, Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream
from jsdoctor.model.wording import counted


class Domain(msgspec.Struct, frozen=True):
    """Servers that share one JetStream, and with it one meta group: a cluster, a super-cluster, or a single server.

    `label` is as in `Server.domain`, `name` the configured domain. `meta_size` counts the members of the meta group,
    dead ones too; 0 for a single server. `clusters` are the names of its clusters. `is_site`: its servers connect to
    others as leaf nodes.
    """

    label: str
    name: str
    clusters: tuple[str, ...]
    servers: tuple[str, ...]
    meta_size: int = 0
    is_site: bool = False

    @property
    def is_single(self) -> bool:
        """Whether it is one server outside of any meta group."""
        return self.meta_size == 0


class Topology(Evidence, frozen=True):
    """The whole. `roles` counts streams by what they are used for. `leafs`: leaf connections that hubs have.

    `unread`: servers of which no reply shows whether they have JetStream.
    """

    source = EvidenceSource.SYSTEM
    parts = ("servers", "links")
    unavailable = NO_SERVERS
    of_deployment = True
    left_out_by = frozenset({"endpoint", "reply"})

    domains: tuple[Domain, ...]
    roles: dict[str, int] = msgspec.field(default_factory=dict)
    leafs: int = 0
    without_jetstream: int = 0
    unread: int = 0
    mqtt: bool = False
    websocket: bool = False

    def domain(self, label: str) -> Domain | None:
        """The domain of that label."""
        return next((domain for domain in self.domains if domain.label == label), None)

    @property
    def sites(self) -> tuple[Domain, ...]:
        """The domains that are leaf nodes of another."""
        return tuple(domain for domain in self.domains if domain.is_site)

    def words(self) -> str:
        """One line: the shape, then what it is used for."""
        return "; ".join(part for part in (", ".join(self._shape()), ", ".join(self._uses())) if part)

    def lines(self) -> Iterator[str]:
        """One line for each domain, for verbose output."""
        for domain in self.domains:
            where = f" in {', '.join(domain.clusters)}" if domain.clusters else ""
            size = "single server" if domain.is_single else f"meta group of {domain.meta_size:,}"
            site = ", leaf node" if domain.is_site else ""
            label = f"domain {domain.label}" if domain.label else "no domain"
            yield f"{label}: {size}{where}{site}: {', '.join(domain.servers)}"

    def _shape(self) -> Iterator[str]:
        hubs = sorted(
            (domain for domain in self.domains if not domain.is_site),
            key=lambda domain: (len(domain.clusters), domain.meta_size),
            reverse=True,
        )
        for what, number in Counter(map(_kind, hubs)).items():
            yield what if number == 1 else f"{number:,} times {what}"
        singles = sum(1 for site in self.sites if site.is_single)
        if singles:
            yield f"{counted(singles, 'leaf site')} with a JetStream of {'its' if singles == 1 else 'their'} own"
        if clustered := len(self.sites) - singles:
            yield f"{counted(clustered, 'leaf cluster')} with a JetStream of {'its' if clustered == 1 else 'their'} own"
        if self.leafs > len(self.sites):
            yield counted(self.leafs, "leaf connection")
        if self.without_jetstream:
            yield f"{counted(self.without_jetstream, 'server')} without JetStream"
        if self.unread:
            yield f"{counted(self.unread, 'server')} whose JetStream was not read"

    def _uses(self) -> Iterator[str]:
        yield from (counted(number, role) for role, number in self.roles.items())
        if self.mqtt:
            yield "MQTT"
        if self.websocket:
            yield "WebSocket"


def topology_of(servers: Servers, links: Links | None, snapshots: SnapshotSeries | None) -> Topology:
    """The topology as the servers of the newest sample show it."""
    by_name = {server_links.server: server_links for server_links in (links.servers if links else ())}
    by_domain: dict[str, list[Server]] = defaultdict(list)
    without = unread = 0
    for server in servers.servers:
        if server.jetstream is None:
            unread += 1
        elif server.jetstream.disabled or server.jetstream.config is None:
            without += 1
        else:
            by_domain[server.domain].append(server)
    domains = []
    for label in sorted(by_domain):
        members = by_domain[label]
        config = members[0].jetstream.config if members[0].jetstream else None
        domains.append(
            Domain(
                label=label,
                name=config.domain if config else "",
                clusters=tuple(sorted({s.cluster for s in members if s.cluster and s.meta})),
                servers=tuple(s.name for s in members),
                meta_size=max((s.meta.cluster_size for s in members if s.meta), default=0),
                is_site=any(
                    leaf.is_spoke for s in members if s.name in by_name for leaf in by_name[s.name].leafs or ()
                ),
            )
        )
    spokes = {(leaf.name, leaf.ip) for links in by_name.values() for leaf in links.leafs or () if not leaf.is_spoke}
    listeners = [server.varz for server in servers.servers if server.varz]
    return Topology(
        domains=tuple(domains),
        roles=_roles(snapshots.last.streams if snapshots else ()),
        leafs=len(spokes),
        without_jetstream=without,
        unread=unread,
        mqtt=any(varz.mqtt and varz.mqtt.port for varz in listeners),
        websocket=any(varz.websocket and varz.websocket.port for varz in listeners),
    )


def _kind(domain: Domain) -> str:
    if domain.is_single:
        return "single server"
    seen, members = len(domain.servers), domain.meta_size
    outside = f", of which the meta group has {members:,}" if seen > members else ""
    size = counted(max(seen, members), "server")
    if len(domain.clusters) > 1:
        return f"super-cluster of {len(domain.clusters):,} clusters, {size}{outside}"
    return f"cluster of {size}{outside}"


def role_of(stream: Stream) -> str:
    """The use of a stream, by its name and configuration; empty for a plain one."""
    if stream.is_mqtt:
        return "MQTT stream"
    if stream.is_key_value:
        return "key-value bucket"
    if stream.is_object_store:
        return "object store"
    if stream.config.mirror:
        return "mirror"
    if stream.config.retention == "workqueue":
        return "work queue"
    return "schedule stream" if stream.config.allow_msg_schedules else ""


def _roles(streams: Iterable[Stream]) -> dict[str, int]:
    counts = Counter(role for stream in streams if (role := role_of(stream)))
    return dict(sorted(counts.items()))
