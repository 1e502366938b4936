"""The Raft groups of a deployment, and what state each of their members is in.

Assets with one copy are groups of one. A leader reports a peer as current once it has had every committed entry, even
after a restart with an empty memory store: the member's own report decides as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from enum import Enum
from functools import cached_property

import msgspec

from jsdoctor.checks.cluster_health.peer_reachability import peer_reachability
from jsdoctor.checks.cluster_health.raft import (
    Asset,
    EarlierReadings,
    MetaSamples,
    is_heard,
    is_late,
    is_shown_without_group,
    label,
    leader_of,
    meta_groups,
    quorum,
    silent_members,
)
from jsdoctor.checks.servers.health import is_jetstream_off, lasting_reasons, settled_reasons, uptime_ns
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Subject
from jsdoctor.model.jetstream import Peer
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.partial import NotShownError, UnreadReply, noting_unread
from jsdoctor.model.raft import META_GROUP, RaftGroups, RaftMember
from jsdoctor.model.server import ConnectedServer, Server, Servers
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream, StreamReplica
from jsdoctor.model.wording import span

_SILENCE_NS = 10_000_000_000
"""Time without contact after which a server regards a peer as lost (server: raft.go lostQuorumInterval)."""
_SETTLE_NS = 60_000_000_000
"""How long a health check may fail after a change before its reason counts."""
_YOUNG_NS = 10_000_000_000
"""How long after its start a server may not have begun all its groups."""
_IN_FLIGHT = timedelta(seconds=2)
"""Time after which a message that its stream has stored has reached every member that is current."""


class MemberState(Enum):
    """Whether a member counts for the quorum, and could lead at once."""

    CURRENT = "current"
    BEHIND = "behind"
    GONE = "gone"
    UNDECIDED = "undecided"


class GroupMember(msgspec.Struct, frozen=True):
    """A member of a group. `why` says how its state is known."""

    name: str
    state: MemberState
    why: str = ""


class RaftGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group. `asset` None: the meta group. `doubt`: why the state of its members is not known.

    `size` counts every member, the lost ones too. No `leader`: no server leads it now.
    """

    subject: Subject
    members: tuple[GroupMember, ...]
    size: int
    leader: str
    domain: str = ""
    asset: Asset | None = None
    stream: Stream | None = None
    doubt: str = ""

    @property
    def needed(self) -> int:
        """How many members must agree."""
        return quorum(self.size)

    @property
    def is_in_memory(self) -> bool:
        """Whether what it stores is gone when its last member stops."""
        storage = self.stream.config.storage if self.stream else "file"
        return storage == "memory" or (isinstance(self.asset, Consumer) and self.asset.config.mem_storage)


