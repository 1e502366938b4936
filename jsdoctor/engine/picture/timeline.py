"""The timeline: events of all kinds of evidence, by what they are about, on one axis."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from jsdoctor.engine.picture.clocks import Axis
from jsdoctor.engine.picture.log_events import log_events
from jsdoctor.engine.picture.state_events import finding_events, state_events
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Severity
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.picture import Lane, Timeline, TimelineEvent
from jsdoctor.model.report import Report

MAX_LANES = 80
MAX_EVENTS = 6000
"""Limit for all lanes together, each with an equal part. The most severe are kept: what is left out is counted."""

_KINDS = ("cluster", "server", "stream", "consumer", "client", "flow", "account", "file")
_GRAVITIES = (None, *Severity)


def timeline(report: Report, evidence: EvidenceSet) -> Timeline:
    """Lanes with something in time; those with the most severe events are kept, servers come first."""
    axis = Axis(evidence)
    timeline_events: dict[tuple[str, str], list[TimelineEvent]] = defaultdict(list)
    for key, event in (*log_events(report, evidence, axis), *state_events(evidence), *finding_events(report, axis)):
        timeline_events[key].append(event)
    if (
        len(
            {
                moment
                for events in timeline_events.values()
                for event in events
                for moment in (event.start_us, event.end_us)
            }
        )
        < 2
    ):
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
    return Timeline(lanes, len(timeline_events) - len(kept), tuple(_notes(evidence, axis)))


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
