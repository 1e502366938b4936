"""The report for a person: the verdict first and last, incident by incident between them."""

from __future__ import annotations

from jsdoctor.model.finding import Outcome
from jsdoctor.model.report import Incident, Report, RuleVerdict
from jsdoctor.model.wording import counted
from jsdoctor.render.closing import write_incidents, write_verdict
from jsdoctor.render.findings import write_block, write_consequences
from jsdoctor.render.incidents import blocks, in_incident_order, incidents_of
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.order import by_urgency, gaps_in_order, with_outcome
from jsdoctor.render.page import SEVERITY_STYLES, Page
from jsdoctor.render.traffic import write_traffic
from jsdoctor.render.units import duration
from jsdoctor.render.unseen import without_gaps, write_crashes, write_gaps, write_not_evaluated
from jsdoctor.render.wording import listed, to_the_second

_AT_THE_TOP, _AT_THE_END = 5, 3
_LONG = 24
"""Lines of a report from which the verdict is repeated at its end: the height of a small terminal."""


def render_text(report: Report, options: RenderOptions) -> str:
    """The whole report. With `quiet`: one line per finding, gap and failed check, nothing when there is none."""
    page = Page(options)
    if options.quiet:
        _write_quietly(page, report, options)
        return page.text()
    incidents = incidents_of(report)
    _write_heading(page, report, options)
    if incidents:
        write_verdict(page, report)
        write_incidents(page, incidents, _AT_THE_TOP)
    ids = {id(result) for result in without_gaps(report)[1]}
    cut = [write_incident(page, number, incident, ids, options) for number, incident in enumerate(incidents, 1)]
    write_traffic(page, report.traffic)
    write_crashes(page, report, options)
    write_gaps(page, report, options)
    write_not_evaluated(page, report, options)
    _write_existing(page, report, options)
    if options.verbose:
        _write_suppressed(page, report, options)
        _write_rules(page, report, options)
    if any(cut):
        page.blank()
        page.line((f"Lists end after {options.max_examples}; --max-examples 0 shows everything.", "dim"))
    if not incidents:
        write_verdict(page, report)
    elif page.height > _LONG:
        write_verdict(page, report)
        write_incidents(page, incidents, _AT_THE_END)
    return page.text()


def write_incident(page: Page, number: int, incident: Incident, reported: set[int], options: RenderOptions) -> bool:
    """Write one incident, unless it consists of gaps that are listed below. Returns whether a list was cut."""
    if not incident.consequences and all(id(result) in reported for result in incident.causes):
        return False
    every = list(blocks(incident))
    write_block(page, every[0], options, number=f"{number}. ")
    if len(every) > 1:
        page.line(f"Explains {counted(len(incident.consequences), 'other finding')}:", indent=2)
    for block in every[1:]:
        write_consequences(page, block, options)
    return bool(options.max_examples) and any(len(block.results) > options.max_examples for block in every)


def _write_heading(page: Page, report: Report, options: RenderOptions) -> None:
    took = (report.finished - report.started).total_seconds()
    sources = listed((f"{source.kind} {source.name}" for source in report.sources), options.max_examples)
    parts = (f"jsdoctor {report.version}", sources, to_the_second(report.started), f"took {duration(took * 1e9)}")
    page.line(" · ".join(part for part in parts if part))
    if report.headline:
        page.line(f"Looked at {report.headline}")
    if report.topology:
        page.line(f"Deployment: {report.topology.words()}")
        for line in report.topology.lines() if options.verbose else ():
            page.line(line, indent=2)
    if report.change:
        page.line(f"Change: {report.change.words()}")
        for line in report.change.lines()[: options.max_examples or None]:
            page.line(line, indent=2)


def _write_quietly(page: Page, report: Report, options: RenderOptions) -> None:
    _, gap_findings = without_gaps(report)
    for group in in_incident_order(report):
        block, severity = group.results, group.severity
        shown = block[: options.max_examples or None]
        for result in shown:
            page.unwrapped(
                (severity.value, SEVERITY_STYLES[severity]),
                f" {result.rule.code} {result.finding.subject.label}: {result.finding.message}",
            )
        if len(shown) < len(block):
            page.unwrapped(f"{severity.value} {block[0].rule.code} and {len(block) - len(shown):,} more")
    subjects = {result.finding.subject for result in gap_findings}
    untold = [gap for gap in gaps_in_order(report.gaps) if gap.requested and gap.subject not in subjects]
    for gap in untold[: options.max_examples or None]:
        page.unwrapped(f"not seen {gap.subject.label}: {gap.reason}")
    if options.max_examples and len(untold) > options.max_examples:
        page.unwrapped(f"not seen and {len(untold) - options.max_examples:,} more")
    for result in with_outcome(report.results, Outcome.ERROR):
        page.unwrapped(f"check failed {result.rule.code}: {result.finding.message}")


def _write_suppressed(page: Page, report: Report, options: RenderOptions) -> None:
    results = by_urgency(result for result in report.suppressed() if not result.existing)
    if not results:
        return
    page.blank()
    page.line(("Suppressed", "bold"))
    for result in results[: options.max_examples or None]:
        page.line(f"{result.severity.value} {result.rule.code} {result.finding.subject.label}", indent=2)
        page.line(result.suppressed.words if result.suppressed else "", indent=4)
    if options.max_examples and len(results) > options.max_examples:
        page.line(f"and {len(results) - options.max_examples:,} more", indent=2)


def _write_existing(page: Page, report: Report, options: RenderOptions) -> None:
    """Findings that the change does not touch, a line each: a reader of a gate wants to know of them, not read them."""
    results = by_urgency(result for result in report.suppressed() if result.existing)
    if not results:
        return
    page.blank()
    page.line(("Found before the change", "bold"), f" · {counted(len(results), 'finding')}; --all-findings counts them")
    for result in results[: options.max_examples or None]:
        label = result.finding.subject.label
        page.line(f"{result.severity.value} {result.rule.code} {label}: {result.finding.message}", indent=2)
    if options.max_examples and len(results) > options.max_examples:
        page.line(f"and {len(results) - options.max_examples:,} more", indent=2)


def _write_rules(page: Page, report: Report, options: RenderOptions) -> None:
    page.blank()
    page.line(("Rules", "bold"))
    healthy: dict[str, list[str]] = {}
    for result in with_outcome(report.results, Outcome.PASS) if options.verbose > 1 else ():
        healthy.setdefault(result.rule.code, []).append(result.finding.subject.label)
    for verdict in sorted(report.verdicts, key=lambda verdict: verdict.rule.code):
        page.line(f"{verdict.rule.code} {verdict.rule.slug}: {_outcome(verdict)}", indent=2)
        if names := healthy.get(verdict.rule.code):
            page.line(f"healthy: {listed(names, options.max_examples)}", indent=4)


def _outcome(verdict: RuleVerdict) -> str:
    counts = {outcome: verdict.subjects.get(outcome, 0) for outcome in Outcome if verdict.subjects.get(outcome)}
    if len(counts) > 1:
        return f"{_words(verdict.outcome)} ({', '.join(f'{number:,} {_words(at)}' for at, number in counts.items())})"
    return (
        f"{_words(verdict.outcome)} ({counted(sum(counts.values()), 'subject')})" if counts else _words(verdict.outcome)
    )


def _words(outcome: Outcome) -> str:
    return outcome.value.replace("_", " ")
