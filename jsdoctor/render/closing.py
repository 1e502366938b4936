"""The verdict of a report in sentences: what needs action, and how much was judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from jsdoctor.engine.comparison import passed_in_part
from jsdoctor.model.finding import Outcome, Severity
from jsdoctor.model.report import Incident, Report
from jsdoctor.model.wording import counted, listed
from jsdoctor.render.incidents import incidents_of, names_of
from jsdoctor.render.page import SEVERITY_STYLES, Page

_PROBLEMS_SHOWN = 3


def findings_by_severity(report: Report) -> dict[Severity, int]:
    """How many findings there are of each severity, worst first, zeros included."""
    counts = Counter(result.severity for result in report.failures())
    return {severity: counts[severity] for severity in reversed(Severity)}


def write_verdict(page: Page, report: Report) -> None:
    """Write what needs action and how many rules passed; with missing evidence, never that all is healthy."""
    opening, style = _opening(report)
    page.line((opening, style), f" {judged}" if (judged := _judged_sentence(report)) else "")


def opening_sentence(report: Report) -> str:
    """What needs action, as plain text."""
    return _opening(report)[0]


def verdict_sentence(report: Report) -> str:
    """The same sentences as plain text, for formats that are no page."""
    return f"{_opening(report, codes=True)[0]} {_judged_sentence(report)}".rstrip()


def _opening(report: Report, *, codes: bool = False) -> tuple[str, str]:
    """`2 problems need action: PAYMENTS, cluster. 4 warnings, 1 note.`, and its style.

    With `codes`, where no incident stands beside it: `JSD603 SHOP > PAYMENTS, JSD701 cluster`.
    """
    incidents = incidents_of(report)
    worst = [incident for incident in incidents if incident.severity.rank >= Severity.ERROR.rank]
    counts = Counter(incident.severity for incident in incidents)
    less = [counted(counts[Severity.WARNING], "warning")] if counts[Severity.WARNING] else []
    less += [counted(counts[Severity.INFO], "note")] if counts[Severity.INFO] else []
    rest = f"{', '.join(less)}." if less else ""
    if worst:
        need = f"{counted(len(worst), 'problem')} {'needs' if len(worst) == 1 else 'need'} action"
        names = (
            f"{incident.causes[0].rule.code} {names_of(incident.causes)}" if codes else _short_name(incident)
            for incident in worst
        )
        words = f"{need}: {listed(names, _PROBLEMS_SHOWN)}. {rest}".rstrip()
        return words, SEVERITY_STYLES[max((incident.severity for incident in worst), key=lambda worst: worst.rank)]
    outcomes = Counter(verdict.outcome for verdict in report.verdicts)
    if not (outcomes[Outcome.PASS] or incidents or report.suppressed() or any(map(passed_in_part, report.verdicts))):
        incomplete = (
            outcomes[Outcome.NOT_EVALUATED] or outcomes[Outcome.ERROR] or any(gap.requested for gap in report.gaps)
        )
        return ("Nothing could be judged." if incomplete else "No rule applies to what was seen."), "bold yellow"
    # Something that was requested was not seen, or was seen and not decided.
    incomplete = (
        any(gap.requested for gap in report.gaps)
        or any(result.finding.outcome is Outcome.ERROR or result.finding.seen for result in report.results)
        or any(map(passed_in_part, report.verdicts))
    )
    where = " in what could be seen" if incomplete else ""
    if incidents:
        return f"No errors{where}: {rest}", SEVERITY_STYLES[incidents[0].severity]
    return f"No problems found{where}.", "bold yellow" if where else "bold green"


def _short_name(incident: Incident) -> str:
    """The name of its subject without those of its stream and account, which stand above."""
    subject = incident.causes[0].finding.subject
    return names_of(incident.causes) if len(incident.causes) > 1 else subject.name or subject.label


def _judged_sentence(report: Report) -> str:
    """`55 rules passed; 74 need more evidence (-v), 2 gaps.`"""
    first, *others = [*judged_counts(report)] or [""]
    words = "; ".join(filter(None, (first, ", ".join(others))))
    return f"{words}." if words else ""


def judged_counts(report: Report) -> Iterator[str]:
    """How many rules passed or need more evidence, and how many findings and gaps are left out."""
    outcomes = Counter(verdict.outcome for verdict in report.verdicts)
    if outcomes[Outcome.PASS]:
        yield f"{counted(outcomes[Outcome.PASS], 'rule')} passed"
    in_part = sum(passed_in_part(verdict) for verdict in report.verdicts)
    if in_part:
        yield f"{in_part} passed in what was read"
    if unseen := outcomes[Outcome.NOT_EVALUATED] - in_part:
        yield f"{unseen} {'needs' if unseen == 1 else 'need'} more evidence (-v)"
    if outcomes[Outcome.ERROR]:
        yield f"{outcomes[Outcome.ERROR]} failed to run"
    existing = sum(result.existing for result in report.suppressed())
    if suppressed := len(report.suppressed()) - existing:
        yield f"{counted(suppressed, 'finding')} suppressed"
    if existing:
        yield f"{counted(existing, 'finding')} from before the change"
    if gaps := sum(gap.requested for gap in report.gaps):
        yield counted(gaps, "gap")
