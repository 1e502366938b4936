"""JSD705: a Raft group that elects again and again: Raft terms, as the servers tell them.

Without Raft terms: a stream or consumer that other servers lead from one sample to the next.
From logs: groups that elected again and again within ten minutes, more often than restarts explain.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import pairwise

import msgspec

from jsdoctor.checks.cluster_health.raft import Asset, assets_by_group, histories_of
from jsdoctor.checks.logs.bursts import WINDOW_US, bursts
from jsdoctor.checks.logs.log_findings import detailed_finding
from jsdoctor.checks.logs.words import zoned
from jsdoctor.checks.registry import check
from jsdoctor.model.finding import CLUSTER, Confidence, Finding, Severity, failed, passed, suspected, unknown
from jsdoctor.model.jetstream import Cluster
from jsdoctor.model.log import Leadership, LogEvidence
from jsdoctor.model.params import Params
from jsdoctor.model.raft import META_GROUP, RaftGroups, RaftMember
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.trend import Trend
from jsdoctor.model.wording import counted, span

_PER_RESTART = 2
"""Number of terms that one restart may cause in a group: its leader moves, and a first vote may be split."""

_SETTLED = ("LEADER", "FOLLOWER")
"""States whose term counts. A candidate without contact to others raises its own term without any election."""

GroupKey = tuple[str, str]
"""Account or server, and group. Names of groups are unique, except that of the meta group."""


class Elections(msgspec.Struct, frozen=True, gc=False):
    """One Raft group in two samples."""

    first: RaftMember
    last: RaftMember

    @property
    def count(self) -> int:
        """Terms begun meanwhile: at least one for each election, more where a vote failed."""
        return max(0, self.last.state.term - self.first.state.term)

    @property
    def elapsed_ns(self) -> int:
        """Time between the samples, in nanoseconds."""
        return max(1, int((self.last.at - self.first.at).total_seconds() * 1e9))


def elections(groups: RaftGroups) -> Iterator[Elections]:
    """Each group of the newest sample, by the member whose term grew most since it was first seen.

    A member is compared with itself only, as every JetStream domain has a meta group of the same name.
    """
    firsts: dict[GroupKey, RaftMember] = {}
    for sample in reversed(groups.samples[:-1]):
        firsts |= {(member.server, member.group): member for member in sample if member.state.state in _SETTLED}
    elections_by_group: dict[GroupKey, Elections] = {}
    for last in groups.last:
        if last.state.state in _SETTLED:
            first = firsts.get((last.server, last.group), last)
            key = (last.account, last.group)
            known = elections_by_group.get(key)
            if known is None or _grew_more(first, last, known):
                elections_by_group[key] = Elections(first, last)
    return iter(elections_by_group.values())


def _grew_more(first: RaftMember, last: RaftMember, known: Elections) -> bool:
    """Whether the term grew more than in `known`, or as much to a higher term."""
    term, known_term = last.state.term, known.last.state.term
    growth, known_growth = term - first.state.term, known_term - known.first.state.term
    return growth > known_growth or (growth == known_growth and term > known_term)


def _starts(servers: Servers | None) -> dict[str, datetime]:
    """When each server started. Where a server does not show it, no rule that needs it is judged."""
    seen = servers.servers if servers else ()
    return {server.name: server.varz.start for server in seen if server.varz and server.varz.start}


def _started_after(moment: datetime, members: Iterable[str], starts: Mapping[str, datetime]) -> int:
    """How many of a group's members started after that moment."""
    return sum(starts[name] > moment for name in members if name in starts)


class Restarts:
    """Which servers started when, and which groups they are members of."""

    def __init__(self, groups: RaftGroups, servers: Servers | None) -> None:
        self._started = _starts(servers)
        self._groups = groups

    @cached_property
    def _members(self) -> dict[GroupKey, set[str]]:
        members: dict[GroupKey, set[str]] = defaultdict(set)
        for member in self._groups.last:
            members[member.account, member.group].add(member.server)
        return members

    def _starts_after(self, moment: datetime, group: RaftMember) -> int:
        return _started_after(moment, self._members[group.account, group.group], self._started)

    def exceeded_limit(self, elections: Elections, params: Params) -> int | None:
        """The number of elections per `window` that is too many, raised for restarts; None if it is not reached."""
        limit = params.integer("elections")
        count = elections.count * min(1.0, params.integer("window") / elections.elapsed_ns)
        if count < limit:
            return None
        limit += _PER_RESTART * self._starts_after(elections.first.at, elections.last)
        return limit if count >= limit else None


