"""Values over several snapshots of a deployment: lag with its projection, rates, redeliveries, and leaders."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise

from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.picture import ChartSeries, Leader
from jsdoctor.model.report import Report
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries
from jsdoctor.model.trend import ConsumerHistory, History, Trend

_MAX_SERIES = 6
_MAX_GROUPS = 12
_MAX_PROJECTION = 4
"""A projection reaches at most this many times as far as the readings do."""


def microseconds(at: datetime) -> int:
    """Since 1970."""
    return round(at.timestamp() * 1e6)


def trends(report: Report, evidence: EvidenceSet) -> tuple[ChartSeries, ...]:
    """Pending messages over days or over this run: of consumers with findings first, then of those with most."""
    source = evidence.get(History) or evidence.get(Trend)
    if not isinstance(source, History | Trend):
        return ()
    faulty = {result.finding.subject for result in report.failures()}
    histories = [history for history in source.consumers() if any(reading.num_pending for reading in history.readings)]
    histories.sort(
        key=lambda history: (history.last.subject not in faulty, -history.last.num_pending, history.last.subject.label)
    )
    return tuple(_lag(history) for history in histories[:_MAX_SERIES])


def _lag(history: ConsumerHistory) -> ChartSeries:
    """Pending messages of a consumer. Where they grow, they are projected to max_msgs of the stream."""
    points = tuple((microseconds(reading.at), float(reading.num_pending)) for reading in history.readings)
    limit = history.stream.config.max_msgs
    projection = None
    (begin, first), (end, last) = points[0], points[-1]
    if limit > last > first and end > begin:
        reached = end + round((limit - last) * (end - begin) / (last - first))
        if reached - end <= _MAX_PROJECTION * (end - begin):
            projection = (reached, float(limit))
    return ChartSeries(
        name=history.last.subject.label,
        unit="count",
        points=points,
        limit=float(limit) if projection else None,
        projection=projection,
    )


def stored_rates(evidence: EvidenceSet) -> tuple[ChartSeries, ...]:
    """Messages that each stream stored per second between snapshots; the streams with most of them."""
    source = evidence.get(History) or evidence.get(Trend)
    if not isinstance(source, History | Trend):
        return ()
    return _rates(
        [
            (history.last.subject.label, [(reading.at, reading.state.last_seq) for reading in history.readings])
            for history in source.streams()
        ]
    )


def delivered_rates(evidence: EvidenceSet) -> tuple[ChartSeries, ...]:
    """Messages that were delivered to each consumer per second between snapshots; the consumers with most of them."""
    source = evidence.get(History) or evidence.get(Trend)
    if not isinstance(source, History | Trend):
        return ()
    return _rates(
        [
            (history.last.subject.label, [(reading.at, reading.delivered.consumer_seq) for reading in history.readings])
            for history in source.consumers()
        ]
    )


def _rates(counters: list[tuple[str, list[tuple[datetime, int]]]]) -> tuple[ChartSeries, ...]:
    """Rates per second of the counters that grew most: one point for each pair of readings, at the later one.

    A counter that fell was reset, and has a rate of 0 for that pair.
    """
    grown = [(readings[-1][1] - readings[0][1], name, readings) for name, readings in counters]
    result = sorted((-growth, name, readings) for growth, name, readings in grown if growth > 0)
    return tuple(
        ChartSeries(
            name=name,
            unit="per_second",
            points=tuple(
                (microseconds(after), max(count - before, 0) / max((after - at).total_seconds(), 1e-3))
                for (at, before), (after, count) in pairwise(readings)
            ),
        )
        for _, name, readings in result[:_MAX_SERIES]
    )


def redeliveries(evidence: EvidenceSet) -> tuple[ChartSeries, ...]:
    """Messages that wait for an acknowledgement after their second delivery or a later one; the most first."""
    source = evidence.get(History) or evidence.get(Trend)
    if not isinstance(source, History | Trend):
        return ()
    histories = [
        history for history in source.consumers() if any(reading.num_redelivered for reading in history.readings)
    ]
    histories.sort(
        key=lambda history: (-max(reading.num_redelivered for reading in history.readings), history.last.subject.label)
    )
    return tuple(
        ChartSeries(
            name=history.last.subject.label,
            unit="count",
            points=tuple((microseconds(reading.at), float(reading.num_redelivered)) for reading in history.readings),
        )
        for history in histories[:_MAX_SERIES]
    )


def leaders(evidence: EvidenceSet) -> tuple[Leader, ...]:
    """The leaders of streams whose leader changed between snapshots, each with the time in which it was seen."""
    source = evidence.get(History) or evidence.get(SnapshotSeries)
    if not isinstance(source, History | SnapshotSeries) or len(source.snapshots) < 2:
        return ()
    seen: dict[str, list[tuple[int, str]]] = {}
    for snapshot in source.snapshots:
        for label, leader in _leaders_in(snapshot):
            seen.setdefault(label, []).append((microseconds(snapshot.taken_at), leader))
    changed = [label for label, readings in seen.items() if len({leader for _, leader in readings}) > 1]
    return tuple(span for label in changed[:_MAX_GROUPS] for span in _spans(label, seen[label]))


def _leaders_in(snapshot: ClusterSnapshot) -> Iterator[tuple[str, str]]:
    for stream in snapshot.streams:
        if stream.cluster is not None:
            yield stream.subject.label, stream.cluster.leader or "no leader"


def _spans(label: str, readings: list[tuple[int, str]]) -> Iterator[Leader]:
    start, current = readings[0]
    for at, leader in readings[1:]:
        if leader != current:
            yield Leader(label, current, start, at)
            start, current = at, leader
    yield Leader(label, current, start, readings[-1][0])
