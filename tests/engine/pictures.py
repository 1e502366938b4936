"""What a report draws of the evidence of some cases, written out to be read: `fixtures/engine/pictures.txt`.

`make golden` writes the file: for each rule with log cases, the picture of the first that fires, and those of some
cases of deployments. Times are seconds after the first moment of the picture.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Any

import msgspec

from jsdoctor.engine.picture.draw import picture
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.picture import ChartSeries, Lane, Picture, TimelineEvent
from jsdoctor.model.report import Report
from tests.support.evidence import FIXTURES, cases, evidence_of
from tests.support.log_cases import log_evidence_of
from tests.support.rule_case import listed
from tests.support.ruleset import rules, run_all

PATH = FIXTURES / "engine" / "pictures.txt"

_DEPLOYMENTS = ("JSD101", "JSD203", "JSD410", "JSD411", "JSD607", "JSD701", "JSD702", "JSD710", "JSD711", "JSD721")
"""Rules whose first firing case is the picture of a deployment: clocks, histories, acknowledgement times, links."""

_MAX_EVENTS, _MAX_POINTS, _MAX_LINES = 12, 8, 2


def names() -> list[str]:
    """The pictures that there are."""
    logged = [f"{rule.code} logs" for rule in rules() if _firing(listed(rule.code, "log_case"))]
    return [*logged, *(f"{code} deployment" for code in _DEPLOYMENTS)]


def text_of(name: str) -> str:
    """One picture."""
    report, evidence = _seen(name)
    return "\n".join([name, *(f"  {line}" for line in _lines(picture(report, evidence)))]) + "\n"


def write_pictures() -> None:
    """Write the golden file."""
    PATH.write_text("\n".join(map(text_of, names())), encoding="utf-8")


@cache
def golden() -> dict[str, str]:
    """Its content by picture."""
    sections = PATH.read_text(encoding="utf-8").split("\n\n")
    return {section.partition("\n")[0]: section.rstrip("\n") + "\n" for section in sections}


@cache
def _seen(name: str) -> tuple[Report, EvidenceSet]:
    code, kind = name.split()
    if kind == "logs":
        evidence = log_evidence_of(code, _firing(listed(code, "log_case"))[0])
    else:
        evidence = evidence_of(_firing(cases(code))[0])
    return report_of(evidence), evidence


def report_of(evidence: EvidenceSet) -> Report:
    """The report of all rules on some evidence, without its picture."""
    evaluation = run_all(evidence)
    at = datetime(2026, 6, 1, tzinfo=UTC)
    results, verdicts = evaluation.results, evaluation.verdicts
    return Report(version="", started=at, finished=at, sources=(), verdicts=verdicts, results=results, gaps=())


def _firing(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [case for case in cases if case["kind"] in ("fires", "above")]


def _lines(drawn: Picture) -> Iterator[str]:
    begin = min(_moments(drawn), default=0)
    for lane in drawn.timeline.lanes:
        yield from _lane(lane, begin)
    yield from (f"note: {note}" for note in drawn.timeline.notes)
    for part in ("rates", "trends", "stored_rates", "delivered_rates", "redeliveries"):
        for series in getattr(drawn, part):
            yield f"{part}: {series.name}, {series.unit}, limit {series.limit}: {_points(series, begin)}"
    for leader in drawn.leaders:
        yield f"leader of {leader.group}: {leader.server} {_at(leader.start_us, begin)} to {_at(leader.end_us, begin)}"
    for values in (drawn.ack_latencies, drawn.usages, drawn.clocks, drawn.nodes, drawn.edges):
        yield from (f"{type(value).__name__} {msgspec.json.encode(value).decode()}" for value in values)


def _lane(lane: Lane, begin: int) -> Iterator[str]:
    clock = f", {lane.clock}" if lane.clock else ""
    yield f"{lane.kind} {lane.name}: {len(lane.events)} events, {lane.left_out} left out{clock}"
    for event in lane.events[:_MAX_EVENTS]:
        yield f"  {_event(event, begin)}"
        yield from (
            f"    {line.file}:{line.line} at {line.offset}: {line.text[:60]}" for line in event.lines[:_MAX_LINES]
        )


def _event(event: TimelineEvent, begin: int) -> str:
    grade = f" {event.severity.value} {event.code}" if event.severity else f" {event.code}".rstrip()
    bound = "" if event.bound_us is None else f" ± {event.bound_us} us"
    times = f"{_at(event.start_us, begin)} to {_at(event.end_us, begin)}{bound}"
    return f"{event.kind}{grade} {times}{' open' if event.open else ''} x{event.count}: {event.label}"


def _points(series: ChartSeries, begin: int) -> str:
    shown = [f"{_at(at, begin)} {value:g}" for at, value in series.points if value][:_MAX_POINTS]
    ahead = f", heads for {_at(series.projection[0], begin)} {series.projection[1]:g}" if series.projection else ""
    return f"{len(series.points)} points to {_at(series.points[-1][0], begin)}: {', '.join(shown)}{ahead}"


def _moments(drawn: Picture) -> Iterator[int]:
    yield from (event.start_us for lane in drawn.timeline.lanes for event in lane.events)
    for part in ("rates", "trends", "stored_rates", "delivered_rates", "redeliveries"):
        yield from (at for series in getattr(drawn, part) for at, _ in series.points)
    yield from (leader.start_us for leader in drawn.leaders)


def _at(us: int, begin: int) -> str:
    return f"{(us - begin) / 1e6:.6f}"
