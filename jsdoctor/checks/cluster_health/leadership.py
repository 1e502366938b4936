"""Whether an asset is led over several samples: for how long it is not, and whether it can be again."""

from __future__ import annotations

from functools import cached_property
from typing import TypeAlias

from jsdoctor.checks.cluster_health.raft import is_heard, quorum, silent_peers
from jsdoctor.checks.streams.leaders import led_ns
from jsdoctor.checks.streams.scaling import is_scaled
from jsdoctor.model.finding import Finding
from jsdoctor.model.jetstream import Peer
from jsdoctor.model.partial import shown_or
from jsdoctor.model.snapshot import ClusterSnapshot, Consumer, SnapshotSeries, Stream
from jsdoctor.model.wording import span

Asset: TypeAlias = Stream | Consumer


class EarlierReadings:
    """Earlier readings of the same asset, found by name and incarnation. The index is built on first use."""

    def __init__(self, snapshots: SnapshotSeries) -> None:
        self._snapshots = snapshots.snapshots[:-1]
        self.is_pasted = snapshots.last.is_pasted

    @cached_property
    def _index(self) -> list[dict[tuple[str, str, str], Asset]]:
        return [_by_key(snapshot) for snapshot in self._snapshots]

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


def _by_key(snapshot: ClusterSnapshot) -> dict[tuple[str, str, str], Asset]:
    key: dict[tuple[str, str, str], Asset] = {}
    for stream in snapshot.streams:
        key[_key(stream)] = stream
        key |= {_key(consumer): consumer for consumer in stream.consumers}
    return key


def silent_members(asset: Asset, history: EarlierReadings, silence_ns: int) -> tuple[Peer, ...]:
    """Its peers without contact to its leader.

    One that was never seen counts if the leader has led for `silence_ns`, where the server reports since when, and if
    no sample shows another number of replicas or of members: members that come and go as a stream is scaled look the
    same.
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
    """A leaderless asset. `peers`: its members as one of them reports them; `answering`: those that showed a copy."""

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
        """1 if a member responded, else 0: that member is not among `peers`; the API does not report which it is."""
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

    def why(self, silence_ns: int) -> str:
        """What keeps it from having a leader."""
        if self._too_few():
            reached = len(self.answering) or "too few"
            return f"of its members {reached} can be reached, {self.needed} are needed to elect one"
        return f"its members have had no contact with a leader for {span(max(self._quiet_ns(), silence_ns))}"


def lost_majority(asset: Asset, history: EarlierReadings, silence_ns: int) -> Finding | None:
    """A leader without contact to a majority: it accepts no more messages and steps down within some seconds."""
    peers = asset.cluster.replicas if asset.cluster else ()
    if not peers or sum(is_heard(peer, silence_ns) for peer in peers) + 1 >= quorum(len(peers) + 1):
        return None
    received = len(peers) + 1 - len(silent_members(asset, history, silence_ns))
    if received >= quorum(len(peers) + 1):
        return None
    return Finding(
        subject=asset.subject,
        message=f"its leader reaches only {received - 1} of {len(peers)} other members: nothing can be stored any more",
        measured=received,
        threshold=quorum(len(peers) + 1),
        unit="count",
        evidence=tuple(asset.observed(f"cluster.replicas[{peer.name}].active", peer.active_ns) for peer in peers),
    )
