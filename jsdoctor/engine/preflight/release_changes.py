"""What would happen if the servers ran another release: what they could not run, what changes, what they gain."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

from jsdoctor.checks.cluster_health.known_defects import CONDITIONS, affected_by
from jsdoctor.checks.cluster_health.links import cluster_of
from jsdoctor.checks.cluster_health.required_level import goes_offline, required_level
from jsdoctor.checks.server_health.unknown_request_fields import requests_to_refuse
from jsdoctor.engine.preflight.groups import Landscape
from jsdoctor.engine.preflight.judge import gap_of_field, not_seen, settled
from jsdoctor.model.defect import Defect, KnownDefects
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import CLUSTER, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.harm import Acceptance, Harm
from jsdoctor.model.partial import NotShownError, noting_unread
from jsdoctor.model.preflight import Obstacle, Preflight, SideEffect
from jsdoctor.model.release import KnownReleases, ReleaseChange, release
from jsdoctor.model.server import ConnectedServer, Server
from jsdoctor.model.snapshot import Consumer, Stream
from jsdoctor.model.wording import counted, listed

_Value = TypeVar("_Value")
_OLDEST_KNOWN = "2.10.0"
_MANY_CONSUMERS = 1_000
_SHOWN = 3


def release_preflight(
    evidence: EvidenceSet,
    target: str,
    releases: KnownReleases,
    defects: KnownDefects,
    accepted: Collection[Acceptance] = (),
) -> Preflight:
    """The result for running `target` on every server."""
    landscape = Landscape(evidence)
    with noting_unread() as unread:
        result = _Upgrade(evidence, landscape, target, releases).result(defects)
    return settled(result, accepted, (*landscape.unread, *unread))


class _Upgrade:
    """All servers change to one release."""

    def __init__(self, evidence: EvidenceSet, land: Landscape, target: str, releases: KnownReleases) -> None:
        self._evidence, self._land, self._target, self._releases = evidence, land, target, releases
        connected = evidence.get(ConnectedServer)
        found = {server.version for server in land.by_name.values()} or ({connected.version} if connected else set())
        self._running = tuple(sorted(filter(release, found), key=release))
        self._not_shown: list[NotShownError] = []

    def result(self, defects: KnownDefects) -> Preflight:
        """The obstacles, effects and gaps of the change."""
        changes = list(self._applying_changes())
        of_changes = [obstacle for change, found in changes for obstacle in _obstacles(change, found)]
        named = {obstacle.subject for obstacle in of_changes}
        unsupported = [obstacle for obstacle in self._unsupported() if obstacle.subject not in named]
        defect_obstacles, defect_effects = self._defects(defects)
        return Preflight(
            target=self._target,
            running=self._running,
            gone=tuple(sorted(self._land.gone)),
            obstacles=(*of_changes, *unsupported, *defect_obstacles),
            effects=(
                *defect_effects,
                *(_effect(change, found) for change, found in changes if not change.harm),
                *self._order(),
            ),
            unseen=tuple(self._unseen()),
        )

    def _applying_changes(self) -> Iterator[tuple[ReleaseChange, list[Subject]]]:
        """The release's changes that concern these servers, each with the subjects that meet its condition."""
        for change in self._releases.changes:
            if any(change.concerns(version, self._target) for version in self._running):
                nothing: list[Subject] = []
                found = self._shown(partial(self._met_by, change), nothing)
                if found or not change.uses:
                    yield change, found

    def _met_by(self, change: ReleaseChange) -> list[Subject]:
        return list(_CONDITIONS[change.uses](self._land)) if change.uses else []

    def _unsupported(self) -> Iterator[Obstacle]:
        """What needs a higher API level than the release has."""
        level = self._releases.level(self._target)
        assets: Sequence[Stream | Consumer] = (*self._land.streams, *_consumers(self._land.streams))
        for asset in assets:
            needed = self._shown(partial(required_level, asset), 0)
            if needed <= level:
                continue
            since = next((each.since for each in self._releases.levels if each.level >= needed), "")
            effect = "it is out of service until the servers are upgraded again"
            if not goes_offline(self._target):
                effect = "it runs without the settings that this release does not know"
            yield Obstacle(
                harm=Harm.UNSUPPORTED,
                subject=asset.subject,
                message=f"it needs API level {needed}, and {self._target} has {level}: {effect}",
                advice=f"take {since} or later, or recreate it without these settings"
                if since
                else "recreate it without these settings",
            )

    def _defects(self, defects: KnownDefects) -> tuple[list[Obstacle], list[SideEffect]]:
        """Obstacles and effects of defects that the release has or fixes, and that something deployed can meet.

        A defect that costs data is an obstacle where a later release of the same branch has fixed it.
        """
        avoidable: list[tuple[Defect, str]] = []
        brought: list[Defect] = []
        gone: list[Defect] = []
        for defect in defects.defects:
            condition = CONDITIONS.get(defect.uses)
            if not condition:
                continue
            if not any(self._shown(partial(condition, stream), False) for stream in self._land.streams):
                continue
            has = any(affected_by(defect, version) for version in self._running)
            will = affected_by(defect, self._target)
            if has and not will:
                gone.append(defect)
            elif will and not has:
                is_fixed = release(will.fixed_in)[:2] == release(self._target)[:2]
                if defect.harm == "data" and is_fixed:
                    avoidable.append((defect, will.fixed_in))
                else:
                    brought.append(defect)
        effects = [
            self._defects_effect("defects_fixed", "fixes", gone),
            self._defects_effect("defects_brought", "brings", brought),
        ]
        return self._defect_obstacle(avoidable), [effect for effect in effects if effect.count]

    def _defect_obstacle(self, defects: Sequence[tuple[Defect, str]]) -> list[Obstacle]:
        if not defects:
            return []
        known = counted(len(defects), "known defect")
        worst = "; ".join(defect.what for defect, _ in defects[:_SHOWN])
        more = f"; and {len(defects) - _SHOWN:,} more" if len(defects) > _SHOWN else ""
        newest = max((fixed_in for _, fixed_in in defects), key=release)
        message = (
            f"{self._target} has {known} that {'cost' if len(defects) > 1 else 'costs'} data and that the servers do"
        )
        return [
            Obstacle(
                harm=Harm.DEFECT,
                subject=CLUSTER,
                message=f"{message} not have now, in what is used here: {worst}{more}",
                advice=f"take {newest} or later of this branch, or --accept defects",
            )
        ]

    def _defects_effect(self, kind: str, verb: str, defects: Sequence[Defect]) -> SideEffect:
        data = sum(defect.harm == "data" for defect in defects)
        of_data = f", {data:,} of which cost data" if data else ""
        message = f"{self._target} {verb} {counted(len(defects), 'known defect')} in what is used here{of_data}"
        return SideEffect(kind=kind, message=message, count=len(defects), names=tuple(d.what for d in defects))

    def _order(self) -> Iterator[SideEffect]:
        """One after the other, and the leader of the meta group last: each stop of it is an election."""
        leaders = {group.leader for group in self._land.every if group.asset is None}
        servers = [s for s in self._land.by_name.values() if release(s.version) != release(self._target)]
        names = [s.name for s in sorted(servers, key=lambda s: (cluster_of(s) or "", s.name in leaders, s.name))]
        if len(names) > 1:
            yield SideEffect(
                kind="order",
                message=f"one after the other: {', '.join(names)}; jsdoctor preflight --without NAME --wait 10m first",
                count=len(names),
                names=tuple(names),
            )

    def _unseen(self) -> Iterator[Gap]:
        newest = self._releases.newest
        if release(self._target) > release(newest):
            reason = f"{self._target} is newer than {newest}, the newest release that this jsdoctor knows"
            yield Gap("release", CLUSTER, reason, "update jsdoctor", requested=True)
        if release(self._target) < release(_OLDEST_KNOWN):
            yield Gap("release", CLUSTER, f"releases before {_OLDEST_KNOWN} are not known", "", requested=True)
        yield from not_seen(self._evidence, self._land, ())
        yield from map(gap_of_field, self._not_shown)

    def _shown(self, read: Callable[[], _Value], otherwise: _Value) -> _Value:
        """The result of `read`, or `otherwise` and a gap if it needs a field that no reply shows."""
        try:
            return read()
        except NotShownError as error:
            self._not_shown.append(error)
            return otherwise


