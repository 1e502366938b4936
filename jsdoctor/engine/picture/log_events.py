"""Events of the timeline from logs: incidents with their ends, other lines, processes, silences and clock steps."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from jsdoctor.engine.picture.clocks import Axis
from jsdoctor.engine.picture.signs import Signs, lines, words
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Severity, Subject
from jsdoctor.model.log import SUBJECT_FIELDS, LogEvidence, LogTime, Occurrence, OutageInterval, ProcessRun
from jsdoctor.model.picture import TimelineEvent
from jsdoctor.model.report import Report

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
            yield _interval(interval, logs, signs, axis)
    intervals = {(item.signature, item.logged_by, item.fields) for item in logs.intervals}
    for occurrence in logs.found:
        if (occurrence.signature, occurrence.logged_by, occurrence.fields) not in intervals:
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


def _interval(interval: OutageInterval, logs: LogEvidence, signs: Signs, axis: Axis) -> tuple[Key, TimelineEvent]:
    """From its first line to what ended it; open where nothing did."""
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
    return _key(subject), _event(
        *(axis, interval.logged_by, interval.began, end),
        kind="outage",
        label=label,
        open=interval.resolved is None,
        count=interval.count,
        severity=signs.severity(interval.signature),
        code=signs.code(interval.signature),
        lines=lines(alike[0].exemplars) if alike else (),
    )


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
        near = tuple(
            exemplar for exemplar in occurrence.exemplars if exemplar.at is not None and first <= exemplar.at.us <= last
        )
        yield (
            _key(occurrence.subject),
            _event(
                *(axis, occurrence.logged_by, LogTime(first), LogTime(last)),
                kind="log",
                label=label,
                count=count,
                severity=signs.severity(occurrence.signature),
                code=signs.code(occurrence.signature),
                lines=lines(near or occurrence.exemplars[:1]),
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
