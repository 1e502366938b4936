"""Raft groups: quorum, members without contact, absent leaders, the meta group, assets without a running group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import TypeAlias

import msgspec

from jsdoctor.checks.servers.health import uptime_ns
from jsdoctor.checks.streams.limits import is_scaled, led_ns
from jsdoctor.model.finding import CLUSTER, Finding, Observation, Subject, failed, suspected, unknown
from jsdoctor.model.jetstream import Peer
from jsdoctor.model.partial import shown_or
from jsdoctor.model.raft import META_GROUP, RaftGroups
from jsdoctor.model.server import Server, Servers
from jsdoctor.model.snapshot import ClusterSnapshot, Consumer, SnapshotSeries, Stream
from jsdoctor.model.trend import ConsumerHistory, StreamHistory, Trend
from jsdoctor.model.wording import joined, span

_SECOND_NS = 1_000_000_000

UNKNOWN_NAME = "Server name unknown"
"""Prefix of the reported name of a peer that the server has had no contact with since it started.

Server: jetstream_cluster.go.
"""


def quorum(size: int) -> int:
    """How many members of a group of `size` must agree (server: raft.go)."""
    return size // 2 + 1


def label(peer: Peer) -> str:
    """A peer's name, or its id if the server that reported it does not know the name."""
    return peer.peer if peer.name.startswith(UNKNOWN_NAME) else peer.name


def is_heard(peer: Peer, silence_ns: int) -> bool:
    """Whether the leader had contact with this peer lately. `current` stays true for ten seconds after a peer died."""
    return not peer.offline and 0 < peer.active_ns < silence_ns


def is_late(peer: Peer, silence_ns: int) -> bool:
    """Whether a peer that still counts as reachable missed several responses in a row: they arrive every second."""
    return is_heard(peer, silence_ns) and peer.active_ns >= silence_ns // 2


def silent_peers(readings: Sequence[Collection[Peer]], silence_ns: int, is_settled: bool = True) -> tuple[Peer, ...]:
    """Peers of the newest reading without contact in any reading; `readings` are a leader's peers, oldest first.

    A new leader reports "never seen" for all peers, and any leader does for a peer that is just being added. Such a
    peer counts only if the group `is_settled`, there are several readings, and all of them list it.
    """
    labels = [{label(peer) for peer in peers} for peers in readings]
    received = {label(peer) for peers in readings for peer in peers if is_heard(peer, silence_ns)}
    lasting = set.intersection(*labels) if is_settled and len(labels) > 1 else set()
    return tuple(
        peer
        for peer in readings[-1]
        if label(peer) not in received and (peer.offline or peer.active_ns > 0 or label(peer) in lasting)
    )


Asset: TypeAlias = Stream | Consumer


def assets_by_group(snapshots: SnapshotSeries | None) -> dict[str, Asset]:
    """The stream or consumer of each Raft group. The names of groups are random, so unique whatever the account."""
    assets = _assets(snapshots.last) if snapshots else ()
    return {asset.cluster.raft_group: asset for asset in assets if asset.cluster and asset.cluster.raft_group}


def _assets(snapshot: ClusterSnapshot) -> Iterator[Asset]:
    for stream in snapshot.streams:
        yield stream
        yield from stream.consumers


class EarlierReadings:
    """Earlier readings of the same asset, found by name and incarnation. The index is built on first use."""

    def __init__(self, snapshots: SnapshotSeries) -> None:
        self._snapshots = snapshots.snapshots[:-1]
        self.is_pasted = snapshots.last.is_pasted

    @cached_property
    def _index(self) -> list[dict[tuple[str, str, str], Asset]]:
        return [{_key(asset): asset for asset in _assets(snapshot)} for snapshot in self._snapshots]

    def before(self, asset: Asset) -> list[Asset]:
        """Its readings in the samples before the last, oldest first."""
        result = [index.get(_key(asset)) for index in self._index]
        return [earlier for earlier in result if earlier is not None and earlier.created == asset.created]

    def watched_ns(self, asset: Asset) -> int:
        """Time between its first and its last reading."""
        readings = [*self.before(asset), asset]
        return max(0, int((readings[-1].at - readings[0].at).total_seconds() * 1e9))


