"""The report for a person: what was looked at, what is wrong and what to do first, and the verdict as a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jsdoctor.model.commands import changes_something
from jsdoctor.model.finding import Confidence, Outcome, Severity
from jsdoctor.model.report import Incident, Report, RuleVerdict
from jsdoctor.model.traffic_summary import ConsumerSummary, LatencySummary, TrafficSummary
from jsdoctor.model.wording import counted, listed, span
from jsdoctor.render.closing import write_verdict
from jsdoctor.render.findings import CUT_OFF, offered, write_block, write_place
from jsdoctor.render.incidents import IMPACT_WORDS, blocks, in_incident_order, incidents_of, names_of
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.order import by_urgency, gaps_in_order, with_outcome
from jsdoctor.render.page import SEVERITY_STYLES, Page
from jsdoctor.render.site import rule_url
from jsdoctor.render.unseen import without_gaps, write_crashes, write_gaps, write_not_evaluated
from jsdoctor.render.wording import on_the_day, to_the_second

SUFFIXES = (".txt",)

_NAMES_SHOWN = 3
_INDENT = 3
"""The width of `1. `."""
_DOUBTS = {Confidence.LOW: "uncertain", Confidence.MEDIUM: "likely"}


def render(report: Report, options: RenderOptions) -> str:
    """The whole report. With `quiet`: one line per finding, gap and failed check, nothing when there is none."""
    page = Page(options)
    if options.quiet:
        _write_line_each(page, report, options)
        return page.text()
    _write_heading(page, report, options)
    ids = {id(result) for result in without_gaps(report)[1]}
    shown = [
        incident
        for incident in incidents_of(report)
        if incident.consequences or not all(id(result) in ids for result in incident.causes)  # gaps are listed below
    ]
    if options.verbose:
        cut = [write_incident(page, number, incident, options) for number, incident in enumerate(shown, 1)]
        if any(cut):
            page.blank()
            page.line((f"Lists end after {options.max_examples}; --max-examples 0 shows everything.", "dim"))
    else:
        for number, incident in enumerate(shown, 1):
            if incident.severity is not Severity.INFO:
                _write_briefly(page, number, incident, report, options)
        _write_notes(page, [incident for incident in shown if incident.severity is Severity.INFO], options)
    write_traffic(page, report.traffic)
    write_crashes(page, report, options)
    write_gaps(page, report, options)
    write_not_evaluated(page, report, options)
    _write_existing(page, report, options)
    if options.verbose:
        _write_suppressed(page, report, options)
        _write_rules(page, report, options)
    page.blank()
    if shown and not options.verbose and shown[0].severity is not Severity.INFO:
        page.line((f"Why: jsdoctor explain {shown[0].causes[0].rule.code}", "dim"))
    write_verdict(page, report)
    return page.text()


def _write_briefly(page: Page, number: int, incident: Incident, report: Report, options: RenderOptions) -> None:
    """Write an incident as one sentence, with what to do first and the first command.
    Repeated names and the day of the report are left out of it.
    """
    cause, severity = incident.causes[0], incident.severity
    page.blank()
    facts = [cause.rule.code]
    if severity.rank >= Severity.ERROR.rank:
        facts.append(IMPACT_WORDS[incident.impact])
    if began := incident.began:
        facts.append(f"since {on_the_day(began, report.started)}")
    if cause.finding.confidence in _DOUBTS:
        facts.append(_DOUBTS[cause.finding.confidence])
    if incident.consequences:
        groups = [group.results for group in blocks(incident)][1:]
        subject = f" {names_of(incident.causes)}"
        explained = (f"{results[0].rule.code} {names_of(results)}".removesuffix(subject) for results in groups)
        facts.append(f"explains {listed(dict.fromkeys(explained), 1)}")
    if address := rule_url(options.docs_url, cause.rule.code):
        facts.append(address)
    where, what = names_of(incident.causes, _NAMES_SHOWN), cause.finding.message or cause.rule.title
    differ = len({result.finding.message for result in incident.causes}) > 1
    page.line(
        f"{number}. ",
        (severity.value, SEVERITY_STYLES[severity]),
        ": ",
        (where, "bold"),
        ", the first: " if differ else " " if what.startswith(f"{where} ") else ": ",
        what.removeprefix(f"{where} "),
        f" ({cause.rule.code})" if len(facts) == 1 else "",
        hang=_INDENT,
    )
    if len(facts) > 1:
        page.line((", ".join(facts), "dim"), indent=_INDENT)
    write_place(page, cause.finding, options, indent=_INDENT)
    if cause.finding.advice:
        page.line(f"Do first: {cause.finding.advice}", indent=_INDENT)
    commands = offered(cause.remedy)[:1]
    if severity.rank < Severity.ERROR.rank:
        commands = [(label, command) for label, command in commands if changes_something(command)]
    for label, command in commands:
        which = f", the first of {len(incident.causes):,}" if len(incident.causes) > 1 else ""
        page.verbatim(f"{label}{which}: ", command, CUT_OFF, indent=_INDENT)


def _write_notes(page: Page, notes: Sequence[Incident], options: RenderOptions) -> None:
    """Findings that call for no action: their rules, and whose streams and consumers they are about."""
    if notes:
        names = dict.fromkeys(map(_note_text, notes))
        page.blank()
        page.line(("info", SEVERITY_STYLES[Severity.INFO]), f": {listed(names, options.max_examples)} (-v)")


def _note_text(note: Incident) -> str:
    rule, subject = note.causes[0].rule, note.causes[0].finding.subject
    return f"{rule.code} {rule.slug}" + (f" of {names_of(note.causes)}" if subject.account else "")


def write_incident(page: Page, number: int, incident: Incident, options: RenderOptions) -> bool:
    """Write one incident with everything about it. Returns whether a list was cut."""
    every = list(blocks(incident))
    write_block(page, every[0], options, number=f"{number}. ")
    if len(every) > 1:
        page.line(f"Explains {counted(len(incident.consequences), 'other finding')}:", indent=2)
    for block in every[1:]:
        write_block(page, block, options)
        page.line(f"Explained by {block.explanation}", indent=2)
    return bool(options.max_examples) and any(len(block.results) > options.max_examples for block in every)


def _write_heading(page: Page, report: Report, options: RenderOptions) -> None:
    sources = listed((f"{source.kind} {source.name}" for source in report.sources), options.max_examples)
    seen = report.headline or sources
    page.line(" · ".join(part for part in (f"jsdoctor {report.version}", seen, to_the_second(report.started)) if part))
    if options.verbose:
        took = (report.finished - report.started).total_seconds()
        page.line(f"Read from {sources} in {span(took * 1e9)}" if sources else f"Took {span(took * 1e9)}")
        if report.topology:
            page.line(f"Deployment: {report.topology.words()}")
            for line in report.topology.lines():
                page.line(line, indent=2)
    if report.change:
        page.line(f"Change: {report.change.words()}")
        for line in report.change.lines()[: options.max_examples or None]:
            page.line(line, indent=2)


def _write_line_each(page: Page, report: Report, options: RenderOptions) -> None:
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
    not_in_findings = [gap for gap in gaps_in_order(report.gaps) if gap.requested and gap.subject not in subjects]
    for gap in not_in_findings[: options.max_examples or None]:
        page.unwrapped(f"not seen {gap.subject.label}: {gap.reason}")
    if options.max_examples and len(not_in_findings) > options.max_examples:
        page.unwrapped(f"not seen and {len(not_in_findings) - options.max_examples:,} more")
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
    """Write a line for each finding that existed before the change; they do not fail a gate."""
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
    """`not evaluated` for `not_evaluated`."""
    return outcome.value.replace("_", " ")


def write_traffic(page: Page, traffic: tuple[TrafficSummary, ...]) -> None:
    """Write a section for each capture with NATS traffic."""
    for summary in traffic:
        page.blank()
        page.line((f"Traffic in {summary.capture}", "bold"))
        for words in _lines(summary):
            page.line(words, indent=2)


def _lines(summary: TrafficSummary) -> Iterator[str]:
    connections = ", ".join(f"{kind.count:,} {kind.name}" for kind in summary.connections)
    yield f"{summary.packets:,} packets in {span(summary.duration_ns)}; connections: {connections}"
    parts = [f"published {summary.published:,}", f"delivered by consumers {summary.delivered:,}"]
    for count, what in (
        *(
            (summary.refused, "refused"),
            (summary.no_responders, "without responders"),
            (summary.unanswered, "without a reply"),
        ),
        *((summary.duplicates, "duplicates"), (summary.errors, "protocol errors")),
    ):
        if count:
            parts.append(f"{count:,} {what}")
    yield ", ".join(parts)
    if summary.publish_acks.count:
        yield f"publish acknowledgements: {_latency(summary.publish_acks)}"
    if summary.api_requests:
        failed = f", {summary.api_failures:,} failed" if summary.api_failures else ""
        yield f"JetStream API: {summary.api_requests:,} requests{failed}"
    for consumer in summary.consumers:
        yield _consumer(consumer)
    for title, entries in (("subjects", summary.subjects), ("statuses", summary.statuses)):
        if entries:
            yield f"{title}: {', '.join(f'{entry.name} {entry.count:,}' for entry in entries)}"
    if summary.clients:
        named = (f"{client.name} ({client.published:,} out, {client.delivered:,} in)" for client in summary.clients)
        yield f"clients: {', '.join(named)}"


def _latency(latency: LatencySummary) -> str:
    values = (("p50", latency.p50_ns), ("p95", latency.p95_ns), ("p99", latency.p99_ns), ("max", latency.largest_ns))
    return f"{latency.count:,}, {', '.join(f'{name} {span(value)}' for name, value in values)}"


def _consumer(summary: ConsumerSummary) -> str:
    parts = [f"{summary.deliveries:,} delivered"]
    for count, what in (
        *((summary.redeliveries, "of them again"), (summary.acks, "acks"), (summary.naks, "NAKs")),
        *((summary.terminated, "terminated"), (summary.in_progress, "in progress")),
    ):
        if count:
            parts.append(f"{count:,} {what}")
    if summary.ack.count:
        parts.append(f"ack p50 {span(summary.ack.p50_ns)}, p99 {span(summary.ack.p99_ns)}")
    return f"consumer {summary.stream}/{summary.consumer}: {', '.join(parts)}"
