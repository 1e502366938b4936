"""What a report could not see or judge: gaps in the evidence, rules not evaluated, checks that failed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import groupby

import msgspec

from jsdoctor.model.finding import Outcome, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.report import Report, Result
from jsdoctor.model.wording import counted, listed
from jsdoctor.render.escape import printable
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.order import COLLECTION_GAP, by_urgency, gaps_in_order, with_outcome
from jsdoctor.render.page import SEVERITY_STYLES, Page, Part
from jsdoctor.render.wording import subjects

_COMMANDS = ("nats ", "jsdoctor ")  # advice that starts so is a command: it must stay in one piece


class Undecided(msgspec.Struct):
    """Rules that could not be judged for one and the same reason, and the subjects for which they could not.

    `seen`: what was seen of these subjects may be a fault.
    """

    reason: str
    how_to_get: str
    codes: set[str]
    subjects: list[Subject]
    seen: bool = False


def is_command(how_to_get: str) -> bool:
    """Whether this advice is a command to be copied, not a sentence."""
    return how_to_get.startswith(_COMMANDS)


def without_gaps(report: Report) -> tuple[list[Result], list[Result]]:
    """Two lists, worst first: the findings, and those of JSD901 that only repeat a requested gap of the report."""
    with_gap = {gap.subject for gap in report.gaps if gap.requested}
    findings: list[Result] = []
    gaps: list[Result] = []
    for result in by_urgency(report.failures()):
        says_gap = result.rule.code == COLLECTION_GAP and result.finding.subject in with_gap
        (gaps if says_gap else findings).append(result)
    return findings, gaps


def write_crashes(page: Page, report: Report, options: RenderOptions) -> None:
    """Checks that failed themselves: a defect of the rule, never of the system that was looked at."""
    crashes = with_outcome(report.results, Outcome.ERROR)
    for result in crashes[: options.max_examples or None]:
        page.blank()
        page.line(("check failed", "bold magenta"), " ", (f"{result.rule.code} {result.rule.slug}", "bold"))
        page.line(f"{result.finding.subject.label}: {result.finding.message}", indent=2)
        page.line("This is a defect of the rule, not of your system: nothing is known of what it looks for.", indent=2)
    if options.max_examples and len(crashes) > options.max_examples:
        page.line(f"and {counted(len(crashes) - options.max_examples, 'failed check')} more")


def write_gaps(page: Page, report: Report, options: RenderOptions) -> None:
    """Gaps, those with one reason together. The rule that found them (JSD901) is named here, not among the findings.

    Without `verbose` those that an incident explains are left out: its cause says what to do about them.
    """
    explained = set() if options.verbose else _explained_subjects(report)
    requested = [gap for gap in report.gaps if gap.requested and gap.subject not in explained]
    if requested:
        page.blank()
        heading = _gap_heading(report, {gap.subject for gap in requested})
        page.line(*heading, ("Not seen", "bold"), f" · {counted(len(requested), 'gap')}")
        _write_gap_groups(page, requested, options)
    reported = {(group.reason, group.how_to_get) for group in undecided(report)}  # below, with its rules
    offered = [gap for gap in report.gaps if not gap.requested and (gap.reason, gap.how_to_get) not in reported]
    if offered and options.verbose:
        page.blank()
        page.line(("Not requested, or not offered by this kind of access", "bold"))
        _write_gap_groups(page, offered, options)


def _explained_subjects(report: Report) -> set[Subject]:
    return {
        consequence.result.finding.subject
        for incident in report.incidents
        for consequence in incident.consequences
        if consequence.result.rule.code == COLLECTION_GAP
    }


def write_not_evaluated(page: Page, report: Report, options: RenderOptions) -> None:
    """What was seen and not decided; with `verbose` also the other rules that could not be judged."""
    groups = undecided(report)
    seen, unseen = [group for group in groups if group.seen], [group for group in groups if not group.seen]
    _write_undecided(page, "Seen and not decided", seen, options)
    if options.verbose:
        _write_undecided(page, "Not evaluated", unseen, options)


def _write_undecided(page: Page, heading: str, groups: Sequence[Undecided], options: RenderOptions) -> None:
    if not groups:
        return
    page.blank()
    page.line((heading, "bold"), f" · {counted(len({code for group in groups for code in group.codes}), 'rule')}")
    limit = options.max_examples or len(groups)
    for group in groups[:limit]:
        is_single = group.seen and len(group.subjects) == 1
        subjects_text = (
            f" ({group.subjects[0].label if is_single else subjects(group.subjects)})" if group.subjects else ""
        )
        _write_reason(page, [", ".join(sorted(group.codes)), subjects_text], group.reason, group.how_to_get)
    if rest := groups[limit:]:
        named = sorted({code for group in rest for code in group.codes})
        page.line(f"and {counted(len(rest), 'more reason')} ({', '.join(named)})", indent=2)


def undecided(report: Report) -> list[Undecided]:
    """The reasons why rules were not evaluated. First those with something seen, then those of the most rules."""
    by_reason: dict[tuple[str, str], Undecided] = {}

    def add(code: str, reason: str, how_to_get: str, subject: Subject | None = None, seen: bool = False) -> None:
        group = by_reason.setdefault((reason, how_to_get), Undecided(reason, how_to_get, set(), [], seen))
        group.codes.add(code)
        if subject is not None:
            group.subjects.append(subject)

    single = with_outcome(report.results, Outcome.NOT_EVALUATED)
    for result in single:
        finding = result.finding
        add(result.rule.code, finding.message, finding.how_to_get, finding.subject, finding.seen)
    explained = {result.rule.code for result in single}
    for verdict in report.verdicts:
        if verdict.outcome is Outcome.NOT_EVALUATED and verdict.rule.code not in explained:
            add(verdict.rule.code, verdict.reason, verdict.how_to_get)
    return sorted(
        by_reason.values(),
        key=lambda group: (not group.seen, -len(group.codes), -len(group.subjects), min(group.codes)),
    )


def _gap_heading(report: Report, gap_subjects: Collection[Subject]) -> Iterable[Part]:
    """The rule that found the gaps of these subjects, with the worst severity of them."""
    worst = next((result for result in without_gaps(report)[1] if result.finding.subject in gap_subjects), None)
    if worst:
        yield worst.severity.value, SEVERITY_STYLES[worst.severity]
        yield " "
        yield f"{worst.rule.code} {worst.rule.slug}", "bold"
        yield " · "


def _write_gap_groups(page: Page, gaps: Sequence[Gap], options: RenderOptions) -> None:
    ordered = gaps_in_order(gaps)
    groups = [list(group) for _, group in groupby(ordered, key=lambda gap: (gap.kind, gap.reason, gap.how_to_get))]
    limit = options.max_examples or len(groups)
    for group in groups[:limit]:
        names = listed(dict.fromkeys(gap.subject.label for gap in group), options.max_examples)
        _write_reason(page, [(names, "bold")], group[0].reason, group[0].how_to_get)
    if rest := groups[limit:]:
        page.line(f"and {counted(sum(map(len, rest)), 'more gap')}", indent=2)


def _write_reason(page: Page, subject_parts: Sequence[Part], reason: str, how_to_get: str) -> None:
    """Write what could not be seen, why, and how to get it, on one line or, if that is too long, on two."""
    what: tuple[Part, ...] = (*subject_parts, ": ", reason or "no reason was given")
    way = f"→ {how_to_get}"
    if not how_to_get:
        page.line(*what, indent=2)
    elif page.fits(*what, " ", way, indent=2):
        page.line(*what, " ", way, indent=2)
    else:
        page.line(*what, indent=2)
        if is_command(how_to_get):
            page.verbatim("→ ", how_to_get, printable(how_to_get), indent=4)
        else:
            page.line(way, indent=4)
