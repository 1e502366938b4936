"""JSD702: a stream or consumer that no server leads, or whose leader has lost its majority.

Also a stream or consumer that several servers report to lead, in every sample.
From logs: streams and consumers whose group lost its majority, and stream lists to which leaders did not respond.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from jsdoctor.checks.cluster_health.raft import (
    Asset,
    Assignments,
    EarlierReadings,
    LeaderAbsence,
    histories_of,
    is_heard,
    is_late,
    is_shown_without_group,
    lost_majority,
    quorum,
)
from jsdoctor.checks.cluster_health.required_level import is_offline, level_of, required_level, takes_out_of_service
from jsdoctor.checks.logs.bursts import bursts
from jsdoctor.checks.logs.log_findings import detailed_finding
from jsdoctor.checks.logs.log_incidents import AROUND_US, LogIncident, log_incidents
from jsdoctor.checks.registry import check
from jsdoctor.checks.servers.health import uptime_ns
from jsdoctor.checks.streams.limits import is_scaled, led_ns
from jsdoctor.model.finding import CLUSTER, Finding, Observation, Severity, failed, passed, suspected, unknown
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.raft import RaftGroups, RaftMember
from jsdoctor.model.server import Server, Servers
from jsdoctor.model.snapshot import MAX_UNRESPONSIVE, Consumer, SnapshotSeries, Stream
from jsdoctor.model.trend import Trend
from jsdoctor.model.wording import span

_AGAIN = "run again in ten seconds, with at least two samples: an election takes four to nine seconds"
_UNANSWERED = {"unanswered": True}


@check("cluster_health.asset_leaderless")
def asset_leaderless(
    snapshots: SnapshotSeries, servers: Servers | None, groups: RaftGroups | None, params: Params
) -> Iterator[Finding]:
    """A group without a leader accepts and delivers nothing (server: raft.go, jetstream_cluster.go)."""
    silence_ns = params.integer("silence")
    settle_ns, history = params.integer("settle"), EarlierReadings(snapshots)
    assignments, beginnings = Assignments(servers, groups, settle_ns), Beginnings(servers, groups, settle_ns)
    every = servers.servers if servers else ()
    by_name = {server.name: server for server in every if takes_out_of_service(server)}
    for stream in snapshots.last.streams:
        if is_offline(stream, by_name.get(stream.answered_by)):
            yield _offline(stream, by_name[stream.answered_by])
            continue
        if stream.is_given:
            yield assignments.doubt(stream, stream, history) or _judged(stream, stream, history, beginnings, silence_ns)
        if stream.from_leader:
            for consumer in stream.consumers:
                if is_offline(consumer, by_name.get(consumer.answered_by)):
                    yield _offline(consumer, by_name[consumer.answered_by])
                else:
                    doubt = assignments.doubt(consumer, stream, history)
                    yield doubt or _judged(consumer, stream, history, beginnings, silence_ns)
    always = set.intersection(*({asset.subject for asset in sample.silent} for sample in snapshots.snapshots))
    for silent in snapshots.last.silent[:MAX_UNRESPONSIVE]:
        yield failed(
            silent.subject,
            f"it exists and no server responds for it: {silent.reason}",
            Observation("$JS.API", "offline" if silent.offline else "missing", silent.subject.name),
            severity=None if silent.subject in always else Severity.ERROR,
            remedy=_UNANSWERED,
        )
    if (more := len(snapshots.last.silent) - MAX_UNRESPONSIVE) > 0:
        yield failed(
            CLUSTER,
            f"{more} more streams and consumers exist and no server responds for them",
            Observation("$JS.API", "missing", more),
            measured=(more, None, "count"),
        )


def _offline(asset: Asset, server: Server) -> Finding:
    """A server that lacks the asset's API level lists it as if it led it, and refuses its clients (10194, 10195)."""
    return failed(
        asset.subject,
        f"it needs API level {required_level(asset)} and {server.name} of version {server.version} has"
        f" {level_of(server)}: it is offline, and its clients are refused",
        asset.observed("config.metadata._nats.req.level", required_level(asset)),
        server.observed("api.level", level_of(server)),
        measured=(level_of(server), required_level(asset), "count"),
        remedy=_UNANSWERED,
    )


