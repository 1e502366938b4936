"""What changes from one report to the next of the same deployment: findings that appear, worsen and are resolved."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from jsdoctor.engine.comparison import is_undecided, outcome_of_read_subjects, unread_subjects, was_judged
from jsdoctor.model.finding import Severity
from jsdoctor.model.report import Report, Result

MAX_CHANGES = 500
"""Changes that a watch remembers; older ones are forgotten."""


class ChangeKind(StrEnum):
    """What happened to a finding."""

    APPEARED = "appeared"
    WORSENED = "worsened"
    RESOLVED = "resolved"


class OpenFinding(msgspec.Struct, frozen=True):
    """A finding that is present. `judged` False: the last report did not show whether it still is.

    `appeared` is when it began by its evidence, else the time of the first report with it. `older`: that was the first
    report of the watch, so the finding began before. `worst` is the highest severity that it has had.
    """

    result: Result
    appeared: datetime
    worst: Severity
    judged: bool = True
    older: bool = False


class FindingChange(msgspec.Struct, frozen=True):
    """One finding that appeared, worsened or was resolved, when, since when it had been there, and how bad it was."""

    kind: ChangeKind
    result: Result
    at: datetime
    appeared: datetime
    worst: Severity


class Watch(msgspec.Struct, frozen=True):
    """The state between reports. `open` is by fingerprint; `changes` are oldest first."""

    open: dict[str, OpenFinding] = {}
    changes: tuple[FindingChange, ...] = ()
    reports: int = 0


def observe(watch: Watch, report: Report) -> tuple[Watch, tuple[FindingChange, ...]]:
    """The watch after one more report, and what changed with it.

    The first report is the baseline: its findings are returned for notifications, and not kept as changes. A finding
    whose rule could not be evaluated, or whose subject was not seen, is not resolved: it stays open, `judged` False.
    """
    at = report.finished
    results = _worst_by_fingerprint(report)
    now = {key: _still_open(watch, key, result, at) for key, result in results.items()}
    changes = [
        FindingChange(kind, result, at, now[key].appeared, now[key].worst)
        for key, result in results.items()
        if (kind := _change(watch.open.get(key), result))
    ]
    for key, before in watch.open.items():
        if key in now:
            continue
        if _is_judged(report, before.result):
            changes.append(FindingChange(ChangeKind.RESOLVED, before.result, at, before.appeared, before.worst))
        else:
            now[key] = replace(before, judged=False)
    remembered = (*watch.changes, *changes)[-MAX_CHANGES:] if watch.reports else ()
    return Watch(now, remembered, watch.reports + 1), tuple(changes)


def _worst_by_fingerprint(report: Report) -> dict[str, Result]:
    worst: dict[str, Result] = {}
    for result in report.failures():
        before = worst.get(result.fingerprint)
        if before is None or result.severity.rank >= before.severity.rank:
            worst[result.fingerprint] = result
    return worst


def _still_open(watch: Watch, key: str, result: Result, at: datetime) -> OpenFinding:
    if before := watch.open.get(key):
        worst = max(before.worst, result.severity, key=lambda severity: severity.rank)
        return replace(before, result=result, worst=worst, judged=True)
    began = result.finding.first_seen
    return OpenFinding(result, began or at, result.severity, older=began is None and not watch.reports)


def _change(before: OpenFinding | None, result: Result) -> ChangeKind | None:
    if before is None:
        return ChangeKind.APPEARED
    return ChangeKind.WORSENED if result.severity.rank > before.result.severity.rank else None


def _is_judged(report: Report, earlier: Result) -> bool:
    """Whether this report judged the finding's subject, so that its absence means that it is resolved."""
    code, subject = earlier.rule.code, earlier.finding.subject
    verdicts = (verdict for verdict in report.verdicts if verdict.rule.code == code)
    rule = next((outcome_of_read_subjects(verdict.outcome, verdict.subjects) for verdict in verdicts), None)
    undecided = {r.finding.subject for r in report.results if r.rule.code == code and is_undecided(r.finding.outcome)}
    missing = unread_subjects(gap.subject for gap in report.gaps if gap.requested)
    seen_by = {observation.source for observation in earlier.finding.evidence}
    return was_judged(rule, undecided.union(missing), subject, seen_by)
