"""Reachability of peers: which of them some leader has no contact with, and which some leader has contact with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

import msgspec

from jsdoctor.checks.cluster_health.raft import (
    Asset,
    EarlierReadings,
    MetaSamples,
    is_heard,
    is_late,
    label,
    leader_of,
    meta_groups,
    silent_members,
)
from jsdoctor.checks.streams.limits import led_ns
from jsdoctor.model.finding import Finding, Observation, unknown
from jsdoctor.model.jetstream import Peer
from jsdoctor.model.release import release, version_at
from jsdoctor.model.server import ConnectedServer, Server, Servers
from jsdoctor.model.snapshot import SnapshotSeries, Stream

_REPORTS_ELECTIONS = (2, 12)
"""Since this version a leader reports since when it leads (server: jetstream_cluster.go clusterInfo)."""


class UnreachablePeer(msgspec.Struct, frozen=True):
    """A peer without contact to its leader: that of the asset, or that of the meta group if `asset` is None."""

    peer: Peer
    asset: Asset | None
    leader: Server | None = None

    @property
    def observed(self) -> tuple[Observation, ...]:
        """What the leader reported of the peer."""
        reporter: Asset | Server | None = self.asset or self.leader
        if reporter is None:
            return ()
        path = "cluster" if self.asset else "meta_cluster"
        name = f"{path}.replicas[{label(self.peer)}]"
        return (
            reporter.observed(f"{name}.active", self.peer.active_ns),
            reporter.observed(f"{name}.offline", self.peer.offline),
        )


class PeerReachability(msgspec.Struct, frozen=True):
    """Peers by name. `undecided`: no contact, but too few readings, or a leader that was elected seconds ago.

    `prompt`: peers that some leader had contact with just now. `late`: nanoseconds since the last contact with any
    leader, for peers that still count as reachable and have missed several responses.
    """

    unheard: dict[str, list[UnreachablePeer]]
    heard: frozenset[str]
    prompt: frozenset[str]
    undecided: frozenset[str]
    late: dict[str, int]


def peer_reachability(snapshots: SnapshotSeries | None, servers: Servers | None, silence_ns: int) -> PeerReachability:
    """Reachability of the peers that the leaders of the newest sample list.

    For peers without contact to their leader, earlier samples are compared.
    """
    unheard: dict[str, list[UnreachablePeer]] = defaultdict(list)
    received, prompt, seen = set[str](), set[str](), set[str]()
    late: dict[str, int] = {}
    history = EarlierReadings(snapshots) if snapshots else None
    for asset, peers in _peers_of_led_assets(snapshots) if snapshots else ():
        now = {label(peer) for peer in peers if is_heard(peer, silence_ns)}
        received |= now
        prompt |= _prompt(peers, silence_ns, late)
        if history and len(now) < len(peers):
            seen |= {label(peer) for peer in peers}
            for peer in silent_members(asset, history, silence_ns):
                unheard[label(peer)].append(UnreachablePeer(peer, asset))
    for group in meta_groups(servers) if servers else ():
        prompt |= _prompt(group.peers, silence_ns, late)
        for peer, is_silent in _meta_peers(group, silence_ns):
            seen.add(label(peer))
            if is_silent:
                unheard[label(peer)].append(UnreachablePeer(peer, None, leader_of(group.last)))
            elif is_heard(peer, silence_ns):
                received.add(label(peer))
    late = {name: ns for name, ns in late.items() if name not in prompt and name not in unheard}
    undecided = frozenset(seen - received - unheard.keys())
    return PeerReachability(dict(unheard), frozenset(received), frozenset(prompt), undecided, late)


def _prompt(peers: Iterable[Peer], silence_ns: int, late: dict[str, int]) -> set[str]:
    """The peers that responded just now. Late ones go into `late`, with the shortest time of all leaders, in ns."""
    for peer in peers:
        if is_late(peer, silence_ns):
            late[label(peer)] = min(peer.active_ns, late.get(label(peer), silence_ns))
    return {label(peer) for peer in peers if is_heard(peer, silence_ns) and not is_late(peer, silence_ns)}


def _peers_of_led_assets(snapshots: SnapshotSeries) -> Iterator[tuple[Asset, tuple[Peer, ...]]]:
    for stream in snapshots.last.led_streams():
        if stream.is_given and stream.cluster:
            yield stream, stream.cluster.replicas
        for consumer in stream.consumers:
            if consumer.from_leader and consumer.cluster:
                yield consumer, consumer.cluster.replicas


def _meta_peers(group: MetaSamples, silence_ns: int) -> Iterator[tuple[Peer, bool]]:
    leader = leader_of(group.last)
    if leader and leader.meta:
        silent = {label(peer) for peer in group.silent(silence_ns) or ()}
        yield from ((peer, label(peer) in silent) for peer in leader.meta.replicas)


def under_replicated(stream: Stream, history: EarlierReadings) -> bool:
    """Whether a stream has fewer replicas than its configuration, in every sample that shows its leader."""
    readings = [stream, *(e for e in history.before(stream) if isinstance(e, Stream) and e.from_leader)]
    return all(
        reading.cluster is not None and 1 + len(reading.cluster.replicas) < reading.config.num_replicas
        for reading in readings
    )


def being_scaled(
    stream: Stream, servers: Servers | None, connected: ConnectedServer | None, settle_ns: int
) -> Finding | None:
    """`unknown` if a stream may be being scaled: its leader is new, or a server with a copy is not listed yet.

    From 2.12 on servers report the time of the election, and none for a leader that came from a single replica: 2.12
    and 2.15 add the others to the leader's list about ten seconds after the edit. A stream that is scaled down and up
    again at once keeps its leader. A peer that was removed for good has no copy.
    """
    if stream.cluster is None:
        return None
    listed = set(stream.cluster.members)
    if {replica.server for replica in stream.replicas} - listed:
        return unknown(
            stream.subject, "a server that its leader does not list has a copy of it", "run again in a minute"
        )
    if release(version_at(stream.answered_by, servers, connected)) < _REPORTS_ELECTIONS:
        return None
    led = led_ns(stream)
    if led is not None and led >= settle_ns:
        return None
    return unknown(stream.subject, "its leader has just begun to add the configured replicas", "run again in a minute")
