"""What every rule says in each of its cases, written out to be read: `fixtures/rules/<CODE>/results.txt`.

A case declares subjects, severities and outcomes. Its golden text holds the rest of what a user is shown: messages,
measured values, evidence, confidence and commands, and the subjects that passed. `make golden` writes these files;
whoever changes a rule reads their diff.

    python -m tools.golden_results JSD403 JSD404    # those of two rules alone, and fixtures/engine
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from jsdoctor.engine.runner import Evaluation
from jsdoctor.engine.select import SelectionError, find_rule
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Finding, Observation, Outcome
from jsdoctor.model.report import Result
from jsdoctor.remedy.offer import with_offers
from tests.engine.differentials import write_differentials
from tests.engine.golden import write_all
from tests.support.evidence import FIXTURES
from tests.support.families import DeclaredCase, declared_cases, in_the_repository
from tests.support.ruleset import actions, overrides, rules, run_rule, run_with
from tools import golden_plans, recorded_fields
from tools.less_evidence import less_evidence

MAX_EVIDENCE = 12
"""Observations of one finding that are written out; more are counted."""


def path_of(code: str) -> Path:
    """The golden file of a rule."""
    return FIXTURES / "rules" / code / "results.txt"


class TriedCase(NamedTuple):
    """A case, and what the rule found in it, with what passed."""

    case: DeclaredCase
    evidence: EvidenceSet
    evaluation: Evaluation


def tried_cases(code: str) -> Iterator[TriedCase]:
    """The rule on each of its cases."""
    for case in declared_cases(code):
        evidence = case.evidence()
        yield TriedCase(case, evidence, run_rule(code, evidence, case.declared.get("params"), keep_passes=True))


def results_of(code: str, tried: Iterable[TriedCase]) -> list[tuple[str, tuple[Result, ...]]]:
    """Title and results, with commands, of each case of a rule, of its first fault with less evidence, and of faults
    with a threshold that they reach exactly.
    """
    entries, exact = [], {}
    first = None
    for declared, evidence, evaluation in tried:
        case, results = declared.declared, _offered(evaluation)
        entries.append((f"{declared.title}: {case['about']}", results))
        if first is None and case.get("kind") == "fires":
            first = case, evidence, results
        for name, value in _reached(code, case, results):
            if name not in exact:
                exact[name] = f"{name} = {value}: {case['about']}", _with(code, case, evidence, {name: value})
    return [*entries, *(_with_less(code, *first) if first else ()), *exact.values()]


def write_results(code: str) -> None:
    """Write the golden file of a rule."""
    text = written(code, results_of(code, tried_cases(code)))
    path_of(code).write_text(text, encoding="utf-8", errors="backslashreplace")


def _with(
    code: str, case: dict[str, Any], evidence: EvidenceSet, values: dict[str, float | int | None]
) -> tuple[Result, ...]:
    given = overrides(code, case.get("params"))
    return _offered(run_with(code, evidence, given | values, keep_passes=True))


def _reached(code: str, case: dict[str, Any], results: Iterable[Result]) -> Iterator[tuple[str, float | int]]:
    """The parameters that a finding compares what it measured with, and that value."""
    rule, given = find_rule(rules(), code), overrides(code, case.get("params"))
    for finding in (result.finding for result in results):
        if finding.outcome is not Outcome.FAIL or isinstance(finding.measured, (str, type(None))):
            continue
        for name, param in rule.params.items():
            if finding.threshold is not None and given.get(name, param.default) == finding.threshold:
                yield name, finding.measured


def _with_less(
    code: str, case: dict[str, Any], evidence: EvidenceSet, whole: tuple[Result, ...]
) -> Iterator[tuple[str, tuple[Result, ...]]]:
    """Where something else comes of it."""
    for what, less in less_evidence(find_rule(rules(), code), evidence):
        if (results := _with(code, case, less, {})) != whole:
            yield f"{what}: {case['about']}", results


def _offered(evaluation: Evaluation) -> tuple[Result, ...]:
    return tuple(with_offers(evaluation.results, actions))


def written(code: str, cases_and_results: Iterable[tuple[str, tuple[Result, ...]]]) -> str:
    """The content of the golden file for these results."""
    lines = [f"# What {code} says in each of its cases. `make golden` writes this file."]
    for title, results in cases_and_results:
        lines += ["", title, *(f"  {line}" for line in _lines(results))]
    text = "\n".join([*lines, *golden_plans.lines_of(code)]) + "\n"
    return in_the_repository(text)


def _lines(offered: tuple[Result, ...]) -> Iterator[str]:
    for result in sorted(offered, key=lambda r: (r.finding.outcome.value, r.finding.subject.label)):
        if result.finding.outcome not in (Outcome.PASS, Outcome.NOT_APPLICABLE):
            yield from _finding_lines(result)
    for outcome in (Outcome.PASS, Outcome.NOT_APPLICABLE):
        subjects = {result.finding.subject for result in offered if result.finding.outcome is outcome}
        for kind in sorted({subject.kind for subject in subjects}):
            labels = sorted(subject.label for subject in subjects if subject.kind == kind)
            yield f"{outcome.value}: {kind} {', '.join(labels)}"


def _finding_lines(result: Result) -> Iterator[str]:
    finding = result.finding
    grade = result.severity.value if finding.outcome is Outcome.FAIL else finding.outcome.value
    yield f"{grade} {finding.subject.kind} {finding.subject.label}: {finding.message}"
    if finding.how_to_get:
        yield f"  how to get: {finding.how_to_get}"
    if finding.outcome is not Outcome.FAIL:
        return
    yield f"  {_numbers(finding)}"
    shown = [_observed(observation) for observation in finding.evidence]
    yield from (f"  {line}" for line in shown[:MAX_EVIDENCE])
    if len(shown) > MAX_EVIDENCE:
        yield f"  and {len(shown) - MAX_EVIDENCE} more"
    if finding.remedy:
        yield f"  values {_json(finding.remedy)}"
    yield from (f"  $ {command}" for command in (result.remedy.commands if result.remedy else ()))


def _numbers(finding: Finding) -> str:
    parts = [
        f"measured {finding.measured}",
        f"threshold {finding.threshold}",
        f"unit {finding.unit}",
        f"uncertainty {finding.uncertainty}",
        f"first seen {finding.first_seen}",
        f"last seen {finding.last_seen}",
    ]
    return ", ".join(
        [*(part for part in parts if not part.endswith(" None")), f"confidence {finding.confidence.value}"]
    )


def _observed(observation: Observation) -> str:
    when = f" at {observation.at}" if observation.at else ""
    return f"{observation.source} {observation.path} = {_json(observation.value)}{when}"


def _json(value: object) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def main(codes: Sequence[str]) -> None:
    """Write the golden files of all rules with their plans, of the engine, of symptoms, and of changed fields.

    With codes, those of these rules, and of the files for all rules those that take seconds: no changes of fields.
    """
    try:
        chosen = [find_rule(rules(), code).code for code in codes] or [rule.code for rule in rules()]
    except SelectionError as error:
        sys.exit(str(error))
    for code in chosen:
        write_results(code)
    write_all()
    write_differentials()
    golden_plans.write_choices()
    if not codes:
        recorded_fields.write_all()


if __name__ == "__main__":
    main(sys.argv[1:])
