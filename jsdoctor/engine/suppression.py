"""Suppression: which findings do not count, and what became of each waiver."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from fnmatch import fnmatchcase

from msgspec.structs import replace

from jsdoctor.engine.select import codes_of
from jsdoctor.model.finding import Outcome
from jsdoctor.model.report import Result, RuleVerdict
from jsdoctor.model.rule import Rule
from jsdoctor.model.suppression import Baseline, Suppression, Suppressions, Waiver, WaiverUse


def resolve_waivers(waivers: Iterable[Waiver], rules: Sequence[Rule]) -> tuple[Waiver, ...]:
    """With the codes of the rules that each means. Raises `SelectionError` for one that means none."""
    return tuple(
        replace(waiver, codes=frozenset(codes_of(rules, [waiver.rule], f"{waiver.origin}:{waiver.line}: 'suppress'")))
        for waiver in waivers
    )


def suppress(
    results: Iterable[Result], waivers: Sequence[Waiver], baseline: Baseline | None, today: date
) -> tuple[Result, ...]:
    """The results, those that do not count with why. A waiver goes before the baseline: its reason was written down."""
    return tuple(_judged(result, waivers, baseline, today) for result in results)


def _judged(result: Result, waivers: Sequence[Waiver], baseline: Baseline | None, today: date) -> Result:
    if result.finding.outcome is not Outcome.FAIL:
        return result
    for waiver in waivers:
        if not waiver.expired(today) and _means(waiver, result):
            return replace(result, suppressed=Suppression("waiver", waiver.reason, waiver.expires))
    accepted = baseline.accepted.get(result.fingerprint) if baseline else None
    if baseline and accepted and result.severity.rank <= accepted.severity.rank:
        return replace(result, suppressed=Suppression("baseline", f"accepted in {baseline.origin}"))
    return result


def waiver_uses(
    waivers: Iterable[Waiver], results: Sequence[Result], verdicts: Iterable[RuleVerdict], today: date
) -> Suppressions:
    """The result of each waiver. If its rule did not run, it is unknown whether it is still needed."""
    judged = fully_judged(verdicts)
    failed = [result for result in results if result.finding.outcome is Outcome.FAIL]
    return Suppressions(
        tuple(
            WaiverUse(
                waiver,
                sum(_means(waiver, result) for result in failed),
                waiver.codes <= judged,
                waiver.expired(today),
            )
            for waiver in waivers
        )
    )


def fully_judged(verdicts: Iterable[RuleVerdict]) -> set[str]:
    """Codes of the rules that ran on all their subjects: what they did not find is not there."""
    blind = (Outcome.NOT_EVALUATED, Outcome.ERROR)
    return {
        verdict.rule.code
        for verdict in verdicts
        if verdict.outcome not in blind and not any(verdict.subjects.get(outcome) for outcome in blind)
    }


def _means(waiver: Waiver, result: Result) -> bool:
    return result.rule.code in waiver.codes and fnmatchcase(result.finding.subject.label, waiver.subject)
