"""Two reports side by side: as text, as Markdown for merge requests and tickets, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor import __version__
from jsdoctor.engine.comparison import ComparedFinding, FindingDifference, ReportComparison
from jsdoctor.model.saved_report import SavedReport
from jsdoctor.render.escape import ascii_only
from jsdoctor.render.json_text import dumps
from jsdoctor.render.markdown_text import code_text, plain_text, table
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.page import SEVERITY_STYLES, Page
from jsdoctor.render.wording import quantity, rfc3339, to_the_second

SCHEMA = "jsdoctor.comparison/v1"
HEADINGS = {
    FindingDifference.NEW: "New",
    FindingDifference.WORSE: "Worse",
    FindingDifference.BETTER: "Better",
    FindingDifference.GONE: "Gone",
    FindingDifference.NOT_JUDGED: "Not judged in the later report",
    FindingDifference.UNCHANGED: "Still there",
}


OTHER_SOURCES = "The sources differ: a finding that is gone may be of one that the later report did not cover."


def summary(comparison: ReportComparison) -> str:
    """`2 new, 1 gone, 4 still there`, or that there is no finding in either report."""
    counts = [(len(comparison.of(difference)), heading) for difference, heading in HEADINGS.items()]
    return ", ".join(f"{count:,} {heading.lower()}" for count, heading in counts if count) or "no findings in either"


def comparison_text(comparison: ReportComparison, options: RenderOptions) -> str:
    """A line for each finding below what became of it; each list is bounded by `max_examples`."""
    page = Page(options)
    page.line(f"jsdoctor {__version__} · {_title(comparison.earlier)} compared with {_title(comparison.later)}")
    page.line((summary(comparison), "bold"))
    if not comparison.same_sources:
        page.line(OTHER_SOURCES)
    for difference, heading in HEADINGS.items():
        findings = comparison.of(difference)
        if not findings:
            continue
        page.blank()
        page.line((heading, "bold"))
        shown = findings[: options.max_examples or None]
        for finding in shown:
            result = finding.result
            style = SEVERITY_STYLES[result.severity] if finding.is_there else ""
            rest = f" {result.code} {result.subject.label}: {result.message}{note(finding)}"
            page.line((result.severity.value, style), rest, indent=2)
        if len(shown) < len(findings):
            page.line(f"and {len(findings) - len(shown):,} more", indent=2)
    return page.text()


def comparison_markdown(comparison: ReportComparison, options: RenderOptions) -> str:
    """A table for each difference."""
    text = "\n\n".join(_sections(comparison, options)) + "\n"
    return ascii_only(text) if options.ascii_only else text


def _sections(comparison: ReportComparison, options: RenderOptions) -> Iterator[str]:
    yield f"## jsdoctor: {plain_text(summary(comparison))}"
    yield plain_text(f"{_title(comparison.earlier)} compared with {_title(comparison.later)}")
    if not comparison.same_sources:
        yield OTHER_SOURCES
    for difference, heading in HEADINGS.items():
        findings = comparison.of(difference)
        if not findings:
            continue
        yield f"### {heading}"
        shown = findings[: options.max_examples or None]
        yield table(
            ("Severity", "Rule", "Subject", "Finding"),
            [
                (
                    finding.result.severity.value,
                    finding.result.code,
                    code_text(finding.result.subject.label),
                    plain_text(finding.result.message + note(finding)),
                )
                for finding in shown
            ],
        )
        if len(shown) < len(findings):
            yield f"and {len(findings) - len(shown):,} more"


def comparison_json(comparison: ReportComparison, options: RenderOptions) -> str:
    """Everything, in the order of the text."""
    document = {
        "schema": SCHEMA,
        "jsdoctor": __version__,
        "earlier": _report(comparison.earlier),
        "later": _report(comparison.later),
        "same_sources": comparison.same_sources,
        "summary": {difference.value: len(comparison.of(difference)) for difference in FindingDifference},
        "findings": [_finding(finding) for finding in comparison.findings],
    }
    return dumps(document, options.ascii_only)


def _title(report: SavedReport) -> str:
    return f"{report.origin} ({to_the_second(report.started)})"


def note(finding: ComparedFinding) -> str:
    """What the message alone does not say: another severity, another measure, or that nothing was known before."""
    if finding.first_judged:
        return " (not judged in the earlier report)"
    before, now = finding.before, finding.result
    if before is None or not finding.is_there:
        return ""
    parts = [f"was {before.severity.value}"] if before.severity is not now.severity else []
    if before.measured is not None and before.measured != now.measured and before.unit == now.unit:
        parts.append(f"measured {quantity(before.measured, before.unit)} before")
    return f" ({', '.join(parts)})" if parts else ""


def _report(report: SavedReport) -> dict[str, object]:
    return {
        "file": report.origin,
        "started": rfc3339(report.started),
        "finished": rfc3339(report.finished),
        "sources": [{"kind": source.kind, "name": source.name} for source in report.sources],
        "missing_evidence": sum(gap.requested for gap in report.gaps),
    }


def _finding(finding: ComparedFinding) -> dict[str, object]:
    shown, before = finding.result, finding.before
    now = shown if finding.is_there else None
    subject = shown.subject
    return {
        "difference": finding.difference.value,
        "code": shown.code,
        "subject": {"kind": subject.kind, "name": subject.name, "account": subject.account, "stream": subject.stream},
        "message": shown.message,
        "severity": now.severity.value if now else None,
        "severity_before": before.severity.value if before else None,
        "measured": now.measured if now else None,
        "measured_before": before.measured if before else None,
        "unit": shown.unit,
        "judged_before": not finding.first_judged,
        "fingerprint": shown.fingerprint,
    }
