"""The HTML report: verdict, timeline, charts, findings, what was not seen, and the pages of the rules."""

from __future__ import annotations

from collections import Counter

import msgspec
from markupsafe import Markup

from jsdoctor.model.finding import Outcome, Severity
from jsdoctor.model.picture import Line, Picture, Timeline, TimelineEvent
from jsdoctor.model.report import Report
from jsdoctor.render.closing import judged_counts, opening_sentence, verdict_sentence
from jsdoctor.render.escape import printable, shortened
from jsdoctor.render.html.charts import charts, copies_of
from jsdoctor.render.html.environment import asset, environment, policy, rule_pages
from jsdoctor.render.html.findings import ROWS_SHOWN, rows
from jsdoctor.render.incidents import in_incident_order
from jsdoctor.render.json_text import compact
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.order import by_urgency, gaps_in_order, with_outcome
from jsdoctor.render.unseen import undecided


def render_html(report: Report, options: RenderOptions) -> str:
    """One self-contained file. `max_examples` and `verbose` do not apply: the page can filter and collapse lists."""
    picture = report.picture or Picture()
    style, script = asset("page.css"), asset("page.js")
    results, pages = report.failures(), rule_pages(report)
    severities = _severities(report)
    text = (
        environment()
        .get_template("report.html")
        .render(
            report=report,
            style=style,
            script=script,
            policy=policy(style, script),
            version=report.version,
            started=report.started,
            finished=report.finished,
            title=verdict_sentence(report),
            sentence=opening_sentence(report),
            tiles=_tiles(report, picture, severities),
            worst=_worst(report, severities),
            severities=severities,
            rows=rows(report),
            left_out=max(0, len(results) - ROWS_SHOWN),
            picture=picture,
            timeline_json=timeline_json(picture.timeline),
            events=event_rows(picture.timeline),
            charts=charts(picture),
            copies=copies_of(picture),
            gaps=[gap for gap in gaps_in_order(report.gaps) if gap.requested],
            undecided=undecided(report),
            crashes=with_outcome(report.results, Outcome.ERROR),
            suppressed=by_urgency(report.suppressed()),
            verdicts=sorted(report.verdicts, key=lambda verdict: verdict.rule.code),
            pages=pages,
            page_codes={page.code for page in pages},
        )
    )
    return text.encode("ascii", "xmlcharrefreplace").decode() if options.ascii_only else text


def _worst(report: Report, severities: dict[Severity, int]) -> str:
    """The colour of the verdict: the worst severity, `unsure` where something was not seen, else `good`.

    Notes alone are no fault.
    """
    for severity, number in severities.items():
        if number and severity is not Severity.INFO:
            return severity.value
    passed = any(verdict.outcome is Outcome.PASS for verdict in report.verdicts)
    seen = not any(gap.requested for gap in report.gaps) and not with_outcome(report.results, Outcome.ERROR)
    return "good" if passed and seen else "unsure"


def _severities(report: Report) -> dict[Severity, int]:
    """How many findings there are of each severity, worst first: causes count as their incidents do."""
    counts: Counter[Severity] = Counter()
    for group in in_incident_order(report):
        counts[group.severity] += len(group.results)
    return {severity: counts[severity] for severity in reversed(Severity)}


def _tiles(report: Report, picture: Picture, severities: dict[Severity, int]) -> list[tuple[str, str, str]]:
    """What the verdict counts: a number, what it counts, and a grade."""
    up = sum(node.state != "down" for node in picture.nodes)
    grade = "good" if up == len(picture.nodes) else "error"
    servers = [(f"{up} of {len(picture.nodes)}", "servers up", grade)] if picture.nodes else []
    names = ((severity.value, number) for severity, number in severities.items() if number)
    findings = [(f"{number:,}", f"{name} {'finding' if number == 1 else 'findings'}", name) for name, number in names]
    judged = [words.removesuffix(" (-v)").split(" ", 1) for words in judged_counts(report)]
    return [*servers, *findings, *((number, words, "good" if "pass" in words else "") for number, words in judged)]


_ROWS_SHOWN = 300
_LABEL_CHARACTERS = 240


class EventRow(msgspec.Struct, frozen=True, kw_only=True):
    """One event of the table. Times are microseconds since 1970."""

    lane: str
    label: str
    severity: str
    start_us: int
    end_us: int
    open: bool
    count: int
    bound: str
    place: str


class _LineIndex:
    """Lines of logs, each once: many events refer to the same."""

    def __init__(self) -> None:
        self.lines: list[list[object]] = []
        self._numbers: dict[Line, int] = {}

    def number(self, line: Line) -> int:
        """Where the line stands in `lines`."""
        if line not in self._numbers:
            self._numbers[line] = len(self.lines)
            self.lines.append([printable(line.file), line.line, line.offset, printable(shortened(line.text, 300))])
        return self._numbers[line]


def timeline_json(timeline: Timeline) -> Markup:
    """The data, safe inside of a script element: no `<` can end it."""
    places = _LineIndex()
    document = {
        "lanes": [
            {
                "kind": lane.kind,
                "name": printable(shortened(lane.name, 120)),
                "clock": printable(lane.clock),
                "leftOut": lane.left_out,
                "events": [_event(event, places) for event in lane.events],
            }
            for lane in timeline.lanes
        ],
        "lines": places.lines,
        "now": timeline.now_us,
    }
    return Markup(compact(document).replace("<", "\\u003c").strip())  # noqa: S704 - JSON without markup


def event_rows(timeline: Timeline) -> list[EventRow]:
    """The most severe events in the order of time."""
    every = [(lane.name, event) for lane in timeline.lanes for event in lane.events if event.kind != "run"]
    every.sort(key=lambda item: -(item[1].severity.rank + 1 if item[1].severity else 0))
    shown = sorted(every[:_ROWS_SHOWN], key=lambda item: item[1].start_us)
    return [_row(name, event) for name, event in shown]


def _event(event: TimelineEvent, places: _LineIndex) -> dict[str, object]:
    return {
        "k": event.kind,
        "l": printable(shortened(event.label, _LABEL_CHARACTERS)),
        "s": event.start_us,
        "e": event.end_us,
        **({"o": 1} if event.open else {}),
        **({"n": event.count} if event.count != 1 else {}),
        **({"v": event.severity.value} if event.severity else {}),
        **({"c": event.code} if event.code else {}),
        **({"b": event.bound_us} if event.bound_us is not None else {}),
        **({"x": [places.number(line) for line in event.lines]} if event.lines else {}),
    }


def _row(lane: str, event: TimelineEvent) -> EventRow:
    line = event.lines[0] if event.lines else None
    return EventRow(
        lane=lane,
        label=event.label,
        severity=event.severity.value if event.severity else "",
        start_us=event.start_us,
        end_us=event.end_us,
        open=event.open,
        count=event.count,
        bound="" if event.bound_us is None else f"± {event.bound_us / 1000:,.1f} ms",
        place=f"{line.file}:{line.line}, byte {line.offset:,}" if line else "",
    )