def per_day(term: int, since: datetime, now: datetime) -> float:
    """Elections a day over the life of a group; a group younger than an hour counts as one hour old."""
    return term * 86_400 / max((now - since).total_seconds(), 3_600.0)


_SINGLE = 1


@check("cluster_health.leader_flapping")
def leader_flapping(
    groups: RaftGroups, snapshots: SnapshotSeries | None, servers: Servers | None, params: Params
) -> Iterator[Finding]:
    """A term begins with each election (server: raft.go campaign). Some are normal when a server starts or stops."""
    restarts, assets = Restarts(groups, servers), assets_by_group(snapshots)
    for election in elections(groups):
        meta = election.last.group == META_GROUP
        asset = assets.get(election.last.group)
        if (asset is None and not meta) or election.last.state.size == _SINGLE:
            continue
        subject = CLUSTER if asset is None else asset.subject
        too_many = restarts.exceeded_limit(election, params)
        if too_many is not None:
            first, last = election.first, election.last
            what = "streams and consumers cannot be created or changed" if meta else "nothing is stored or delivered"
            yield failed(
                subject,
                f"{counted(election.count, 'election')} in {span(election.elapsed_ns)} (term {first.state.term:,} to "
                f"{last.state.term:,}), more than restarts explain: while there is no leader, {what}",
                first.observed("term", first.state.term),
                last.observed("term", last.state.term),
                last.observed("leader_since", last.state.leader_since),
                severity=Severity.CRITICAL if meta else None,
                measured=(election.count, too_many, "count"),
                between=(first.at, last.at),
            )
        elif asset is not None and _elected_often_on_average(asset, election, params):
            yield _average_finding(asset, election, params)
        else:
            yield passed(subject)


def _elected_often_on_average(asset: Asset, elections: Elections, params: Params) -> bool:
    term = elections.last.state.term
    if asset.created is None or term < params.integer("least_term"):
        return False
    return per_day(term, asset.created, elections.last.at) >= params.number("per_day")


def _average_finding(asset: Asset, elections: Elections, params: Params) -> Finding:
    term, created = elections.last.state.term, asset.created or elections.last.at
    daily = per_day(term, created, elections.last.at)
    age = span(int((elections.last.at - created).total_seconds()) * 1_000_000_000)
    return failed(
        asset.subject,
        f"it is at term {term:,} after {age}, {daily:,.0f} elections a day on average: "
        "its leader was lost often at some time, not while we looked",
        elections.last.observed("term", term),
        asset.observed("created", asset.created),
        severity=Severity.INFO,
        confidence=Confidence.LOW,
        measured=(round(daily, 1), params.number("per_day"), "count"),
    )


@check("cluster_health.leader_changes", compares_samples=True)
def leader_changes(
    trend: Trend, groups: RaftGroups | None, servers: Servers | None, params: Params
) -> Iterator[Finding]:
    """Count changes of leader between samples, which every login can read. Each pair of samples shows one at most.

    Servers that started meanwhile explain some, where servers were seen.
    """
    starts = _starts(servers)
    most, window_ns = params.integer("elections"), params.integer("window")
    clustered = [history for history in histories_of(trend) if history.last.cluster and history.last.cluster.replicas]
    if not clustered:
        return
    if len(trend.snapshots) <= most:
        if groups is None:
            reason = (
                f"{len(trend.snapshots)} samples show at most {counted(len(trend.snapshots) - 1, 'change')} of leader"
            )
            yield unknown(CLUSTER, reason, f"use a login of the system account, or run with --samples {most + 1}")
        return
    for history in clustered:
        clusters = [reading.cluster for reading in history.readings]
        changes = [pair for pair in pairwise(clusters) if _changed(*pair)]
        allowed = most + _PER_RESTART * _started_after(history.first.at, _members_of(clusters), starts)
        if len(changes) * min(1.0, window_ns / (history.elapsed_s * 1e9)) < allowed:
            yield passed(history.last.subject)
            continue
        leaders = [cluster.leader for cluster in clusters if cluster]
        yield failed(
            history.last.subject,
            f"{counted(len(changes), 'change')} of leader in {span(int(history.elapsed_s * 1e9))}: "
            "while there is none, nothing is stored or delivered",
            history.last.observed("cluster.leader", " -> ".join(leaders)),
            measured=(len(changes), allowed, "count"),
        )


