"""A differential on recorded evidence, as a test asks for it."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from jsdoctor.engine.diagnosis import Examined, diagnose
from jsdoctor.engine.runner import Evaluation, evaluate
from jsdoctor.engine.select import find_rule, select_rules
from jsdoctor.model.diagnosis import Cause, Diagnosis, Narrowing, Question
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Finding
from jsdoctor.model.report import Result
from jsdoctor.remedy.offer import with_offers
from tests.diagnosis.book import book
from tests.support.ruleset import actions, checks, rules

STALLED: dict[str, Any] = {
    "base": "three-nodes-2.15.1",
    "edit": [
        {
            "consumer": "APP/ORDERS/billing",
            "set": {
                "num_ack_pending": 1000,
                "num_pending": 4200,
                "delivered.last_active": "2026-11-21T12:00:00Z",
                "ack_floor.last_active": "2026-11-21T12:00:00Z",
            },
        }
    ],
}
"""A consumer whose slots are all taken."""


def evaluated(evidence: EvidenceSet, codes: Sequence[str] = ("ALL",)) -> Evaluation:
    """What rules say, passes too, with the remedies they offer."""
    evaluation = evaluate(select_rules(rules(), codes), checks(), evidence, {}, keep_passes=True)
    return msgspec.structs.replace(evaluation, results=with_offers(evaluation.results, actions))


def differential(
    slug: str,
    evidence: EvidenceSet,
    narrowing: Narrowing | None = None,
    additional: Mapping[str, Finding] | None = None,
    evaluation: Evaluation | None = None,
    *,
    codes: frozenset[int] = frozenset(),
) -> Diagnosis:
    """The differential of a shipped symptom. `evaluation`: what its rules say, if that is known already.

    `codes`: the API errors of the text that led to it.
    """
    symptom = book().symptom(slug)
    assert symptom is not None
    evaluation = evaluation or evaluated(evidence, symptom.causes)
    results = {code: Result(find_rule(rules(), code), finding) for code, finding in (additional or {}).items()}
    question = Question(symptom, "a test", narrowing or Narrowing(), codes)
    return diagnose(question, rules(), checks(), Examined(evidence, evaluation, results))


def cause(diagnosis: Diagnosis, code: str) -> Cause:
    """One of its causes."""
    return next(cause for cause in diagnosis.causes if cause.rule.code == code)
