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
    """The waivers with the codes of the rules that each selects. Raises `SelectionError` for one that selects none."""
    return tuple(
        replace(waiver, codes=frozenset(codes_of(rules, [waiver.rule], f"{waiver.origin}:{waiver.line}: 'suppress'")))
        for waiver in waivers
    )


def suppress(
    results: Iterable[Result], waivers: Sequence[Waiver], baseline: Baseline | None, today: date
) -> tuple[Result, ...]:
    """The results; failures that do not count have the reason in `suppressed`. A waiver goes before the baseline."""
    return tuple(_judged(result, waivers, baseline, today) for result in results)


def _judged(result: Result, waivers: Sequence[Waiver], baseline: Baseline | None, today: date) -> Result:
    if result.finding.outcome is not Outcome.FAIL:
        return result
    for waiver in waivers:
        if not waiver.expired(today) and _covers(waiver, result):
            return replace(result, suppressed=Suppression("waiver", waiver.reason, waiver.expires))
    accepted = baseline.accepted.get(result.fingerprint) if baseline else None
    if baseline and accepted and result.severity.rank <= accepted.severity.rank:
        return replace(result, suppressed=Suppression("baseline", f"accepted in {baseline.origin}"))
    return result


def waiver_uses(
    waivers: Iterable[Waiver], results: Sequence[Result], verdicts: Iterable[RuleVerdict], today: date
) -> Suppressions:
    """How many failures each waiver covers, whether its rules judged all of their subjects, and whether it expired."""
    judged = fully_judged(verdicts)
    failed = [result for result in results if result.finding.outcome is Outcome.FAIL]
    return Suppressions(
        tuple(
            WaiverUse(
                waiver,
                sum(_covers(waiver, result) for result in failed),
                waiver.codes <= judged,
                waiver.expired(today),
            )
            for waiver in waivers
        )
    )


def fully_judged(verdicts: Iterable[RuleVerdict]) -> set[str]:
    """Codes of the rules that judged every subject: what they did not find does not exist."""
    blind = (Outcome.NOT_EVALUATED, Outcome.ERROR)
    return {
        verdict.rule.code
        for verdict in verdicts
        if verdict.outcome not in blind
        and not verdict.in_part
        and not any(verdict.subjects.get(outcome) for outcome in blind)
    }


def _covers(waiver: Waiver, result: Result) -> bool:
    return result.rule.code in waiver.codes and fnmatchcase(result.finding.subject.label, waiver.subject)