def _members_of(clusters: Sequence[Cluster | None]) -> set[str]:
    return {name for cluster in clusters if cluster for name in cluster.members}


def _changed(before: Cluster | None, after: Cluster | None) -> bool:
    """Whether the leader is another one, or the same one was elected again."""
    if before is None or after is None:
        return False
    again = before.leader_since is not None and before.leader_since != after.leader_since
    return before.leader != after.leader or (again and after.leader_since is not None)


_MANY_TIMES = 10
"""A burst of higher terms is a warning from this many times the limit of elections on: one outage logs many groups."""
_LEADERS_SHOWN = 5
_MINUTE_US = 60_000_000
_HIGHER = "it was cut off or frozen for a while (paused machine, stalled disk, lost routes): look what it did then"


@check("cluster_health.elections_logged", lines_of="servers")
def elections_logged(logs: LogEvidence, params: Params) -> Iterator[Finding]:
    """Count election lines: leaders of streams and consumers log theirs, all servers log a meta leader's.

    Server: jetstream_cluster.go.
    """
    for group in logs.leaderships:
        allowed = params.integer("elections") + _PER_RESTART * _restarts(logs, group)
        if group.busiest_changes > allowed and group.first and not group.first.timed:
            yield suspected(
                group.subject,
                f"{counted(group.changes, 'election')} in lines without times, so their rate is not known",
                "give the log with its times (logtime: true), or the output of `kubectl logs --timestamps`",
            )
        elif group.busiest_changes > allowed:
            yield _flapping_logged(group, allowed)
        else:
            yield passed(group.subject)
    for burst in bursts(logs, "raft-higher-term"):
        severity = Severity.WARNING if burst.most > params.integer("elections") * _MANY_TIMES else Severity.INFO
        yield detailed_finding(burst, "it led groups that had elected somebody else meanwhile", _HIGHER, severity)


def _restarts(logs: LogEvidence, group: Leadership) -> int:
    """Starts or ends of servers, whichever are more, from a minute before the group's busiest ten minutes on."""
    if group.busiest_at is None:
        return 0
    begin, end = group.busiest_at.us - _MINUTE_US, group.busiest_at.us + WINDOW_US
    starts = [run.started.us for run in logs.runs if run.started]
    ends = [run.last.us for run in logs.runs if run.last and run.end != "open"]
    return max(sum(begin <= us < end for us in moments) for moments in (starts, ends))


def _flapping_logged(group: Leadership, allowed: int) -> Finding:
    leaders = ", ".join(f"{name} {count:,}" for name, count in group.leaders[:_LEADERS_SHOWN])
    is_meta = group.kind == "meta"
    what = f"no leader, nothing {'can be created or changed' if is_meta else 'is stored or delivered'}"
    # A consumer or stream that is recreated under its name elects a leader each time, and no line shows that.
    sure = is_meta or (group.kind == "stream" and len(group.leaders) > 1)
    doubt = "" if sure else "; or it was deleted and created again so often, which no line shows"
    return failed(
        group.subject,
        f"{counted(group.busiest_changes, 'election')} within ten minutes from {group.busiest_at}, of"
        f" {group.changes:,} in all (won by {leaders}), more than restarts explain: while there is {what}{doubt}",
        *(line.observed for line in group.exemplars),
        severity=None if sure else Severity.INFO,
        measured=(group.busiest_changes, allowed, "count"),
        between=(zoned(group.first), zoned(group.last)),
    )
