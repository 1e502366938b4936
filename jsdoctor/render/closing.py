"""The verdict of a report, at its top and at its end: what is wrong, what to type first, and the counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from jsdoctor.engine.judged import passed_in_part
from jsdoctor.model.finding import Outcome, Severity
from jsdoctor.model.report import Incident, Report
from jsdoctor.model.wording import counted, listed
from jsdoctor.render.incidents import IMPACT_WORDS, first_command, first_login, summary
from jsdoctor.render.page import SEVERITY_STYLES, Page

_CODES_SHOWN = 4
_CUT_OFF = "(its names hold characters that cannot be shown here; --format json has it)"


def findings_by_severity(report: Report) -> dict[Severity, int]:
    """How many findings there are of each severity, worst first, zeros included."""
    counts = Counter(result.severity for result in report.failures())
    return {severity: counts[severity] for severity in reversed(Severity)}


def write_verdict(page: Page, report: Report) -> None:
    """One sentence that can be read alone. It never calls healthy what was not looked at."""
    outcomes = Counter(verdict.outcome for verdict in report.verdicts)
    opening, style = _opening(report, outcomes)
    page.blank()
    page.line((opening, style), *(f" · {rest}" for rest in _others(report, outcomes)))


def write_incidents(page: Page, incidents: Sequence[Incident], most: int) -> None:
    """What is wrong, one line for each of the first `most` incidents, and below it what to type first."""
    for number, incident in enumerate(incidents[:most], 1):
        style, impact = SEVERITY_STYLES[incident.severity], IMPACT_WORDS[incident.impact]
        page.cut(f"{number}. ", (incident.severity.value, style), f" · {impact} · {summary(incident)}")
        page.verbatim(f"→{first_login(incident)} ", first_command(incident), _CUT_OFF, indent=3)
    if len(incidents) > most:
        page.line(f"and {counted(len(incidents) - most, 'more incident')}")


def verdict_sentence(report: Report) -> str:
    """The same sentence as plain text, for formats that are no page."""
    outcomes = Counter(verdict.outcome for verdict in report.verdicts)
    return " · ".join((_opening(report, outcomes)[0], *_others(report, outcomes)))


def _opening(report: Report, outcomes: Counter[Outcome]) -> tuple[str, str]:
    rules = counted(len(report.verdicts), "rule")
    entries = {severity: number for severity, number in findings_by_severity(report).items() if number}
    if entries:
        words = ", ".join(_counted(severity, number) for severity, number in entries.items())
        return f"{words} in {len({result.rule.code for result in report.failures()})} of {rules}", SEVERITY_STYLES[
            next(iter(entries))
        ]
    blind = outcomes[Outcome.NOT_EVALUATED] or outcomes[Outcome.ERROR] or any(gap.requested for gap in report.gaps)
    if outcomes[Outcome.PASS] or report.suppressed() or any(map(passed_in_part, report.verdicts)):
        return (
            (f"Nothing found in what could be seen by {rules}", "bold yellow")
            if blind
            else (f"Nothing found by {rules}", "bold green")
        )
    if blind:
        return f"Nothing could be judged by {rules}", "bold yellow"
    return f"Nothing to judge: none of {rules} applies to what was seen", "bold yellow"


def _others(report: Report, outcomes: Counter[Outcome]) -> Iterator[str]:
    if outcomes[Outcome.PASS]:
        yield f"{outcomes[Outcome.PASS]} passed"
    if in_part := sum(passed_in_part(verdict) for verdict in report.verdicts):
        yield f"{in_part} passed in what was read"
    for outcome, word in ((Outcome.NOT_EVALUATED, "not evaluated"), (Outcome.ERROR, "failed to run")):
        of_outcome = [verdict for verdict in report.verdicts if verdict.outcome is outcome]
        if codes := sorted(verdict.rule.code for verdict in of_outcome if not passed_in_part(verdict)):
            yield f"{len(codes)} {word} ({listed(codes, _CODES_SHOWN)})"
    if outcomes[Outcome.NOT_APPLICABLE]:
        yield f"{outcomes[Outcome.NOT_APPLICABLE]} not applicable"
    existing = sum(result.existing for result in report.suppressed())
    if suppressed := len(report.suppressed()) - existing:
        yield f"{counted(suppressed, 'finding')} suppressed"
    if existing:
        yield f"{counted(existing, 'finding')} from before the change"
    if gaps := sum(gap.requested for gap in report.gaps):
        yield counted(gaps, "gap")


def _counted(severity: Severity, number: int) -> str:
    if severity in (Severity.CRITICAL, Severity.INFO):
        return f"{number:,} {severity.value}"
    return counted(number, severity.value)
