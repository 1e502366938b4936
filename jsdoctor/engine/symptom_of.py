"""The symptom from evidence alone: if no symptom was given, the failed rules decide it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from jsdoctor.engine.recognition import Recognised, Recognition
from jsdoctor.engine.symptoms import SymptomBook
from jsdoctor.model.finding import Confidence, Outcome, Severity
from jsdoctor.model.report import Result

_WEIGHTS = {Severity.CRITICAL: 64, Severity.ERROR: 16, Severity.WARNING: 4}
_OWN_PAGE = 2
"""Factor for a rule on the symptom page that lists it under `matching`."""

_NAMED = 3


def symptom_of(results: Iterable[Result], book: SymptomBook, at_least: Severity) -> Recognition:
    """The symptom that explains most findings by weight; none where no finding is at least as severe as `at_least`."""
    by_code: dict[str, Severity] = {}
    for result in results:
        finding = result.finding
        severity = finding.severity or result.rule.severity
        if _may_count(result) and finding.confidence is not Confidence.LOW and severity in _WEIGHTS:
            code = result.rule.code
            by_code[code] = max(by_code.get(code, severity), severity, key=lambda item: item.rank)
    if not any(severity.rank >= at_least.rank for severity in by_code.values()):
        return Recognition()
    return _explanation({code: _WEIGHTS[severity] for code, severity in by_code.items()}, book, "what the rules find")


def symptom_of_possible(results: Iterable[Result], book: SymptomBook) -> Recognition:
    """The symptom by findings of low confidence, for evidence in which the rules found nothing else."""
    possible = (result for result in results if _may_count(result) and result.finding.confidence is Confidence.LOW)
    return _explanation({result.rule.code: 1 for result in possible}, book, "what may be a fault")


def _may_count(result: Result) -> bool:
    return result.finding.outcome is Outcome.FAIL and result.rule.failure_mode != "collection"


def _explanation(weights: Mapping[str, int], book: SymptomBook, what: str) -> Recognition:
    """The symptoms by score. A rule adds its weight, divided by its place in the list, to each symptom listing it."""
    scores: dict[str, float] = defaultdict(float)
    for code, weight in weights.items():
        for symptom in book.caused_by(code):
            home = _OWN_PAGE if code in symptom.matching.rules else 1
            scores[symptom.slug] += weight * home / (1 + symptom.causes.index(code))
    ranked = sorted(
        (symptom for symptom in book.symptoms if symptom.slug in scores), key=lambda symptom: -scores[symptom.slug]
    )
    if not ranked:
        return Recognition()
    result = [
        Recognised(symptom, _by(symptom.causes, weights, what), round(scores[symptom.slug])) for symptom in ranked
    ]
    return Recognition(symptom=result[0].symptom, by=result[0].by, also=tuple(result[1:]))


def _by(causes: Sequence[str], result: Collection[str], what: str) -> str:
    codes = [code for code in causes if code in result]
    more = f" and {len(codes) - _NAMED} more" if len(codes) > _NAMED else ""
    return f"{what} in it: {', '.join(codes[:_NAMED])}{more}"
