"""From a symptom and the results of its rules to a differential: each cause confirmed, ruled out, or undecided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from jsdoctor.checks.registry import Check
from jsdoctor.engine.evidence_sources import any_source, in_words
from jsdoctor.engine.expectation import TOLD
from jsdoctor.engine.incidents import incidents
from jsdoctor.engine.runner import Evaluation
from jsdoctor.engine.visibility import Visibility
from jsdoctor.model.diagnosis import Cause, Diagnosis, Narrowing, NextStep, Question, Verdict
from jsdoctor.model.evidence import EvidenceSet, EvidenceSource
from jsdoctor.model.finding import Confidence, Impact, Outcome, Severity
from jsdoctor.model.report import Consequence, Result, RuleVerdict
from jsdoctor.model.rule import Rule
from jsdoctor.model.snapshot import SnapshotSeries
from jsdoctor.model.symptom import Symptom
from jsdoctor.model.wording import counted

_MESSAGES = 3
_NOT_RUN = ("its rule was not run", "remove it from `ignore` in the configuration")


class Examined(msgspec.Struct, frozen=True):
    """Evidence and results to judge by. `told`: results, by rule code, from the person's description of the problem.

    `evaluation` holds passes, too.
    """

    evidence: EvidenceSet
    evaluation: Evaluation
    told: Mapping[str, Result] = {}


def undiagnosed(question: Question, rules: Sequence[Rule], checks: Mapping[str, Check]) -> Diagnosis:
    """The differential without any evidence: everything is undecided."""
    symptom, narrowing = question.symptom, question.narrowing
    causes = []
    for rule in _causes(symptom, rules):
        ways = _lacking(rule, checks, None, narrowing)
        step = "; or ".join(in_words(way, narrowing.stream) for way in EvidenceSource if way in ways)
        causes.append(_undecided(symptom, rule, "nothing was checked", step))
    lacking = {cause.rule.code: _lacking(cause.rule, checks, None, narrowing) for cause in causes}
    telling = _most_telling(causes, lacking, narrowing)
    return Diagnosis(question=question, causes=tuple(causes), next_step=telling)


def diagnose(question: Question, rules: Sequence[Rule], checks: Mapping[str, Check], looked: Examined) -> Diagnosis:
    """The differential on the evidence. `looked.evaluation` must hold passes, of every cause's rule."""
    symptom, narrowing = question.symptom, question.narrowing
    visibility = Visibility(looked.evidence, narrowing)
    verdicts = {verdict.rule.code: verdict for verdict in looked.evaluation.verdicts}
    by_code: dict[str, list[Result]] = {}
    for result in looked.evaluation.results:
        if narrowing.touches(result.finding.subject, visibility.accounts):
            by_code.setdefault(result.rule.code, []).append(result)
    causes = []
    for rule in _causes(symptom, rules):
        results = by_code.get(rule.code, [])
        if rule.code in looked.told:
            results.insert(0, looked.told[rule.code])
        causes.append(_judged(symptom, rule, verdicts.get(rule.code), results, visibility))
    causes = _with_explanations(causes, looked)
    undecided = [cause for cause in causes if cause.verdict is Verdict.UNDECIDED]
    lacking = {}
    for cause in undecided:
        silent = {EvidenceSource(way) for way in symptom.ruled_out_with.get(cause.rule.code, ())} - visibility.ways
        lacking[cause.rule.code] = _lacking(cause.rule, checks, looked.evidence, narrowing) | silent
    return Diagnosis(
        question=question,
        causes=tuple(causes),
        next_step=_most_telling(undecided, lacking, narrowing),
        notes=visibility.notes,
    )


def _causes(symptom: Symptom, rules: Sequence[Rule]) -> list[Rule]:
    by_code = {rule.code: rule for rule in rules}
    return [by_code[code] for code in symptom.causes if code in by_code]


def _lacking(
    rule: Rule, checks: Mapping[str, Check], evidence: EvidenceSet | None, narrowing: Narrowing
) -> frozenset[EvidenceSource]:
    ways = any_source([checks[name] for name in rule.checks], evidence)
    return ways | {EvidenceSource.EXPECTED} if rule.code in TOLD and narrowing.expected_seq is None else ways


def _judged(
    symptom: Symptom, rule: Rule, verdict: RuleVerdict | None, results: Sequence[Result], visibility: Visibility
) -> Cause:
    """The cause by the findings on the subject itself and on what it depends on; a fault outweighs everything."""
    failed = [result for result in results if result.finding.outcome is Outcome.FAIL]
    sure = [result for result in failed if not _is_possibility(result)]
    if sure:
        return _confirmed(symptom, rule, sure)
    if failed:
        finding = failed[0].finding
        step = finding.how_to_get or f"jsdoctor explain {rule.code} describes how to make sure"
        return _undecided(symptom, rule, f"possible: {finding.message}", step, failed)
    if crashed := next((r.finding for r in results if r.finding.outcome is Outcome.ERROR), None):
        return _undecided(symptom, rule, crashed.message, "report this to the authors of jsdoctor")
    meant = [result for result in results if visibility.narrowing.is_meant(result.finding.subject)]
    judged = [result for result in meant or results if result.finding.outcome is Outcome.PASS]
    unknown = [result for result in meant or results if result.finding.outcome is Outcome.NOT_EVALUATED]
    if unknown and not (judged and _same_kinds(judged, unknown)):
        finding = unknown[0].finding
        return _undecided(symptom, rule, finding.message, finding.how_to_get)
    unseen = visibility.unseen(symptom, rule, judged)
    if verdict is None or (verdict.outcome is Outcome.NOT_EVALUATED and not judged and not verdict.subjects):
        reason, how = (verdict.reason, verdict.how_to_get) if verdict else _NOT_RUN
        return _undecided(symptom, rule, reason, how)
    if unseen:
        return _undecided(symptom, rule, unseen.reason, unseen.how_to_get)
    if verdict.outcome is Outcome.NOT_EVALUATED and not judged:
        return _undecided(symptom, rule, verdict.reason, verdict.how_to_get)
    wanted = [EvidenceSource(way) for way in symptom.ruled_out_with.get(rule.code, ())]
    if wanted and not visibility.ways & set(wanted):
        step = "; or ".join(in_words(way, visibility.narrowing.stream) for way in wanted)
        return _undecided(symptom, rule, "nothing of it shows now, which does not tell what was or what may be", step)
    return _ruled_out(symptom, rule, judged, in_part=visibility.in_part)