class Landscape:
    """All groups of the newest sample. Earlier samples show what is temporary.

    `not_shown` and `unread` are what the groups lack. They are filled by the first use of `every`.
    """

    def __init__(self, evidence: EvidenceSet) -> None:
        self._evidence = evidence.for_checks()
        self.series = self._evidence.get(SnapshotSeries)
        self.servers = self._evidence.get(Servers)
        self.logs = self._evidence.get(LogEvidence)
        self._groups = self._evidence.get(RaftGroups)
        self.not_shown: list[NotShownError] = []
        self.unread: tuple[UnreadReply, ...] = ()
        self.by_name: dict[str, Server] = {s.name: s for s in self.servers.servers} if self.servers else {}

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The streams of the newest sample."""
        return self.series.last.streams if self.series else ()

    @cached_property
    def gone(self) -> frozenset[str]:
        """Members that no leader has contact with, and servers that respond with JetStream switched off."""
        reachability = peer_reachability(self.series, self.servers, _SILENCE_NS)
        peers = reachability.heard | reachability.unheard.keys() | reachability.undecided
        # A server without a jetstream block says the same of itself, and is no member of any group.
        off = {
            name
            for name, server in self.by_name.items()
            if server.jetstream is not None
            and server.jetstream.disabled
            and (name in peers or is_jetstream_off(server))
        }
        silent = {n for n in reachability.unheard if n not in reachability.heard and n not in self.by_name}
        return frozenset(silent | off)

    @cached_property
    def every(self) -> tuple[RaftGroup, ...]:
        """Every group: the meta groups first, then each stream with its consumers."""
        with noting_unread() as unread:
            groups = (*self._meta_groups(), *self._asset_groups())
        self.unread = tuple(unread)
        return groups

    @cached_property
    def names(self) -> frozenset[str]:
        """The servers that responded, and those that groups name as members."""
        connected = self._evidence.get(ConnectedServer)
        own = {connected.server_name} - {""} if connected else set()
        return frozenset({*self.by_name, *own, *(member.name for group in self.every for member in group.members)})

    def _meta_groups(self) -> Iterator[RaftGroup]:
        for group in meta_groups(self.servers) if self.servers else ():
            leader = leader_of(group.last)
            named = sorted(group.named()[-1])
            known = [server.name for server in group.last]
            if leader is None or leader.meta is None:
                peers = {label(peer) for server in group.last if server.meta for peer in server.meta.replicas}
                doubt = f"its leader {named[0]} did not respond" if named else "no server leads it now"
                members = tuple(GroupMember(n, MemberState.UNDECIDED) for n in sorted({*known, *peers}))
            else:
                doubt = "" if len(named) == 1 else f"servers name different leaders: {', '.join(named)}"
                silent = {label(peer) for peer in group.silent(_SILENCE_NS) or ()}
                followers = (self._meta_peer(peer, group, leader, silent) for peer in leader.meta.replicas)
                members = (GroupMember(leader.name, MemberState.CURRENT), *followers)
            yield RaftGroup(
                subject=group.subject,
                members=members,
                size=max(group.size, len(members)),
                leader=named[0] if named else "",
                domain=group.domain,
                doubt=doubt,
            )

    def _meta_peer(self, peer: Peer, group: MetaSamples, leader: Server, silent: set[str]) -> GroupMember:
        """A follower of the meta group: behind if it lagged in each of several samples."""
        name = label(peer)
        if (contact := self._contact(peer, name in silent or name in self.gone)) is not None:
            return contact
        if (own := self._own_report(name, leader.name, META_GROUP)) is not None:
            return own
        readings = [
            {label(p): p for p in view.meta.replicas}
            for sample in group.samples
            if (view := leader_of(sample)) and view.meta
        ]
        lagging = [r[name].lag for r in readings if name in r and not r[name].current]
        if not peer.current and len(lagging) == len(readings) > 1 and min(lagging) > 0:
            return GroupMember(name, MemberState.BEHIND, f"{peer.lag:,} entries behind")
        if not peer.current and peer.lag and len(readings) < 2:
            return GroupMember(name, MemberState.UNDECIDED, "not current in the only sample")
        return GroupMember(name, MemberState.CURRENT)

    def _asset_groups(self) -> Iterator[RaftGroup]:
        """The groups of streams and consumers. Adds fields that are not shown to `not_shown`."""
        if self.series is None:
            return
        history = EarlierReadings(self.series)
        for stream in self.series.last.streams:
            assets: tuple[Asset, ...] = (*((stream,) if stream.is_given else ()), *stream.consumers)
            for asset in assets:
                try:
                    if not (isinstance(asset, Consumer) and asset.config.direct):
                        yield self._asset_group(asset, stream, history)
                except NotShownError as error:
                    self.not_shown.append(error)

    def _asset_group(self, asset: Asset, stream: Stream, history: EarlierReadings) -> RaftGroup:
        replicas = asset.config.replicas_on(stream.config) if isinstance(asset, Consumer) else asset.config.num_replicas
        leader = asset.cluster.leader if asset.cluster else asset.answered_by or self._unclustered_server
        doubt = ""
        if not asset.from_leader:
            doubt = f"its leader {leader} did not respond" if asset.has_leader and leader else "no server leads it now"
            leader = leader if asset.has_leader else ""
        elif replicas > 1 and is_shown_without_group(asset, stream):
            doubt = f"{asset.answered_by} shows no group of it: it is being scaled, or has just been started"
        peers = asset.cluster.replicas if asset.cluster else ()
        if doubt:
            names = {leader, asset.answered_by, *map(label, peers), *(copy.server for copy in asset.replicas)} - {""}
            members = tuple(
                GroupMember(n, MemberState.GONE if n in self.gone else MemberState.UNDECIDED) for n in sorted(names)
            )
        else:
            silent = {label(peer) for peer in silent_members(asset, history, _SILENCE_NS)}
            first = self._health(leader, asset) or GroupMember(leader, MemberState.CURRENT)
            members = (first, *(self._asset_peer(peer, asset, history, silent) for peer in peers))
        return RaftGroup(
            subject=asset.subject,
            members=members,
            size=max(len(members), replicas if doubt else 1),
            leader=leader,
            domain=stream.domain,
            asset=asset,
            stream=stream,
            doubt=doubt,
        )

    @property
    def _unclustered_server(self) -> str:
        """The server outside of any cluster that a login of an account is connected to."""
        connected = self._evidence.get(ConnectedServer)
        return connected.server_name if connected else ""

    def _asset_peer(self, peer: Peer, asset: Asset, history: EarlierReadings, silent: set[str]) -> GroupMember:
        name = label(peer)
        if (contact := self._contact(peer, name in silent or name in self.gone)) is not None:
            return contact
        if (unhealthy := self._health(name, asset)) is not None:
            return unhealthy
        group = asset.cluster.raft_group if asset.cluster else ""
        leader = asset.cluster.leader if asset.cluster else ""
        if (own := self._own_report(name, leader, group)) is not None:
            return own
        before = [reading for reading in history.before(asset) if reading.from_leader]
        if isinstance(asset, Stream) and (copy := next((c for c in asset.replicas if c.server == name), None)):
            earlier = [reading for reading in before if isinstance(reading, Stream)]
            if (short := _copy_state(copy, asset, earlier)) is not None:
                return short
        if peer.current:
            return GroupMember(name, MemberState.CURRENT)
        if before:
            new_entries = _entries(asset) - _entries(before[-1])
            if peer.lag <= max(new_entries, 0):
                return GroupMember(name, MemberState.CURRENT)
            return GroupMember(name, MemberState.BEHIND, f"{peer.lag:,} entries behind")
        return GroupMember(name, MemberState.UNDECIDED, "not current in the only sample")

    def _contact(self, peer: Peer, is_gone: bool) -> GroupMember | None:
        """The state of a member without recent contact to its leader or to jsdoctor; None where contact is good."""
        name = label(peer)
        if is_gone:
            since = f"not seen for {span(peer.active_ns)}" if peer.active_ns else "not seen"
            off = self.by_name.get(name)
            why = "its JetStream is off" if off and off.jetstream and off.jetstream.disabled else since
            return GroupMember(name, MemberState.GONE, why)
        if not is_heard(peer, _SILENCE_NS):
            return GroupMember(name, MemberState.UNDECIDED, "its leader has had no contact with it so far")
        if is_late(peer, _SILENCE_NS):
            return GroupMember(name, MemberState.UNDECIDED, f"not seen for {span(peer.active_ns)}")
        if name not in self.by_name and self.servers is not None and self.servers.complete:
            return GroupMember(name, MemberState.UNDECIDED, "it did not respond to jsdoctor")
        return None

    @cached_property
    def _reports(self) -> list[Mapping[tuple[str, str], RaftMember]]:
        """What members report of themselves in each sample, by server and group."""
        return [
            {(member.server, member.group): member for member in sample}
            for sample in (self._groups.samples if self._groups else ())
        ]

    def _own_report(self, name: str, leader: str, group: str) -> GroupMember | None:
        """The state of a member by its own report, if it lacks what its leader had committed one sample earlier.

        None if it lacks nothing, or reports nothing. A server that was just started and reports nothing is undecided.
        """
        own = self._reports[-1].get((name, group)) if self._reports and group else None
        if own is None:
            uptime = uptime_ns(self.by_name[name]) if name in self.by_name else None
            is_young = uptime is not None and uptime < _YOUNG_NS
            return GroupMember(name, MemberState.UNDECIDED, f"started {span(uptime or 0)} ago") if is_young else None
        if own.state.catching_up or own.state.paused or own.state.overrun:
            return GroupMember(name, MemberState.BEHIND, "it is catching up")
        then = self._reports[-2].get((leader, group)) if len(self._reports) > 1 else None
        now = self._reports[-1].get((leader, group))
        has = min(own.state.pindex, own.state.applied)
        if then is not None and now is not None and then.state.term == now.state.term and has < then.state.committed:
            return GroupMember(name, MemberState.BEHIND, f"{now.state.committed - has:,} entries behind")
        if then is None and now is not None and has < now.state.committed:
            return GroupMember(name, MemberState.UNDECIDED, "it had fewer entries than its leader in the only sample")
        return None

    @cached_property
    def _unhealthy(self) -> Mapping[tuple[str, str, str, str], str]:
        """The reasons of failing health checks, by server, account, stream and consumer."""
        if self.servers is None:
            return {}
        return {
            (server.name, error.account, error.stream, error.consumer): error.error
            for server in self.servers.servers
            for error in settled_reasons(
                server, lasting_reasons(server, self.servers.earlier), self.series, self._groups, _SETTLE_NS
            )
        }

    def _health(self, name: str, asset: Asset) -> GroupMember | None:
        stream, consumer = (asset.stream, asset.name) if isinstance(asset, Consumer) else (asset.name, "")
        why = self._unhealthy.get((name, asset.account, stream, consumer))
        return GroupMember(name, MemberState.BEHIND, f"its health check fails: {why}") if why else None


def _entries(asset: Asset) -> int:
    """About how many Raft entries the group has had: messages of a stream, deliveries and acks of a consumer."""
    if isinstance(asset, Stream):
        return asset.state.last_seq
    return asset.delivered.consumer_seq + asset.ack_floor.consumer_seq


def _copy_state(copy: StreamReplica, stream: Stream, earlier: list[Stream]) -> GroupMember | None:
    """The state of a copy that lacks messages which the leader had one sample earlier; None if it has them.

    With a single sample it lacks the last message if that was stored more than `_IN_FLIGHT` ago. An empty copy counts
    only where no acknowledgement and no age removes messages, as copies do so at different times.
    """
    lacking = stream.state.last_seq - copy.state.last_seq
    keeps = stream.config.retention == "limits" and not stream.config.max_age_ns
    is_empty = keeps and stream.state.messages > 0 and not copy.state.messages
    if lacking <= 0 and not is_empty:
        return None
    why = f"{stream.state.messages if is_empty else lacking:,} messages behind"
    if earlier:
        is_behind = is_empty or copy.state.last_seq < earlier[-1].state.last_seq
        return GroupMember(copy.server, MemberState.BEHIND, why) if is_behind else None
    last_ts = stream.state.last_ts
    if last_ts is not None and stream.at - last_ts > _IN_FLIGHT:
        return GroupMember(copy.server, MemberState.BEHIND, why)
    return GroupMember(copy.server, MemberState.UNDECIDED, f"{why} in the only sample")