def _obstacles(change: ReleaseChange, found: Sequence[Subject]) -> Iterator[Obstacle]:
    for subject in found if change.harm else ():
        yield Obstacle(harm=change.harm or Harm.REFUSED, subject=subject, message=change.what, advice=change.advice)


def _effect(change: ReleaseChange, found: Sequence[Subject]) -> SideEffect:
    names = tuple(subject.label for subject in found)
    lead = f"{listed(names, _SHOWN)}: " if names else ""
    return SideEffect(kind=change.id, message=f"{lead}{change.what}; {change.advice}", count=len(names), names=names)


def _consumers(streams: Sequence[Stream]) -> Iterator[Consumer]:
    for stream in streams:
        yield from stream.consumers


def _names_with_blank(land: Landscape) -> Iterator[Subject]:
    for server in land.by_name.values():
        if " " in server.name or " " in (cluster_of(server) or ""):
            yield server.subject


def _with_many_consumers(land: Landscape) -> Iterator[Subject]:
    for stream in land.streams:
        if stream.config.max_consumers <= 0 and len(stream.consumers) >= _MANY_CONSUMERS and not _states_limit(land):
            yield stream.subject


def _states_limit(land: Landscape) -> bool:
    """Whether servers have a default of their own for the consumers of a stream."""
    return any(_default_limit(server) for server in land.by_name.values())