def _is_possibility(result: Result) -> bool:
    """Whether a result is about what may happen, not what did: low confidence, or an info about hygiene."""
    hygiene = result.severity is Severity.INFO and result.rule.impact is Impact.HYGIENE
    return hygiene or result.finding.confidence is Confidence.LOW


def _with_explanations(causes: Sequence[Cause], looked: Examined) -> list[Cause]:
    """Confirmed causes all of whose findings another confirmed one explains are there, and no causes of their own."""
    results = [result for cause in causes if cause.verdict is Verdict.CONFIRMED for result in cause.results]
    grouped = incidents(results, looked.evidence, _looked_at(looked.evidence, results))
    explained = {id(consequence.result): consequence for incident in grouped for consequence in incident.consequences}
    return [_explained(cause, explained) for cause in causes]


def _explained(cause: Cause, explained: Mapping[int, Consequence]) -> Cause:
    links = [explained.get(id(result)) for result in cause.results]
    known = [link for link in links if link is not None]
    if cause.verdict is not Verdict.CONFIRMED or len(known) < len(links):
        return cause
    codes = dict.fromkeys(link.explained_by.rule.code for link in known)
    message = f"explained by {' and '.join(codes)} ({known[0].evidence}): {cause.message}"
    return msgspec.structs.replace(cause, verdict=Verdict.EXPLAINED, message=message, next_step="")


def _looked_at(evidence: EvidenceSet, results: Sequence[Result]) -> datetime:
    """Time of the last sample; without one, the newest time in findings from logs. Without both nothing is compared."""
    series = evidence.get(SnapshotSeries)
    if series is not None:
        return series.last.taken_at
    seen = (moment for result in results for moment in (result.finding.first_seen, result.finding.last_seen))
    return max(filter(None, seen), default=datetime.max.replace(tzinfo=UTC))


def _same_kinds(judged: Sequence[Result], unknown: Sequence[Result]) -> bool:
    """Whether streams or consumers were judged, and only something else, such as an absent log, could not be."""
    assets = ("stream", "consumer")
    about_assets = any(result.finding.subject.kind in assets for result in judged)
    return about_assets and not any(result.finding.subject.kind in assets for result in unknown)


def _confirmed(symptom: Symptom, rule: Rule, results: Sequence[Result]) -> Cause:
    messages = [f"{result.finding.subject.label}: {result.finding.message}" for result in results[:_MESSAGES]]
    if len(results) > _MESSAGES:
        messages.append(f"and {counted(len(results) - _MESSAGES, 'more subject')}")
    return Cause(
        rule=rule,
        because=symptom.because[rule.code],
        verdict=Verdict.CONFIRMED,
        message="; ".join(messages),
        results=tuple(results),
        evidence=tuple(observation for result in results for observation in result.finding.evidence),
        next_step=f"jsdoctor explain {rule.code}",
    )


def _ruled_out(symptom: Symptom, rule: Rule, judged: Sequence[Result], *, in_part: bool) -> Cause:
    if judged:
        kinds = {result.finding.subject.kind for result in judged}
        labels = [result.finding.subject.label for result in judged]
        reported = labels[0] if len(labels) == 1 and kinds != {"cluster"} else ""
        message = f"{rule.title}" + (f" ({reported})" if reported else ", as far as it was seen" if in_part else "")
    else:
        message = "it does not apply to anything that was checked"
    return Cause(
        rule=rule,
        because=symptom.because[rule.code],
        verdict=Verdict.RULED_OUT,
        message=message,
    )


def _undecided(symptom: Symptom, rule: Rule, reason: str, step: str, possible: Sequence[Result] = ()) -> Cause:
    return Cause(
        rule=rule,
        because=symptom.because[rule.code],
        verdict=Verdict.UNDECIDED,
        message=reason,
        evidence=tuple(observation for result in possible for observation in result.finding.evidence),
        next_step=step or f"jsdoctor explain {rule.code} describes what shows it",
    )


def _most_telling(
    undecided: Sequence[Cause], lacking: Mapping[str, frozenset[EvidenceSource]], narrowing: Narrowing
) -> NextStep | None:
    """The step that decides most, frequent causes first: an evidence source that was missing, else the first hint."""
    weights: dict[EvidenceSource, float] = {}
    for rank, cause in enumerate(undecided):
        for way in lacking.get(cause.rule.code, frozenset()):
            weights[way] = weights.get(way, 0) + 1 / (rank + 1)
    if weights:
        best = max(EvidenceSource, key=lambda way: weights.get(way, 0))
        decides = tuple(cause.rule.code for cause in undecided if best in lacking.get(cause.rule.code, ()))
        return NextStep(in_words(best, narrowing.stream), decides)
    hinted = next((cause for cause in undecided if cause.next_step), None)
    return NextStep(hinted.next_step, (hinted.rule.code,)) if hinted else None
