"""What every rule says in each of its cases, written out to be read: `fixtures/<CODE>/results.txt`.

A case declares subjects, severities and outcomes. Its golden text holds the rest of what a user is shown: messages,
measured values, evidence, confidence and commands, and the subjects that passed. `make golden` writes these files;
whoever changes a rule reads their diff.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from jsdoctor.engine.runner import Evaluation
from jsdoctor.engine.select import find_rule
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Finding, Observation, Outcome
from jsdoctor.model.report import Result
from jsdoctor.model.rule import Rule
from jsdoctor.remedy.offer import with_offers
from tests.engine.golden import write_all
from tests.evidence import FIXTURES, cases, evidence_of
from tests.log_cases import log_cases, log_evidence_of
from tests.manifest_cases import manifest_cases, manifest_evidence_of
from tests.packet_cases import packet_cases, packet_evidence_of
from tests.ruleset import actions, rules, run_rule

ROOT = FIXTURES.parent
MAX_EVIDENCE = 6
"""Observations of one finding that are written out; more are counted."""
REPEATED = 12
"""So often a log has each example: more than any rule asks for."""
_TEMPORARY = re.compile(r"[^\s'\"]*/jsdoctor-case-[^/]*/")


def path_of(code: str) -> Path:
    """The golden file of a rule."""
    return FIXTURES / code / "results.txt"


def text_of(code: str) -> str:
    """What the rule says in all of its cases, as its golden file holds it."""
    return written(code, results_of(code))


def results_of(code: str) -> list[tuple[str, tuple[Result, ...]]]:
    """Title and results, with commands, of each case of a rule."""
    return [
        (f"{title}: {case['about']}", _offered(run_rule(code, evidence, case.get("params"), keep_passes=True)))
        for title, case, evidence in cases_of(code)
    ]


def _offered(evaluation: Evaluation) -> tuple[Result, ...]:
    return tuple(with_offers(evaluation.results, actions()))


def written(code: str, cases_and_results: Iterable[tuple[str, tuple[Result, ...]]]) -> str:
    """The content of the golden file for these results."""
    lines = [f"# What {code} says in each of its cases. `make golden` writes this file."]
    for title, results in cases_and_results:
        lines += ["", title, *(f"  {line}" for line in _lines(results))]
    text = "\n".join(lines) + "\n"
    return _TEMPORARY.sub("", text).replace(f"{ROOT}/", "")


def cases_of(code: str) -> Iterator[tuple[str, dict[str, Any], EvidenceSet]]:
    """Name, declaration and evidence of each case of a rule, whatever its kind of evidence."""
    for number, case in enumerate(cases(code), 1):
        yield f"{case['kind']} {number}, {case.get('base', 'no recording')}", case, evidence_of(case)
    for number, case in enumerate(log_cases(code), 1):
        yield f"log {case['kind']} {number}", case, log_evidence_of(code, case)
    for number, case in enumerate(manifest_cases(code), 1):
        yield f"manifest {case['kind']} {number}", case, manifest_evidence_of(case)
    for number, case in enumerate(packet_cases(code), 1):
        yield f"packet {case['kind']} {number}", case, packet_evidence_of(case)
    for case in _examples(find_rule(rules(), code)):
        yield "example", case, log_evidence_of(code, case)


def _examples(rule: Rule) -> Iterator[dict[str, Any]]:
    """A log of the example lines of each signature, and one of all of them, beside the log of a healthy server."""
    for signature in rule.signatures:
        yield _log(signature.name, signature.examples)
    if len(rule.signatures) > 1:
        yield _log("all signatures", [line for signature in rule.signatures for line in signature.examples])


def _log(about: str, lines: Iterable[str]) -> dict[str, Any]:
    text = "".join(f"{line}\n" * REPEATED for line in lines)
    return {"about": about, "text": {"n1.log": text}, "beside": True}


def _lines(offered: tuple[Result, ...]) -> Iterator[str]:
    for result in sorted(offered, key=lambda r: (r.finding.outcome.value, r.finding.subject.label)):
        if result.finding.outcome not in (Outcome.PASS, Outcome.NOT_APPLICABLE):
            yield from _finding_lines(result)
    for outcome in (Outcome.PASS, Outcome.NOT_APPLICABLE):
        names = sorted(result.finding.subject.label for result in offered if result.finding.outcome is outcome)
        if names:
            yield f"{outcome.value}: {', '.join(names)}"


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


def main() -> None:
    """Write the golden files of all rules, and those of the engine."""
    for rule in rules():
        path_of(rule.code).write_text(text_of(rule.code), encoding="utf-8", errors="backslashreplace")
    write_all()


if __name__ == "__main__":
    main()