def _key(asset: Asset) -> tuple[str, str, str]:
    return (asset.account, asset.stream, asset.name) if isinstance(asset, Consumer) else (asset.account, asset.name, "")


def members_of(stream: Stream) -> tuple[str, ...]:
    """The servers that hold it, by name; the leader is not among its own replicas."""
    return tuple(sorted(stream.cluster.members)) if stream.cluster else ()


def histories_of(trend: Trend) -> Iterator[StreamHistory | ConsumerHistory]:
    """Those of all streams, then those of all consumers."""
    yield from trend.streams()
    yield from trend.consumers()


def silent_members(asset: Asset, history: EarlierReadings, silence_ns: int) -> tuple[Peer, ...]:
    """The peers of an asset without contact to its leader.

    A peer that was never seen counts if the leader has led for `silence_ns` (or does not report since when), and if no
    sample shows another number of replicas or members, as while a stream is scaled.
    """
    if asset.cluster is None:
        return ()
    earlier = [reading for reading in history.before(asset) if reading.from_leader and reading.cluster]
    led = led_ns(asset)
    # 0: as many as the stream of a consumer has, or not shown by a pasted part of a reply.
    wanted = shown_or(lambda: asset.config.num_replicas, 0)
    is_whole = wanted in (0, len(asset.cluster.replicas) + 1)
    is_settled = (led is None or led >= silence_ns) and is_whole and not is_scaled((*earlier, asset))
    replicas = [reading.cluster.replicas for reading in (*earlier, asset) if reading.cluster]
    return silent_peers(replicas, silence_ns, is_settled)


