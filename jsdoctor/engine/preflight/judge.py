"""What would happen if servers stopped now: obstacles, effects, and what was not seen.

A stopped server stays a member of its groups: no replica is placed elsewhere (server: jetstream_cluster.go).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress

from msgspec.structs import replace

from jsdoctor.engine.preflight.groups import GroupMember, Landscape, MemberState, RaftGroup
from jsdoctor.engine.preflight.replacements import replacements
from jsdoctor.engine.preflight.surroundings import clients, links
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import CLUSTER, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.harm import Acceptance, Harm
from jsdoctor.model.partial import NotShownError, UnreadReply, noting_unread
from jsdoctor.model.preflight import Obstacle, Preflight, SideEffect
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream
from jsdoctor.model.wording import counted, joined, listed

_REPLICAS = 3
"""The fewest replicas that keep a quorum without one server."""
_SHOWN = 3
_RUN_AGAIN = "run again in some seconds"


def preflight(
    evidence: EvidenceSet,
    without: Sequence[str],
    accepted: Collection[Acceptance] = (),
    landscape: Landscape | None = None,
) -> Preflight:
    """The result for taking these servers down together, in addition to what is gone now.

    `landscape` is that of the evidence, where several choices are judged.
    """
    landscape = landscape or Landscape(evidence)
    with noting_unread() as unread:
        result = _Case(evidence, landscape, tuple(without)).judged()
    return settled(result, accepted, (*landscape.unread, *unread))


def settled(result: Preflight, accepted: Collection[Acceptance], unread: Iterable[UnreadReply]) -> Preflight:
    """The result with sorted obstacles, accepted ones marked, and distinct gaps, those of `unread` replies included."""
    harms = {harm for acceptance in accepted for harm in acceptance.harms}
    obstacles = tuple(replace(each, accepted=each.harm in harms) for each in result.obstacles)
    order, known = list(Harm), {each.subject for each in obstacles if each.subject != CLUSTER and not each.accepted}
    return replace(
        result,
        obstacles=tuple(sorted(obstacles, key=lambda each: (order.index(each.harm), each.subject.label))),
        unseen=_unseen((*result.unseen, *map(_gap_of_reply, unread)), known),
    )


def not_seen(evidence: EvidenceSet, land: Landscape, without: Sequence[str]) -> Iterator[Gap]:
    """Gaps that may hide an obstacle. For a choice of servers (`without`), another one that is gone is no gap."""
    gone = land.gone if without else frozenset()
    missing = [evidence.why_absent(k) for k in (SnapshotSeries, Servers) if evidence.get(k) is None]
    requested = [gap for gap in evidence.gaps_for(()) if gap.requested]
    for gap in dict.fromkeys((*requested, *missing)):
        if not (gap.kind == "server" and gap.subject.name in gone - frozenset(without)):
            yield gap
    servers, series = evidence.get(Servers), evidence.get(SnapshotSeries)
    for name in without if servers is not None else ():
        if name not in land.by_name:
            yield Gap(
                "server",
                Subject("server", name),
                "it did not respond, so what has its only copy there does not show",
                "start it, or name it in --monitor",
            )
        elif land.by_name[name].shares_its_name:
            yield Gap("server", Subject("server", name), "another server has its name", "see JSD722")
    if series is not None:
        yield from (
            Gap("assets", silent.subject, silent.reason or "no server responds for it", _RUN_AGAIN)
            for silent in series.last.silent
        )
        yield from (
            Gap("consumer", stream.subject, "not all of its consumers were read", _RUN_AGAIN)
            for stream in series.last.streams
            if not stream.consumers_seen
        )
    yield from map(gap_of_field, land.not_shown)


def gap_of_field(error: NotShownError) -> Gap:
    """The gap of a field that no reply shows."""
    return Gap("field", error.subject, f"{error.field} is not shown", error.how_to_get)


class _Case:
    """One choice of servers."""

    def __init__(self, evidence: EvidenceSet, landscape: Landscape, without: tuple[str, ...]) -> None:
        self._evidence, self._land, self._without = evidence, landscape, without
        self._away = frozenset(without)
        self._domains = {server.domain for name, server in landscape.by_name.items() if name in self._away}
        self._obstacles: list[Obstacle] = []
        self._unseen: list[Gap] = []
        self._effects: list[SideEffect] = []
        self._spare: list[int] = []
        self._unavailable: set[tuple[str, str]] = set()
        self._ended: list[Subject] = []
        self._moving: list[RaftGroup] = []

    def judged(self) -> Preflight:
        """The obstacles, effects and gaps of this choice."""
        affected = [group for group in self._land.every if self._has(group)]
        for group in affected:
            self._judge_group(group)
        self._unseen += not_seen(self._evidence, self._land, self._without)
        gone = self._land.gone - self._away
        for part in (clients, links):
            try:
                for item in part(self._land, self._evidence, self._away):
                    self._add(item)
            except NotShownError as error:
                self._unseen.append(gap_of_field(error))
        self._effects += [*self._leaders(), *self._readers(), *self._copies()]
        with suppress(NotShownError):  # no obstacle: nothing is claimed of what is not shown
            self._effects += replacements(self._land, affected, self._away)
        return Preflight(
            without=self._without,
            gone=tuple(sorted(gone)),
            groups=sum(group.size > 1 for group in affected),
            spare=min(self._spare, default=None),
            obstacles=tuple(self._obstacles),
            effects=tuple(self._effects),
            unseen=tuple(self._unseen),
        )

    def _add(self, item: Obstacle | SideEffect | Gap) -> None:
        if isinstance(item, Obstacle):
            self._obstacles.append(item)
        elif isinstance(item, SideEffect):
            self._effects.append(item)
        else:
            self._unseen.append(item)

    def _has(self, group: RaftGroup) -> bool:
        """Whether a member of the group is on these servers. Servers of two domains may have the same name."""
        named = any(member.name in self._away for member in group.members)
        return named and (not group.domain or not self._domains or group.domain in self._domains)

    def _judge_group(self, group: RaftGroup) -> None:
        """Add the obstacle or gap of a group; one that keeps its quorum adds to `_spare` and perhaps to `_moving`."""
        if group.stream is not None and group.stream.key in self._unavailable and not self._is_lost(group):
            return  # a consumer of a stream that is an obstacle itself
        if group.size == 1 and not group.doubt:
            self._judge_single(group)
            return
        rest = [member for member in group.members if member.name not in self._away]
        alive = [member for member in rest if not _is_gone(member)]
        sure = [member for member in alive if member.state is MemberState.CURRENT]
        maybe = [member for member in alive if member.state is MemberState.UNDECIDED]
        behind = [member for member in alive if member.state is MemberState.BEHIND]
        if not alive and group.is_in_memory:
            message = f"all {group.size} copies are in the memory of servers that would be gone, so the data is lost"
            self._add_obstacle(group, Harm.DATA_LOST, message, self._first_step(group, rest))
        elif len(alive) < group.needed:
            scale = self._possible_replicas(group.stream) if group.stream and group.size < _REPLICAS else 0
            self._add_obstacle(
                group, Harm.QUORUM_LOST, self._quorum_message(group, alive), self._first_step(group, rest), scale=scale
            )
        elif group.doubt and not group.leader:
            self._add_obstacle(
                group, Harm.NO_LEADER, f"{group.doubt}{self._only_complete_copies(group)}", "wait until it has one"
            )
        elif group.doubt:
            self._unseen.append(Gap("leader", group.subject, group.doubt, _RUN_AGAIN))
        elif len(sure) + len(maybe) < group.needed:
            verb = "has" if len(behind) == 1 else "have"
            message = f"{_members_left(alive, group)}, and {_and_why(behind)}{self._only_complete_copies(group)}"
            self._add_obstacle(group, Harm.NOT_CURRENT, message, f"wait until {_names(behind)} {verb} caught up")
        elif len(sure) < group.needed:
            reason = "; ".join(f"{member.name}: {member.why}" for member in maybe)
            self._unseen.append(Gap("member", group.subject, reason, _RUN_AGAIN))
        else:
            self._spare.append(len(sure) - group.needed)
            if group.leader in self._away:
                self._moving.append(group)

    def _is_lost(self, group: RaftGroup) -> bool:
        """Whether every copy is in the memory of a server that would be gone."""
        return group.is_in_memory and all(member.name in self._away or _is_gone(member) for member in group.members)

    def _add_obstacle(
        self, group: RaftGroup, harm: Harm, message: str, advice: str, *, scale: int = 0, remains: bool = True
    ) -> None:
        """Add an obstacle; a stream becomes unavailable with it. `remains`: members on other servers are listed."""
        rest = [member for member in group.members if member.name not in self._away] if remains else []
        if isinstance(group.asset, Stream):
            self._unavailable.add(group.asset.key)
        self._obstacles.append(
            Obstacle(
                harm=harm,
                subject=group.subject,
                message=message,
                advice=advice,
                holds=_stake(group),
                members=tuple(member.name for member in group.members),
                remaining=tuple(m.name for m in rest if m.state is not MemberState.GONE),
                behind=tuple(m.name for m in rest if m.state is MemberState.BEHIND),
                replicas=scale,
            )
        )

    def _only_complete_copies(self, group: RaftGroup) -> str:
        """Half a sentence where only servers that go hold every message of a stream in memory; else empty."""
        if not isinstance(group.asset, Stream) or not group.is_in_memory:
            return ""
        most = max((copy.state.messages for copy in group.asset.replicas), default=0)
        complete = [copy.server for copy in group.asset.replicas if copy.state.messages == most]
        if not most or not set(complete) <= self._away:
            return ""
        return f"; {joined(complete)} alone {'have' if len(complete) > 1 else 'has'} all its messages, in memory"

    def _quorum_message(self, group: RaftGroup, alive: Sequence[GroupMember]) -> str:
        """The message of a lost quorum: how many members are left, and which are gone already."""
        what = "no quorum" if _living(group) >= group.needed else "no quorum even now"
        gone = [member for member in group.members if _is_gone(member)]
        also = f", as {_names(gone)} {'are' if len(gone) > 1 else 'is'} gone already" if gone else ""
        return f"{what}: {_members_left(alive, group)}, and {group.needed} are needed{also}"

    def _first_step(self, group: RaftGroup, rest: Sequence[GroupMember]) -> str:
        gone = [member for member in rest if _is_gone(member)]
        if gone:
            return f"start {_names(gone)}, and wait until {'they have' if len(gone) > 1 else 'it has'} caught up"
        away = [member.name for member in group.members if member.name in self._away]
        if len(away) > 1:
            return f"take down one server at a time: {' and '.join(away)} are members of the same groups"
        return f"give it {_REPLICAS} replicas"

    def _judge_single(self, group: RaftGroup) -> None:
        """Add the obstacle of an asset with one copy; an ephemeral consumer is added to `_ended` instead."""
        asset, stream = group.asset, group.stream
        if asset is None or stream is None or any(_is_gone(member) for member in group.members):
            return
        is_consumer = isinstance(asset, Consumer)
        if isinstance(asset, Consumer) and not asset.config.durable_name:
            self._ended.append(group.subject)
            return
        scale = self._possible_replicas(stream)
        first = f"give it {scale} replicas" if scale else "move it, or stop its clients"
        where = " and ".join(sorted(member.name for member in group.members))
        is_lost = group.is_in_memory and (isinstance(asset, Consumer) or bool(asset.state.messages))
        if is_lost:
            what = "the position is lost" if is_consumer else "the messages are lost"
            message = f"the only copy is in the memory of {where}, so {what} at once"
            self._add_obstacle(group, Harm.DATA_LOST, message, first, scale=scale, remains=False)
        else:
            verb = "delivered" if is_consumer else "stored or delivered"
            message = f"the only copy is on {where}, so nothing is {verb} until {where} is back"
            self._add_obstacle(group, Harm.UNAVAILABLE, message, first, scale=scale, remains=False)

    def _possible_replicas(self, stream: Stream) -> int:
        """3 if the stream's cluster has that many servers with JetStream, else 0."""
        cluster = stream.cluster_name
        storing = [
            server
            for server in self._land.by_name.values()
            if server.cluster == cluster and server.jetstream and not server.jetstream.disabled
        ]
        return _REPLICAS if cluster and len(storing) >= _REPLICAS else 0

    def _leaders(self) -> Iterator[SideEffect]:
        """Groups that elect another leader, which takes seconds."""
        if not self._moving:
            return
        kinds = {"stream": 0, "consumer": 0, "meta group": 0}
        for group in self._moving:
            kinds["meta group" if group.asset is None else group.subject.kind] += 1
        parts = [counted(kinds[kind], kind) for kind in ("stream", "consumer") if kinds[kind]]
        parts += ["the meta group"] if kinds["meta group"] else []
        many = len(self._moving) > 1
        yield SideEffect(
            kind="leaders_move",
            message=f"{joined(parts)} elect{'' if many else 's'} {'new leaders' if many else 'a new leader'}",
            count=len(self._moving),
            names=tuple(group.subject.label for group in self._moving),
        )

    def _readers(self) -> Iterator[SideEffect]:
        """Readers that notice: consumers that end, pull requests and push subscriptions of leaders that move."""
        if self._ended:
            many = len(self._ended) > 1
            yield SideEffect(
                kind="consumers_end",
                message=f"{counted(len(self._ended), 'ephemeral consumer')} with one copy {'end' if many else 'ends'},"
                f" and {'their clients make new ones' if many else 'its client makes a new one'}",
                count=len(self._ended),
                names=tuple(subject.label for subject in self._ended),
            )
        led = [group.asset for group in self._moving if isinstance(group.asset, Consumer)]
        waiting = sum(consumer.num_waiting for consumer in led)
        if waiting:
            names = tuple(consumer.subject.label for consumer in led if consumer.num_waiting)
            message = f"{counted(waiting, 'waiting pull request')} must be sent again"
            yield SideEffect(kind="pulls_interrupted", message=message, count=waiting, names=names)
        bound = [consumer for consumer in led if consumer.config.is_push and consumer.push_bound]
        if bound:
            yield SideEffect(
                kind="deliveries_pause",
                message=f"{counted(len(bound), 'push consumer')} pause{'' if len(bound) > 1 else 's'} for the election",
                count=len(bound),
                names=tuple(consumer.subject.label for consumer in bound),
            )

    def _copies(self) -> Iterator[SideEffect]:
        """Mirrors and sources of streams that become unavailable."""
        series = self._land.series
        if series is None or not self._unavailable:
            return
        streams = series.last.streams
        keys = {stream.key_in_domain for stream in streams if stream.key in self._unavailable}
        copies = [
            stream
            for stream in streams
            if stream.key not in self._unavailable
            and any(stream.key_of_origin(source) in keys for source in stream.config.origins)
        ]
        if copies:
            yield SideEffect(
                kind="copies_pause",
                message=f"{listed((stream.subject.label for stream in copies), _SHOWN)}, which"
                f" cop{'y' if len(copies) > 1 else 'ies'} from there, get{'' if len(copies) > 1 else 's'} nothing new",
                count=len(copies),
                names=tuple(stream.subject.label for stream in copies),
            )