def _judged(asset: Asset, stream: Stream, history: EarlierReadings, beginnings: Beginnings, silence_ns: int) -> Finding:
    subject, leader = asset.subject, asset.cluster.leader if asset.cluster else ""
    if asset.has_leader and not asset.from_leader:
        return unknown(subject, f"its leader {leader} did not report it", "see the gaps of this run")
    if asset.has_leader:
        return lost_majority(asset, history, silence_ns) or _may_lose_majority(asset, silence_ns) or passed(subject)
    if any(earlier.has_leader for earlier in history.before(asset)):
        return suspected(subject, "it lost its leader between the samples: an election may be going on", _AGAIN)
    absence = LeaderAbsence(asset, stream)
    if history.is_pasted and not absence.is_lasting(silence_ns):
        return _leaderless(absence, "in what was given, which may show an election of some seconds", Severity.ERROR)
    if not absence.is_lasting(silence_ns):
        if absence.age_ns < silence_ns:
            return unknown(subject, f"it has no leader and was created {span(absence.age_ns)} ago", _AGAIN)
        if not history.before(asset):
            return suspected(subject, "it has no leader in the only look: an election may be going on", _AGAIN)
        if history.watched_ns(asset) < silence_ns and (why := beginnings.why(asset, history)):
            again = f"run again with --samples 2 --interval {silence_ns // 10**9}s"
            return suspected(asset.subject, f"it has no leader {why}: an election may be going on", again)
        return _leaderless(absence, f"for {span(history.watched_ns(asset))} at least, {_AGAIN}", Severity.ERROR)
    return _leaderless(absence, absence.why(silence_ns), None)


def _may_lose_majority(asset: Asset, silence_ns: int) -> Finding | None:
    """A leader that may be losing its majority: several heartbeat responses in a row are missing."""
    peers = asset.cluster.replicas if asset.cluster else ()
    late = sum(is_late(peer, silence_ns) for peer in peers)
    received = sum(is_heard(peer, silence_ns) for peer in peers)
    if not late or received - late + 1 >= quorum(len(peers) + 1):
        return None
    return suspected(
        asset.subject,
        f"its leader has not received responses of {late} of {len(peers)} other members for some seconds",
        _AGAIN,
    )


def _leaderless(absence: LeaderAbsence, why: str, severity: Severity | None) -> Finding:
    asset = absence.asset
    what = "cannot be published to or read" if asset is absence.stream else "delivers nothing"
    path = "cluster.raft_group" if is_shown_without_group(asset, absence.stream) else "cluster.leader"
    return failed(
        asset.subject,
        f"it has no leader and {what}: {why}",
        Observation(asset.answered_by, path, None, asset.at),
        *(asset.observed(f"cluster.replicas[{peer.name}].active", peer.active_ns) for peer in absence.peers),
        severity=severity,
        measured=(len(absence.answering) or None, absence.needed, "count"),
        between=(absence.since, None),
        remedy=_UNANSWERED,
    )


@check("cluster_health.two_leaders")
def two_leaders(trend: Trend, params: Params) -> Iterator[Finding]:
    """Servers that report to lead the same asset in every sample.

    One sample is no proof: after a partition the old leader may act as leader for seconds (server: raft.go).
    """
    for history in histories_of(trend):
        readings = history.readings
        if not readings[-1].replicas:
            continue
        always = set.intersection(*map(_leaders, readings))
        if len(always) < 2:
            continue
        last, names = readings[-1], " and ".join(sorted(always))
        if doubt := _may_be_electing(readings, names, params.integer("silence")):
            yield doubt
            continue
        yield failed(
            last.subject,
            f"{names} each say that they lead it, in every sample: what one of them takes in, the others lack",
            *(last.observed(f"cluster.leader@{name}", name) for name in sorted(always)),
            measured=(len(always), 1, "count"),
        )


def _leaders(asset: Asset) -> set[str]:
    return {asset.answered_by} | {replica.server for replica in asset.replicas if replica.is_leader}


def _may_be_electing(readings: Sequence[Stream] | Sequence[Consumer], names: str, silence_ns: int) -> Finding | None:
    """A suspicion if the state may end within `silence_ns`: no leader elected yet, or the old and the new one.

    A server whose Raft node does not run names itself, without peers (server: jetstream_cluster.go clusterInfo). In a
    cold start all members do so at once, and the servers that a stream of one replica has just left.
    """
    last, watched_ns = readings[-1], int((readings[-1].at - readings[0].at).total_seconds() * 1e9)
    if watched_ns >= silence_ns:
        return None
    again = f"run again with --samples 2 --interval {silence_ns // 10**9}s"
    if not any(reading.cluster and reading.cluster.replicas for reading in readings):
        reason = f"{names} each name themselves as its leader without other members: their Raft groups may not run yet"
        return suspected(last.subject, reason, again)
    led = led_ns(last)
    if led is None or led >= silence_ns:
        return None
    return suspected(last.subject, f"{names} each say that they lead it, one of them only for {span(led)}", again)


