"""The order of everything in a report: worst first, then by rule code, then by subject. The same in every format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from jsdoctor.model.finding import Outcome, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.report import Result

COLLECTION_GAP = "JSD901"
"""The rule whose findings are the gaps themselves: a report for people lists them once."""


def by_urgency(results: Iterable[Result]) -> list[Result]:
    """Results, worst severity first, then by code and subject."""
    return sorted(results, key=_urgency)


def with_outcome(results: Iterable[Result], outcome: Outcome) -> list[Result]:
    """The results that ended so, worst first."""
    return by_urgency(result for result in results if result.finding.outcome is outcome)


def in_blocks(results: Iterable[Result]) -> Iterator[list[Result]]:
    """The results, worst first, one block per severity and rule."""
    for _, block in groupby(by_urgency(results), key=lambda result: (result.severity, result.rule.code)):
        yield list(block)


def gaps_in_order(gaps: Iterable[Gap]) -> list[Gap]:
    """Gaps: requested ones first, then by kind, reason and subject."""
    return sorted(
        gaps, key=lambda gap: (not gap.requested, gap.kind, gap.reason, gap.how_to_get, _identity(gap.subject))
    )


def _urgency(result: Result) -> tuple[object, ...]:
    finding = result.finding
    return (
        -result.severity.rank,
        result.rule.code,
        *_identity(finding.subject),
        finding.outcome.value,
        finding.message,
    )


def _identity(subject: Subject) -> tuple[str, str, str, str]:
    return subject.account, subject.stream, subject.name, subject.kind