def _unseen(gaps: Iterable[Gap], known: Collection[Subject]) -> tuple[Gap, ...]:
    """One gap for each subject without an obstacle, and every gap about the whole deployment."""
    kept: dict[object, Gap] = {}
    for gap in gaps:
        if gap.subject not in known:
            kept.setdefault(gap if gap.subject == CLUSTER else gap.subject, gap)
    return tuple(kept.values())


def _stake(group: RaftGroup) -> str:
    """What is at stake: the messages of a stream, what waits for a consumer."""
    if isinstance(group.asset, Stream):
        return counted(group.asset.state.messages, "message") if group.asset.state.messages else ""
    if isinstance(group.asset, Consumer) and group.asset.from_leader:
        parts = [f"{group.asset.num_pending:,} pending"] if group.asset.num_pending else []
        parts += [f"{group.asset.num_ack_pending:,} not acknowledged"] if group.asset.num_ack_pending else []
        return ", ".join(parts)
    return ""


def _living(group: RaftGroup) -> int:
    return sum(not _is_gone(member) for member in group.members)


def _is_gone(member: GroupMember) -> bool:
    return member.state is MemberState.GONE


def _members_left(alive: Sequence[GroupMember], group: RaftGroup) -> str:
    """Such as `1 of 3 members is left (n1)`."""
    names = f" ({_names(alive)})" if alive else ""
    return f"{len(alive) or 'none'} of {group.size} members {'are' if len(alive) > 1 else 'is'} left{names}"


def _and_why(behind: Sequence[GroupMember]) -> str:
    return " and ".join(f"{member.name} is not current ({member.why})" for member in behind)


def _names(members: Sequence[GroupMember]) -> str:
    return joined([member.name for member in members])


def _gap_of_reply(reply: UnreadReply) -> Gap:
    return Gap("endpoint", reply.subject, f"{reply.name} was not read", reply.how_to_get)
