"""What differs between two reports: findings that are new, worse, better, gone, or not judged any more."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum

import msgspec

from jsdoctor.engine.verdict import ExitCode
from jsdoctor.model.finding import Outcome, Severity, Subject
from jsdoctor.model.report import RuleVerdict
from jsdoctor.model.saved_report import SavedReport, SavedResult

_NOT_JUDGED = (Outcome.NOT_EVALUATED, Outcome.ERROR)


def was_judged(
    rule: Outcome | None, unknown: Collection[Subject], subject: Subject, seen_by: Collection[str] = ()
) -> bool:
    """Whether a rule has judged a subject. `rule` is the outcome of the rule, None if it was not run.

    `unknown` are the subjects that the rule could not judge, and those of evidence that was requested and is missing.
    `seen_by` are the servers that showed the finding before: without one of them, what it held is not seen.
    """
    servers = {_SOME_SERVER, *(Subject(kind="server", name=name) for name in seen_by)} if seen_by else set()
    return rule is not None and rule not in _NOT_JUDGED and not set(unknown) & (servers | set(_holders(subject)))


_SOME_SERVER = Subject(kind="server")
"""A server of which only the address is known: any of those that were seen before."""


def unread_subjects(missing: Iterable[Subject]) -> Iterable[Subject]:
    """What requested evidence is missing for. A server that gave only its address may be any of them."""
    for subject in missing:
        yield _SOME_SERVER if subject.kind == "server" and "://" in subject.name else subject


def outcome_of_read_subjects(outcome: Outcome, subjects: Mapping[Outcome, int]) -> Outcome:
    """The outcome of a rule for the subjects that were read. `subjects`: how many of them ended in each outcome.

    A rule that is not evaluated only because other subjects were not read passes for those that it passed.
    """
    passed = outcome is Outcome.NOT_EVALUATED and subjects.get(Outcome.PASS) and not subjects.get(outcome)
    return Outcome.PASS if passed else outcome


def passed_in_part(verdict: RuleVerdict) -> bool:
    """Whether a rule passed all subjects that were read, and is not evaluated only because others were not."""
    return outcome_of_read_subjects(verdict.outcome, verdict.subjects) is not verdict.outcome


def is_undecided(outcome: Outcome) -> bool:
    """Whether a result means that its subject could not be judged."""
    return outcome in _NOT_JUDGED


def _holders(subject: Subject) -> tuple[Subject, ...]:
    """A subject, its stream, its account and the cluster: where one of these is unseen, so is the subject. A server may
    be the one that gave only its address.
    """
    if subject.kind == "server":
        return (subject, _SOME_SERVER, Subject(kind="cluster"))
    stream = Subject(kind="stream", name=subject.stream, account=subject.account) if subject.stream else subject
    account = Subject(kind="account", name=subject.account) if subject.account else subject
    return (subject, stream, account, Subject(kind="cluster"))


class FindingDifference(StrEnum):
    """What became of a finding, in the order in which it is shown."""

    NEW = "new"
    WORSE = "worse"
    BETTER = "better"
    GONE = "gone"
    NOT_JUDGED = "not_judged"
    UNCHANGED = "unchanged"


class ComparedFinding(msgspec.Struct, frozen=True):
    """A finding of two reports: `result` as it was seen last, `before` as the earlier report has it.

    `first_judged`: the earlier report could not judge it, so it may have existed then.
    """

    difference: FindingDifference
    result: SavedResult
    before: SavedResult | None = None
    first_judged: bool = False

    @property
    def is_there(self) -> bool:
        """Whether the later report has the finding."""
        return self.difference not in {FindingDifference.GONE, FindingDifference.NOT_JUDGED}


class ReportComparison(msgspec.Struct, frozen=True):
    """Two reports and their findings: by difference, then the worst first."""

    earlier: SavedReport
    later: SavedReport
    findings: tuple[ComparedFinding, ...]

    @property
    def same_sources(self) -> bool:
        """Whether both runs had the same sources. Else a finding may be gone because a source is missing."""
        return set(self.earlier.sources) == set(self.later.sources)

    def of(self, difference: FindingDifference) -> tuple[ComparedFinding, ...]:
        """The findings with this difference."""
        return tuple(finding for finding in self.findings if finding.difference is difference)


def compare(earlier: SavedReport, later: SavedReport) -> ReportComparison:
    """Compare two reports of the same deployment or archive. Findings are the same by their fingerprint."""
    before, now = earlier.failures(), later.failures()
    findings = [_compared(before.get(key), result, earlier) for key, result in now.items()]
    findings += [_absent_now(result, later) for key, result in before.items() if key not in now]
    return ReportComparison(earlier, later, tuple(sorted(findings, key=_order)))


def exit_code(comparison: ReportComparison, fail_on: Severity) -> ExitCode:
    """1 where something at or above `fail_on` is new or worse, 3 where something cannot be judged any more, else 0."""
    new_or_worse = (*comparison.of(FindingDifference.NEW), *comparison.of(FindingDifference.WORSE))
    if any(finding.result.severity.rank >= fail_on.rank for finding in new_or_worse):
        return ExitCode.FINDINGS
    lost = any(finding.result.severity.rank >= fail_on.rank for finding in comparison.of(FindingDifference.NOT_JUDGED))
    return ExitCode.INCONCLUSIVE if lost or any(gap.requested for gap in comparison.later.gaps) else ExitCode.OK


def _compared(before: SavedResult | None, now: SavedResult, earlier: SavedReport) -> ComparedFinding:
    if before is None:
        return ComparedFinding(FindingDifference.NEW, now, first_judged=not _has_judged(earlier, now))
    difference = FindingDifference.UNCHANGED
    if now.severity.rank > before.severity.rank:
        difference = FindingDifference.WORSE
    elif now.severity.rank < before.severity.rank:
        difference = FindingDifference.BETTER
    return ComparedFinding(difference, now, before)


def _absent_now(before: SavedResult, later: SavedReport) -> ComparedFinding:
    """A finding that the later report lacks: gone, or not judged any more."""
    difference = FindingDifference.GONE if _has_judged(later, before) else FindingDifference.NOT_JUDGED
    return ComparedFinding(difference, before, before)


def _has_judged(report: SavedReport, result: SavedResult) -> bool:
    rules = (rule for rule in report.rules if rule.code == result.code)
    rule = next((outcome_of_read_subjects(rule.outcome, rule.subjects) for rule in rules), None)
    return was_judged(rule, set(_unjudged_subjects(report, result.code)), result.subject, result.seen_by)


def _unjudged_subjects(report: SavedReport, code: str) -> Iterable[Subject]:
    yield from (result.subject for result in report.results if result.code == code and is_undecided(result.outcome))
    yield from unread_subjects(gap.subject for gap in report.gaps if gap.requested)


def _order(finding: ComparedFinding) -> tuple[int, int, str, str]:
    shown = finding.result
    return (list(FindingDifference).index(finding.difference), -shown.severity.rank, shown.code, shown.subject.label)
