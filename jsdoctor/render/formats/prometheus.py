"""The report in the text format of Prometheus (0.0.4), for the textfile collector of node_exporter.

Counts are complete. A rule that was evaluated has a count even if it is 0; one that was not has none, so that an alert
on a missing series distinguishes missing evidence from health. Series per subject are bounded by `--max-examples` for
each rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime

from jsdoctor.engine.verdict import exit_code
from jsdoctor.model.finding import Impact, Outcome, Severity
from jsdoctor.model.report import Report
from jsdoctor.render.closing import findings_by_severity
from jsdoctor.render.escape import ascii_only, printable, shortened
from jsdoctor.render.incidents import incidents_of
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.order import in_blocks

SUFFIXES = (".prom",)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""What an exporter calls this format."""
_MAX_LABEL = 255
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Samples = Mapping[tuple[tuple[str, str], ...], float]


def render(report: Report, options: RenderOptions) -> str:
    """Every family with its help and type; all are gauges, since a run counts from nothing."""
    shown = ascii_only if options.ascii_only else str
    lines = (line for family in _families(report, options) for line in _family(*family, shown))
    return "\n".join(lines) + "\n"


def _families(report: Report, options: RenderOptions) -> Iterator[tuple[str, str, Samples]]:
    yield "jsdoctor_info", "Version of jsdoctor.", _single(1, version=report.version)
    yield from _run(report, options)
    yield "jsdoctor_findings", "Findings of each rule that was judged, by severity.", _findings(report)
    severities = {severity.value: float(number) for severity, number in findings_by_severity(report).items()}
    yield "jsdoctor_findings_by_severity", "Findings of all rules.", _by("severity", severities)
    listed, left_out = _subjects(report, options.max_examples)
    yield "jsdoctor_finding", "1 for each subject that a rule found fault with; bounded for each rule.", listed
    yield "jsdoctor_findings_not_listed", "Findings beyond the bound, which have no jsdoctor_finding.", left_out
    yield from _incidents(report, options.max_examples)
    suppressed = Counter(result.suppressed.kind for result in report.results if result.suppressed)
    kinds = {kind: float(suppressed[kind]) for kind in ("waiver", "baseline", *suppressed)}
    yield "jsdoctor_findings_suppressed", "Findings that do not count, by why.", _by("kind", kinds)
    outcomes = {
        _labels(code=verdict.rule.code, slug=verdict.rule.slug, outcome=verdict.outcome.value): 1.0
        for verdict in report.verdicts
    }
    yield "jsdoctor_rule_outcome", "1 for what became of each rule.", outcomes
    by_outcome = Counter(verdict.outcome for verdict in report.verdicts)
    rules = {outcome.value: float(by_outcome[outcome]) for outcome in Outcome}
    yield "jsdoctor_rules", "Rules by what became of them.", _by("outcome", rules)
    requested = Counter(gap.requested for gap in report.gaps)
    gaps = {"true": float(requested[True]), "false": float(requested[False])}
    yield (
        "jsdoctor_gaps",
        "Evidence not seen; requested: it was requested and could not be collected.",
        _by("requested", gaps),
    )


def _run(report: Report, options: RenderOptions) -> Iterator[tuple[str, str, Samples]]:
    code = exit_code(report, options.fail_on, options.exit_zero, options.allow_gaps)
    yield "jsdoctor_run_exit_code", "Exit code of the run: 0, 1 findings, 3 inconclusive, 4 failed.", _single(code)
    finished = _seconds(report.finished)
    yield "jsdoctor_run_timestamp_seconds", "When the run ended.", _single(finished)
    took_s = max(0.0, (report.finished - report.started).total_seconds())
    yield "jsdoctor_run_duration_seconds", "How long the run took.", _single(took_s)
    sources = {_labels(kind=source.kind, name=source.name): _seconds(source.collected_at) for source in report.sources}
    yield "jsdoctor_evidence_timestamp_seconds", "When evidence was collected.", sources


def _findings(report: Report) -> Samples:
    counts: Counter[tuple[tuple[str, str], ...]] = Counter()
    for verdict in report.verdicts:
        if verdict.outcome in (Outcome.PASS, Outcome.FAIL):
            rule = verdict.rule
            counts[_labels(code=rule.code, slug=rule.slug, severity=rule.severity.value)] = 0
    for result in report.failures():
        counts[_labels(code=result.rule.code, slug=result.rule.slug, severity=result.severity.value)] += 1
    return {labels: float(number) for labels, number in counts.items()}


def _subjects(report: Report, limit: int) -> tuple[Samples, Samples]:
    listed: dict[tuple[tuple[str, str], ...], float] = {}
    left_out: dict[tuple[tuple[str, str], ...], float] = {}
    for block in in_blocks(report.failures()):
        rule = {"code": block[0].rule.code, "slug": block[0].rule.slug, "severity": block[0].severity.value}
        shown = block[: limit or None]
        left_out[_labels(**rule)] = float(len(block) - len(shown))
        for result in shown:
            subject = result.finding.subject
            where = {"kind": subject.kind, "account": subject.account, "stream": subject.stream, "name": subject.name}
            listed[_labels(**rule, **where)] = 1.0
    return listed, left_out


def _incidents(report: Report, limit: int) -> Iterator[tuple[str, str, Samples]]:
    """Counts of all, and the most urgent ones by the subject of their cause."""
    by_outcome = Counter({(impact.value, severity.value): 0 for impact in Impact for severity in Severity})
    listed: Counter[tuple[tuple[str, str], ...]] = Counter()
    incidents = incidents_of(report)
    for incident in incidents:
        by_outcome[incident.impact.value, incident.severity.value] += 1
    for incident in incidents[: limit or None]:
        rule, subject = incident.causes[0].rule, incident.causes[0].finding.subject
        meaning = {"code": rule.code, "slug": rule.slug}
        meaning |= {"severity": incident.severity.value, "impact": incident.impact.value}
        where = {"kind": subject.kind, "account": subject.account, "stream": subject.stream, "name": subject.name}
        listed[_labels(**meaning, **where)] += len(incident.results)
    by_kind = {_labels(impact=impact, severity=severity): float(n) for (impact, severity), n in by_outcome.items()}
    yield "jsdoctor_incidents", "Incidents: causes, each with what follows from it.", by_kind
    series = {labels: float(number) for labels, number in listed.items()}
    yield "jsdoctor_incident", "Findings of each incident, by its first cause; the most urgent incidents only.", series


def _family(name: str, describes: str, samples: Samples, shown: Callable[[str], str]) -> Iterator[str]:
    yield f"# HELP {name} {describes}"
    yield f"# TYPE {name} gauge"
    series = {
        ",".join(f'{label}="{_escaped(shown(text))}"' for label, text in labels): value
        for labels, value in samples.items()
    }
    for labels, value in sorted(series.items()):
        yield f"{name}{{{labels}}} {value!r}" if labels else f"{name} {value!r}"


def _escaped(value: str) -> str:
    """As the exposition format wants label values: backslash, quote and line feed escaped."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _labels(**values: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, shortened(printable(value), _MAX_LABEL)) for name, value in values.items())


def _single(value: float, **labels: str) -> Samples:
    return {_labels(**labels): float(value)}


def _by(label: str, values: Mapping[str, float]) -> Samples:
    return {_labels(**{label: name}): value for name, value in values.items()}


def _seconds(moment: datetime) -> float:
    """Unix time. A moment without a zone is taken as UTC, as everywhere in a report."""
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH).total_seconds()
