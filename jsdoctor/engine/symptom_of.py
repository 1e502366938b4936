"""The symptom of evidence alone: where nobody said what is wrong, what the rules find says it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from jsdoctor.engine.recognition import Recognised, Recognition
from jsdoctor.engine.symptoms import SymptomBook
from jsdoctor.model.finding import Confidence, Outcome, Severity
from jsdoctor.model.report import Result

_WEIGHTS = {Severity.CRITICAL: 64, Severity.ERROR: 16, Severity.WARNING: 4}
_AT_HOME = 2
"""A rule weighs more on the page that its signatures belong to."""

_NAMED = 3


def symptom_of(results: Iterable[Result], book: SymptomBook, at_least: Severity) -> Recognition:
    """The symptom that explains most of what rules found, grave findings and frequent causes before others."""
    by_code: dict[str, Severity] = {}
    for result in results:
        finding = result.finding
        severity = finding.severity or result.rule.severity
        sure = finding.outcome is Outcome.FAIL and finding.confidence is not Confidence.LOW
        if sure and result.rule.failure_mode != "collection" and severity in _WEIGHTS:
            code = result.rule.code
            by_code[code] = max(by_code.get(code, severity), severity, key=lambda one: one.rank)
    if not any(severity.rank >= at_least.rank for severity in by_code.values()):
        return Recognition()
    scores: dict[str, float] = defaultdict(float)
    for code, severity in by_code.items():
        for symptom in book.caused_by(code):
            home = _AT_HOME if code in symptom.matching.rules else 1
            scores[symptom.slug] += _WEIGHTS[severity] * home / (1 + symptom.causes.index(code))
    ranked = sorted((one for one in book.symptoms if one.slug in scores), key=lambda one: -scores[one.slug])
    if not ranked:
        return Recognition()
    found = [Recognised(one, _by(one.causes, by_code), round(scores[one.slug])) for one in ranked]
    return Recognition(symptom=found[0].symptom, by=found[0].by, also=tuple(found[1:]))


def _by(causes: Sequence[str], found: Iterable[str]) -> str:
    codes = [code for code in causes if code in set(found)]
    more = f" and {len(codes) - _NAMED} more" if len(codes) > _NAMED else ""
    return f"what the rules find in it: {', '.join(codes[:_NAMED])}{more}"
