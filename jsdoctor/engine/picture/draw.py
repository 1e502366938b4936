"""All parts of a report's picture."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from jsdoctor.engine.picture.charts import ack_latencies, clock_offsets, usages
from jsdoctor.engine.picture.rates import UNKNOWN, Axis, Signs, lines, rates, words
from jsdoctor.engine.picture.trends import delivered_rates, leaders, microseconds, redeliveries, stored_rates, trends
from jsdoctor.model.clock import Clocks
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Severity, Subject
from jsdoctor.model.jetstream import Cluster
from jsdoctor.model.links import Links
from jsdoctor.model.log import SUBJECT_FIELDS, Exemplar, LogEvidence, LogTime, Occurrence, OutageInterval, ProcessRun
from jsdoctor.model.picture import CopyPlacement, Edge, Lane, Node, Picture, Timeline, TimelineEvent
from jsdoctor.model.report import Report
from jsdoctor.model.server import Servers
from jsdoctor.model.snapshot import SnapshotSeries


def picture(report: Report, evidence: EvidenceSet) -> Picture:
    """What can be drawn of this run. Parts without evidence are empty."""
    return Picture(
        timeline=timeline(report, evidence),
        rates=rates(report, evidence),
        trends=trends(report, evidence),
        stored_rates=stored_rates(evidence),
        delivered_rates=delivered_rates(evidence),
        redeliveries=redeliveries(evidence),
        ack_latencies=ack_latencies(evidence),
        usages=usages(evidence),
        clocks=clock_offsets(evidence),
        leaders=leaders(evidence),
        nodes=nodes(report, evidence),
        placements=placements(report, evidence),
        edges=edges(evidence),
    )


_MAX = 60


def nodes(report: Report, evidence: EvidenceSet) -> tuple[Node, ...]:
    """Servers that responded, then members of the meta group that did not."""
    servers = evidence.get(Servers)
    if servers is None:
        return ()
    wrong: dict[str, str] = {}
    for result in report.failures():
        subject = result.finding.subject
        if subject.kind == "server" and result.severity is not Severity.INFO:
            wrong.setdefault(subject.name, f"{result.rule.code} {result.finding.message}")
    nodes_by_name: dict[str, Node] = {}
    for server in servers.servers:
        leads = bool(server.meta and server.meta.leader == server.name)
        why = wrong.get(server.name, "")
        nodes_by_name[server.name] = Node(server.name, server.cluster, "warned" if why else "ok", leads, why)
    for server in servers.servers:
        for peer in server.meta.replicas if server.meta else ():
            if peer.offline and peer.name and peer.name not in nodes_by_name:
                why = wrong.get(peer.name, "offline in the meta group")
                nodes_by_name[peer.name] = Node(peer.name, server.cluster, "down", why=why)
    return tuple(sorted(nodes_by_name.values(), key=lambda item: (item.cluster, item.name))[:_MAX])


def placements(report: Report, evidence: EvidenceSet) -> tuple[CopyPlacement, ...]:
    """The copies of the streams of a cluster: those with the most severe findings first, then by name."""
    worst: dict[str, Severity] = {}
    for result in report.failures():
        label = result.finding.subject.label
        worst[label] = max(worst.get(label, result.severity), result.severity, key=lambda severity: severity.rank)
    snapshots = evidence.get(SnapshotSeries)
    drawn = [
        CopyPlacement(stream.subject.label, _copies(stream.cluster), worst.get(stream.subject.label))
        for stream in (snapshots.last.led_streams() if snapshots is not None else ())
        if stream.cluster is not None and stream.cluster.name
    ]
    drawn.sort(key=lambda item: (-_GRAVITIES.index(item.severity), item.name))
    return tuple(drawn[:_MAX])


def _copies(cluster: Cluster) -> tuple[tuple[str, str], ...]:
    followers = [
        (peer.name, "offline" if peer.offline else "current" if peer.current else "behind") for peer in cluster.replicas
    ]
    return (*([(cluster.leader, "leader")] if cluster.leader else []), *followers)


def edges(evidence: EvidenceSet) -> tuple[Edge, ...]:
    """Gateways between clusters and leaf nodes, each once; a configured gateway without a connection is down."""
    links = evidence.get(Links)
    result: dict[tuple[str, str, str], bool] = {}
    for server in links.servers if links is not None else ():
        here = server.cluster or server.server
        for gateway in server.gateways or ():
            first, second = sorted((here, gateway.cluster))
            key = ("gateway", first, second)
            result[key] = result.get(key, False) or gateway.outbound
        for leaf in server.leafs or ():
            hub, site = (leaf.name, here) if leaf.is_spoke else (here, leaf.name)
            result["leaf node", hub, site] = True
    return tuple(Edge(kind, first, second, up) for (kind, first, second), up in sorted(result.items())[:_MAX])


MAX_LANES = 80
MAX_EVENTS = 6000
"""Limit for all lanes together, each with an equal part. The most severe are kept: what is left out is counted."""

_KINDS = ("cluster", "server", "stream", "consumer", "client", "flow", "account", "file")
_GRAVITIES = (None, *Severity)


def timeline(report: Report, evidence: EvidenceSet) -> Timeline:
    """Lanes with something in time; those with the most severe events are kept, servers come first."""
    axis = Axis(evidence)
    timeline_events: dict[tuple[str, str], list[TimelineEvent]] = defaultdict(list)
    logged = [*log_events(report, evidence, axis)]
    drawn = {(key, event.code) for key, event in logged}
    first_us, now_us = _sampled(evidence)
    findings = finding_events(report, axis, drawn, first_us, now_us)
    for key, event in (*logged, *state_events(evidence), *offline_events(evidence), *findings):
        timeline_events[key].append(event)
    moments = {at for events in timeline_events.values() for event in events for at in (event.start_us, event.end_us)}
    if not moments or len(moments | ({now_us} - {None})) < 2:
        return Timeline()  # a single moment is no story
    kept = sorted(
        timeline_events,
        key=lambda key: (-_gravity(timeline_events[key]), _rank(key[0]), -len(timeline_events[key]), key[1]),
    )[:MAX_LANES]
    kept.sort(
        key=lambda key: (_rank(key[0]), key[0], 0 if key[0] == "server" else -_gravity(timeline_events[key]), key[1])
    )
    most = MAX_EVENTS // len(kept)
    clocks = {key: axis.of(key[1]).words for key in kept if key[0] == "server" and axis.compared}
    lanes = tuple(_lane(key, timeline_events[key], clocks.get(key, ""), most) for key in kept)
    return Timeline(lanes, len(timeline_events) - len(kept), tuple(_notes(evidence, axis)), now_us)


def _sampled(evidence: EvidenceSet) -> tuple[int, int] | tuple[None, None]:
    """The first and the newest sample of the deployment."""
    snapshots, servers = evidence.get(SnapshotSeries), evidence.get(Servers)
    moments = [microseconds(snapshot.taken_at) for snapshot in snapshots.snapshots] if snapshots is not None else []
    moments += [microseconds(server.at) for server in servers.servers] if servers is not None else []
    return (min(moments), max(moments)) if moments else (None, None)


def _lane(key: tuple[str, str], events: Iterable[TimelineEvent], clock: str, most: int) -> Lane:
    ordered = sorted(events, key=lambda event: (-_weight(event), event.start_us, event.label))
    shown = sorted(ordered[:most], key=lambda event: (event.start_us, event.end_us, event.label))
    return Lane(*key, tuple(shown), clock, len(ordered) - len(shown))


def _weight(event: TimelineEvent) -> int:
    return _GRAVITIES.index(event.severity)


def _gravity(events: Iterable[TimelineEvent]) -> int:
    return max(map(_weight, events))


def _rank(kind: str) -> int:
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS)


def _notes(evidence: EvidenceSet, axis: Axis) -> Iterable[str]:
    logs = evidence.get(LogEvidence)
    if logs is None:
        return
    undated = sum(occurrence.count - occurrence.dated for occurrence in logs.found)
    if undated:
        yield f"{undated:,} log lines without a date are not drawn"
    if any(occurrence.dated and not occurrence.zoned for occurrence in logs.found):
        yield "times without a zone are drawn as UTC; --timezone sets their zone"
    if len(logs.servers) > 1 and not axis.compared:
        yield "the servers logged no event together, so their clocks could not be compared"


_RECENT = timedelta(hours=24)
"""Starts and elections longer ago explain nothing of now, and would stretch the axis."""


def state_events(evidence: EvidenceSet) -> Iterator[tuple[Key, TimelineEvent]]:
    """When servers started and leaders were elected, by the clocks of the servers."""
    clocks = evidence.get(Clocks)
    measured = {server.name: server for server in clocks.servers} if clocks is not None else {}

    def moment(kind: str, label: str, at: datetime, server: str) -> TimelineEvent:
        clock = measured.get(server)
        us = microseconds(at) - (clock.offset.middle_ns // 1000 if clock else 0)
        bound = -(-clock.offset.bound_ns // 1000) if clock else None
        return TimelineEvent(kind=kind, label=label, start_us=us, end_us=us, bound_us=bound)

    servers = evidence.get(Servers)
    for server in servers.servers if servers is not None else ():
        start = server.varz.start if server.varz else None
        if start is not None and server.at - start < _RECENT:
            yield ("server", server.name), moment("state", f"{server.name} started", start, server.name)
    snapshots = evidence.get(SnapshotSeries)
    for stream in snapshots.last.led_streams() if snapshots is not None else ():
        cluster = stream.cluster
        if cluster and cluster.leader_since and stream.at - cluster.leader_since < _RECENT:
            label = f"{cluster.leader} became leader"
            yield ("stream", stream.subject.label), moment("leader", label, cluster.leader_since, stream.answered_by)


def offline_events(evidence: EvidenceSet) -> Iterator[tuple[Key, TimelineEvent]]:
    """Members of the meta group that its leader has no contact with, since the last contact."""
    servers = evidence.get(Servers)
    for server in servers.servers if servers is not None else ():
        for peer in server.meta.replicas if server.meta and server.meta.leader == server.name else ():
            if peer.offline and peer.name:
                end = microseconds(server.at)
                start, label = end - peer.active_ns // 1000, f"{peer.name} has no contact with the meta leader"
                yield (
                    ("server", peer.name),
                    TimelineEvent(
                        kind="down", label=label, start_us=start, end_us=end, open=True, severity=Severity.ERROR
                    ),
                )


def finding_events(
    report: Report, axis: Axis, drawn: Container[tuple[Key, str]], first_us: int | None, now_us: int | None
) -> Iterator[tuple[Key, TimelineEvent]]:
    """Findings from when they began to when they ended, or to the newest sample.

    An error whose beginning is unknown is drawn from the first sample on. Of findings in logs the lines are drawn.
    Findings about a server are on the clock of that server.
    """
    for result in report.failures():
        finding = result.finding
        key = (finding.subject.kind, finding.subject.label)
        moments = [microseconds(at) for at in (finding.first_seen, finding.last_seen) if at is not None]
        is_open = finding.last_seen is None and now_us is not None
        if is_open and not moments and first_us is not None and result.severity.rank >= Severity.ERROR.rank:
            moments = [first_us]
        if not moments or (key, result.rule.code) in drawn:
            continue
        since = "" if finding.first_seen else " (its beginning is unknown)"
        if is_open and now_us is not None:
            moments.append(now_us)
        correction = axis.of(finding.subject.name) if finding.subject.kind == "server" else UNKNOWN
        yield (
            key,
            TimelineEvent(
                kind="finding",
                label=f"{result.rule.slug.replace('-', ' ')}{since}: {finding.message}",
                open=is_open,
                start_us=moments[0] - correction.ahead_us,
                end_us=max(moments) - correction.ahead_us,
                severity=result.severity,
                code=result.rule.code,
                bound_us=correction.bound_us,
            ),
        )


Key = tuple[str, str]
"""Kind and name of a lane."""

_BINS = 60
"""An occurrence becomes at most so many events: neighbours are drawn as one."""


def log_events(report: Report, evidence: EvidenceSet, axis: Axis) -> Iterator[tuple[Key, TimelineEvent]]:
    """All events in logs. Lines without a date have no place on the axis."""
    logs = evidence.get(LogEvidence)
    if logs is None:
        return
    signs = Signs(report)
    for interval in logs.intervals:
        if interval.began.dated:
            yield _outage_event(interval, logs, signs, axis)
    for occurrence in logs.found:
        yield from _occurrence(occurrence, signs, axis)
    yield from _processes(logs, axis)
    for gap in logs.gaps:
        if gap.began.dated:
            event = _event(axis, gap.server, gap.began, gap.ended, kind="silence", label="no line logged")
            yield ("server", gap.server), event
    for step in logs.clock_steps:
        if step.after.dated:
            label = f"clock set back by {-step.step_ns / 1e9:.1f} s"
            yield (
                ("server", step.server),
                _event(
                    *(axis, step.server, step.after, step.after),
                    kind="step",
                    label=label,
                    severity=Severity.WARNING,
                    lines=lines((step.exemplar,)),
                ),
            )


def _event(axis: Axis, server: str, start: LogTime, end: LogTime, **values: Any) -> TimelineEvent:
    correction = axis.of(server)
    ahead = correction.ahead_us
    return TimelineEvent(
        start_us=start.us - ahead, end_us=max(start.us, end.us) - ahead, bound_us=correction.bound_us, **values
    )


def _key(subject: Subject) -> Key:
    return subject.kind, subject.label


def _outage_event(interval: OutageInterval, logs: LogEvidence, signs: Signs, axis: Axis) -> tuple[Key, TimelineEvent]:
    """The outage as an event, from its first line to what ended it; open where nothing did."""
    alike = [
        occurrence
        for occurrence in logs.occurrences(interval.signature)
        if (occurrence.logged_by, occurrence.fields) == (interval.logged_by, interval.fields)
    ]
    end = interval.resolved or interval.log_end or interval.last
    label = f"{words(interval.signature)} on {interval.logged_by}"
    if interval.resolved is not None:
        label += f", ended by {words(interval.resolved_by)}"
    subject = alike[0].subject if alike else Subject(kind="server", name=interval.logged_by)
    shown = _exemplars_within(alike[0], interval.began.us, end.us) if alike else ()
    return _key(subject), _event(
        axis,
        interval.logged_by,
        interval.began,
        end,
        kind="outage",
        label=label,
        open=interval.resolved is None,
        count=interval.count,
        severity=signs.severity(interval.signature),
        code=signs.code(interval.signature),
        lines=lines(shown),
    )


def _exemplars_within(occurrence: Occurrence, first_us: int, last_us: int) -> tuple[Exemplar, ...]:
    """The lines that were kept of that time; where none was, the first one of all."""
    near = tuple(e for e in occurrence.exemplars if e.at is not None and first_us <= e.at.us <= last_us)
    return near or occurrence.exemplars[:1]


def _occurrence(occurrence: Occurrence, signs: Signs, axis: Axis) -> Iterator[tuple[Key, TimelineEvent]]:
    spans = [span for span in occurrence.histogram.spans() if LogTime(span[0]).dated]
    if not spans:
        return
    begin = spans[0][0]
    width = max(occurrence.bucket_us, (spans[-1][1] - begin) // _BINS + 1)
    bins: dict[int, tuple[int, int, int]] = {}
    for first, last, count in spans:
        number = (first - begin) // width
        low, high, counted = bins.get(number, (first, last, 0))
        bins[number] = (min(low, first), max(high, last), counted + count)
    label = _label(occurrence)
    for first, last, count in bins.values():
        yield (
            _key(occurrence.subject),
            _event(
                *(axis, occurrence.logged_by, LogTime(first), LogTime(last)),
                kind="log",
                label=label,
                count=count,
                severity=signs.severity(occurrence.signature),
                code=signs.code(occurrence.signature),
                lines=lines(_exemplars_within(occurrence, first, last)),
            ),
        )


def _label(occurrence: Occurrence) -> str:
    known = ("account", "stream", "consumer", "server")
    more = [f"{name} {value}" for name, value in occurrence.fields if name in SUBJECT_FIELDS and name not in known]
    return ", ".join([f"{words(occurrence.signature)} on {occurrence.logged_by}", *more[:2]])


def _processes(logs: LogEvidence, axis: Axis) -> Iterator[tuple[Key, TimelineEvent]]:
    """Processes of a server, and between them the time that it was down."""
    runs: dict[str, list[ProcessRun]] = {}
    for run in logs.runs:
        runs.setdefault(run.server, []).append(run)
    for server, process_runs in runs.items():
        for run in process_runs:
            start = run.started or run.ready
            if start is None or run.last is None or not start.dated:
                continue
            label = f"process {run.pid or ''} of {run.version or 'nats-server'}, end: {run.end}".replace("  ", " ")
            event = _event(
                *(axis, server, start, run.last),
                kind="run",
                label=label,
                open=run.end == "open",
                lines=lines((run.exemplar,)) if run.exemplar else (),
            )
            yield ("server", server), event
        for before, after in pairwise(process_runs):
            if before.last is not None and after.started is not None and before.last.dated:
                unclean = before.end in ("unclean", "failed")
                yield (
                    ("server", server),
                    _event(
                        *(axis, server, before.last, after.started),
                        kind="down",
                        label=f"down, the process before ended {before.end}",
                        severity=Severity.WARNING if unclean else None,
                    ),
                )
