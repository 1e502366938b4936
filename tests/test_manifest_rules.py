"""Every rule with a check of manifests: files on which it fires, stays silent, and turns; and the place it names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from jsdoctor.model.finding import Finding, Outcome
from jsdoctor.remedy.offer import with_offers
from jsdoctor.render.places import places
from tests.support.manifest_cases import KINDS, declared_rules, manifest_cases, manifest_evidence_of, takes_manifests
from tests.support.rule_case import entries_of, expected, in_order
from tests.support.ruleset import actions, rules, run_rule

CODES = declared_rules()
CASES = [
    pytest.param(code, case, id=f"{code}-{case['kind']}-{number}")
    for code in CODES
    for number, case in enumerate(manifest_cases(code), 1)
]
DIRECTORY = re.compile(r".*/jsdoctor-case-[^/]*/")
REQUIRED_KINDS = {"fires", "silent"}


@pytest.mark.parametrize(("code", "case"), CASES)
def test_case(code: str, case: dict[str, Any]) -> None:
    evaluation = run_rule(code, manifest_evidence_of(case), case.get("params"))
    due = expected(code, case)
    assert case["kind"] in KINDS
    fails = any(entry["outcome"] == "fail" for entry in due)
    assert fails == (case["kind"] in ("fires", "above")), "fires and above expect failures, the others do not"
    seen = [entry | {"subject": DIRECTORY.sub("", entry["subject"])} for entry in entries_of(evaluation.results)]
    assert in_order(seen) == due, (case["about"], [result.finding.message for result in evaluation.results])
    assert [r.finding.message for r in evaluation.results if r.finding.outcome is Outcome.ERROR] == []
    failures = [result.finding for result in evaluation.results if result.finding.outcome is Outcome.FAIL]
    shown = sorted(place(finding) for finding in failures)
    wanted = sorted(entry["at"] for entry in case.get("expect", []) if "at" in entry)
    assert [at for at in shown if at in wanted] == wanted, shown
    assert all(offer.remedy is None or not offer.remedy.commands for offer in with_offers(evaluation.results, actions))


def place(finding: Finding) -> str:
    """Where the finding points to: every one of manifests does."""
    seen = places(finding)
    assert seen, finding.message
    return f"{Path(seen[0].file).name}:{seen[0].line}:{seen[0].column}"


@pytest.mark.parametrize("code", CODES)
def test_every_kind_of_case_is_there(code: str) -> None:
    assert {case["kind"] for case in manifest_cases(code)} >= REQUIRED_KINDS


def test_checks_of_manifests_are_named_so() -> None:
    names = [name for rule in rules() for name in rule.checks if takes_manifests(name)]
    assert [name for name in names if not name.endswith(("_declared", "_mounted"))] == []