def _default_limit(server: Server) -> int:
    limits = server.varz.jetstream.limits if server.varz and server.varz.jetstream else None
    return limits.default_max_consumers if limits else 0


def _acks_by_flow_control(land: Landscape) -> Iterator[Subject]:
    return (each.subject for each in _consumers(land.streams) if each.config.ack_policy == "flow_control")


def _prioritized(land: Landscape) -> Iterator[Subject]:
    return (each.subject for each in _consumers(land.streams) if each.config.priority_policy == "prioritized")


def _replicated_mirrors(land: Landscape) -> Iterator[Subject]:
    return (s.subject for s in land.streams if s.config.mirror is not None and s.config.num_replicas > 1)


def _reads_acknowledged(land: Landscape) -> Iterator[Subject]:
    """Streams that mirror or source one of their account whose messages are deleted once acknowledged."""
    deleting = {(s.account, s.name) for s in land.streams if s.config.retention in ("workqueue", "interest")}
    for stream in land.streams:
        if any((stream.account, origin.name) in deleting for origin in stream.config.origins):
            yield stream.subject


_RESERVED_NAMES = ("ACK", "FC", "SNAPSHOT", "EVENT")


def _reserved_domain(land: Landscape) -> Iterator[Subject]:
    return (server.subject for server in land.by_name.values() if server.domain in _RESERVED_NAMES)


def _reserved_deliver_subject(land: Landscape) -> Iterator[Subject]:
    """Consumers that deliver to the subjects of requests, acknowledgements and replies (server: client.go)."""
    for consumer in _consumers(land.streams):
        prefix, *parts = consumer.config.deliver_subject.split(".")
        own = prefix == "$JS" and (parts[:1] == ["API"] or parts[1:2] == ["API"] or {*parts[:1]} & {*_RESERVED_NAMES})
        if own or prefix in ("_R_", "_GR_"):
            yield consumer.subject


def _unknown_fields(land: Landscape) -> Iterator[Subject]:
    """The accounts of requests with unknown fields, which servers of 2.11 log and accept; needs their logs."""
    return iter(dict.fromkeys(each.subject for each in requests_to_refuse(land.logs)) if land.logs else ())


_CONDITIONS: Mapping[str, Callable[[Landscape], Iterator[Subject]]] = {
    "acks_by_flow_control": _acks_by_flow_control,
    "name_with_blank": _names_with_blank,
    "prioritized_consumer": _prioritized,
    "reads_acknowledged_stream": _reads_acknowledged,
    "replicated_mirror": _replicated_mirrors,
    "reserved_deliver_subject": _reserved_deliver_subject,
    "reserved_domain": _reserved_domain,
    "thousand_consumers": _with_many_consumers,
    "unknown_request_fields": _unknown_fields,
}
"""The subjects that meet the condition of a change, by the condition's name in `rules/releases.toml`."""