_LOST = ("stream-quorum-lost", "consumer-quorum-lost")


@check("cluster_health.quorum_lost_logged", lines_of="servers")
def quorum_lost_logged(logs: LogEvidence) -> Iterator[Finding]:
    """The last leader logs the loss once, ten to twenty seconds later (server: sendStreamLostQuorumAdvisory)."""
    for incident in log_incidents(logs, *_LOST, calm=False):
        effect = "nothing was delivered" if incident.subject.kind == "consumer" else "nothing was stored or delivered"
        severity, explanation = (
            incident.severity(),
            f"{effect} without a majority: bring back its servers or their network",
        )
        if incident.unresolved and _led_elsewhere(logs, incident):
            severity, explanation = Severity.WARNING, "another server led it meanwhile: this one had lost the majority"
        elif incident.unresolved and len(logs.servers) == 1 and _meta_leader_found_later(logs, incident):
            severity, explanation = Severity.WARNING, "its new leader may be in a log that was not read"
        yield detailed_finding(incident, "no quorum", explanation, severity)
    for burst in bursts(logs, "stream-list-incomplete", "consumer-list-incomplete"):
        explanation = "their streams or servers had no leader or were too busy; lists and reports missed them"
        yield detailed_finding(
            burst, "some leaders did not respond when assets were listed", explanation, Severity.INFO
        )


def _led_elsewhere(logs: LogEvidence, incident: LogIncident) -> bool:
    """Whether a server that did not lose the majority led the asset about that time or later."""
    since = min(interval.began.us for interval in incident.unresolved) - 2 * AROUND_US
    lost = {interval.logged_by for interval in incident.unresolved}
    return any(
        group.subject == incident.subject
        and group.last is not None
        and group.last.us >= since
        and any(leader not in lost for leader, _ in group.leaders)
        for group in logs.leaderships
    )


def _meta_leader_found_later(logs: LogEvidence, incident: LogIncident) -> bool:
    """Whether a meta leader was found later on: then servers see each other again."""
    last = max(interval.last.us for interval in incident.unresolved)
    return any(group.kind == "meta" and group.last and group.last.us > last for group in logs.leaderships)


_HEARTBEAT_NS = 1_000_000_000
"""How often a leader sends a heartbeat (server: raft.go hbInterval). Samples closer together say as little as one."""


class Beginnings:
    """Which groups and servers began less than `settle_ns` ago."""

    def __init__(self, servers: Servers | None, groups: RaftGroups | None, settle_ns: int) -> None:
        self._settle_ns = settle_ns
        self._uptimes = {server.name: uptime_ns(server) for server in (servers.servers if servers else ())}
        self._members: dict[str, list[RaftMember]] = defaultdict(list)
        for member in groups.last if groups else ():
            self._members[member.group].append(member)

    def why(self, asset: Asset, history: EarlierReadings) -> str | None:
        """Why an asset may lack a leader for a moment only; None where neither group nor server has just begun."""
        watched = history.watched_ns(asset)
        if watched < _HEARTBEAT_NS:
            return f"in samples that are {span(watched)} apart, less than a heartbeat"
        readings = (*history.before(asset), asset)
        if is_scaled(readings) or len(set(map(_group, readings))) > 1:
            return "and was scaled just now"
        members = self._members.get(_group(asset), [])
        if members and all(map(self._is_new, members)):
            return "and its Raft group has just begun"
        answering = {asset.answered_by, *(replica.server for replica in asset.replicas)}
        uptimes = [uptime for name in answering if (uptime := self._uptimes.get(name)) is not None]
        if uptimes and min(uptimes) < self._settle_ns:
            return f"and a server of it started {span(min(uptimes))} ago"
        return None

    def _is_new(self, member: RaftMember) -> bool:
        """Whether its log has every entry since its group began, and began just now or is still empty."""
        return member.has_empty_log or (member.has_whole_log and member.has_young_log(self._settle_ns))


def _group(asset: Asset) -> str:
    return asset.cluster.raft_group if asset.cluster else ""