class LeaderAbsence:
    """An asset without a leader. `peers`: the other members, as one reports them; `answering`: those that responded."""

    def __init__(self, asset: Asset, stream: Stream) -> None:
        self.asset, self.stream = asset, stream
        # A report names its members without their state; that it marks none of them as the leader shows nevertheless.
        none: tuple[Peer, ...] = ()
        replicas = shown_or(lambda: asset.cluster.replicas if asset.cluster else none, none)
        self.peers: tuple[Peer, ...] = tuple(peer for peer in replicas if peer.name != asset.answered_by)
        self.answering = {replica.server for replica in asset.replicas} | ({asset.answered_by} - {""})

    @property
    def needed(self) -> int:
        """How many members must take part in an election."""
        configured = shown_or(lambda: self.asset.config.num_replicas or self.stream.config.num_replicas, 0)
        return quorum(max(configured, len(self.peers) + self._itself))

    @property
    def _itself(self) -> int:
        """1 if a member responded, else 0: the responding member is not among `peers`."""
        return 1 if self.asset.answered_by else 0

    @property
    def age_ns(self) -> int:
        """Time since the asset was created; very long when unknown."""
        created = self.asset.created
        return 1 << 62 if created is None else int((self.asset.at - created).total_seconds() * 1e9)

    def _quiet_ns(self) -> int:
        """Shortest time since contact with any member, in nanoseconds; 0 if the server does not report it."""
        return min((peer.active_ns for peer in self.peers if peer.active_ns > 0), default=0)

    def _too_few(self) -> bool:
        online = sum(not peer.offline for peer in self.peers) + self._itself
        return 0 < len(self.answering) < self.needed or (bool(self.peers) and online < self.needed)

    def is_lasting(self, silence_ns: int) -> bool:
        """Whether this is more than an election: too few members are left, or no contact for `silence_ns`."""
        return self._too_few() or self._quiet_ns() >= silence_ns

    @property
    def since(self) -> datetime | None:
        """When its members last had contact with a leader; None where they do not show it."""
        quiet_ns = self._quiet_ns()
        return None if self._too_few() or not quiet_ns else self.asset.at - timedelta(microseconds=quiet_ns // 1000)

    def why(self, silence_ns: int) -> str:
        """What keeps it from having a leader."""
        if self._too_few():
            if self.needed == 1:
                return f"its only copy is on {joined([peer.name for peer in self.peers])}, which cannot be reached"
            reached = f"only {len(self.answering)}" if 0 < len(self.answering) < self.needed else "too few"
            return f"{reached} of its members can be reached, and it takes {self.needed} to elect one"
        return f"its members have had no contact with a leader for {span(max(self._quiet_ns(), silence_ns))}"


def lost_majority(asset: Asset, history: EarlierReadings, silence_ns: int) -> Finding | None:
    """A leader without contact to a majority: it accepts no more messages and steps down within some seconds."""
    peers = asset.cluster.replicas if asset.cluster else ()
    if not peers or sum(is_heard(peer, silence_ns) for peer in peers) + 1 >= quorum(len(peers) + 1):
        return None
    received = len(peers) + 1 - len(silent_members(asset, history, silence_ns))
    if received >= quorum(len(peers) + 1):
        return None
    return failed(
        asset.subject,
        f"its leader reaches only {received - 1} of {len(peers)} other members: nothing can be stored any more",
        *(asset.observed(f"cluster.replicas[{peer.name}].active", peer.active_ns) for peer in peers),
        measured=(received, quorum(len(peers) + 1), "count"),
    )


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


_META_FIRST = "see the result for the meta group (JSD701), and run again when it has a leader"
_AGAIN = "run again in ten seconds, with at least two samples"


class Assignments:
    """Finds assets that a server lists but may not run: not assigned by the meta group, or without a running group.

    Scaling is proposed to the meta group, so none can go on where a server knew no meta leader since it started. Where
    it did know one, scaling may take seconds longer than that leader lives: measured on 2.15.1, for consumers.
    """

    def __init__(self, servers: Servers | None, groups: RaftGroups | None, settle_ns: int) -> None:
        self._settle_ns = settle_ns
        self._samples = [{server.name: server for server in sample} for sample in servers.samples] if servers else []
        self._had_meta_leader = {
            member.server: member.state.ever_had_leader
            for member in (groups.last if groups else ())
            if member.group == META_GROUP
        }

    def doubt(self, asset: Asset, stream: Stream, history: EarlierReadings) -> Finding | None:
        """A finding that the leader of an asset is not known; None where the replies show whether it has one.

        It has none if its server shows no group for several replicas, has long been up and never knew a meta leader.
        """
        if not is_shown_without_group(asset, stream):
            return None
        name, config = asset.answered_by, asset.config
        replicas = config.num_replicas
        if isinstance(asset, Consumer):
            replicas = asset.config.replicas_on(stream.config)
        if replicas <= 1:
            is_doubtful = not asset.from_leader or self._lacks_meta_leader(name)
            return self._maybe_not_served(asset) if is_doubtful else None
        if asset.from_leader or self._had_meta_leader.get(name) is not False:
            reason = f"{name} reports it as its own and shows no Raft group for it: it is being scaled, the server has"
            return suspected(asset.subject, f"{reason} just started, or the group does not run", _AGAIN)
        if not history.before(asset):
            return suspected(asset.subject, f"{name} shows no Raft group for it in the only sample", _AGAIN)
        server = self._samples[-1].get(name) if self._samples else None
        uptime = uptime_ns(server) if server else None
        if uptime is None or uptime < self._settle_ns:
            since = "at a time that was not read" if uptime is None else f"{span(uptime)} ago"
            return unknown(asset.subject, f"{name} started {since} and knows no meta leader yet", _AGAIN)
        return None

    def _lacks_meta_leader(self, name: str) -> bool:
        """Whether the server names no meta leader in any sample, and is not known to have had one since it started."""
        readings = [sample[name].meta for sample in self._samples if name in sample]
        is_missing = bool(readings) and all(meta is not None and not meta.leader for meta in readings)
        return is_missing and not self._had_meta_leader.get(name)

    def _maybe_not_served(self, asset: Asset) -> Finding:
        had = self._had_meta_leader.get(asset.answered_by)
        since = "had none since it started" if had is False else "may have had none since it started"
        reason = f"{asset.answered_by} knows no meta leader and {since}: from 2.12 on it serves nothing that it lists"
        return unknown(asset.subject, reason, _META_FIRST)


def is_shown_without_group(asset: Asset, stream: Stream) -> bool:
    """Whether the server that responded names itself, or shows no cluster for a consumer of a stream in one."""
    if asset.cluster is None:
        return asset is not stream and stream.cluster is not None and bool(stream.cluster.name)
    leader = asset.cluster.leader
    return bool(leader) and leader == asset.answered_by and asset.cluster.shows_no_group
