"""Every rule with log evidence: real logs on which it fires, stays silent, and turns; and nothing on healthy logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jsdoctor.model.finding import Outcome
from jsdoctor.remedy.offer import with_offers
from tests.support.log_cases import (
    KINDS,
    evidence_of_files,
    healthy_logs,
    log_cases,
    log_evidence_of,
    logged_rules,
    takes_logs,
)
from tests.support.rule_case import entries_of, expected, loud
from tests.support.ruleset import actions, rules, run_all, run_rule

CODES = logged_rules()
CASES = [
    pytest.param(code, case, id=f"{code}-{case['kind']}-{number}")
    for code in CODES
    for number, case in enumerate(log_cases(code), 1)
]
REQUIRED_KINDS = {"fires", "silent"}


@pytest.mark.parametrize(("code", "case"), CASES)
def test_case(code: str, case: dict[str, Any]) -> None:
    evaluation = run_rule(code, log_evidence_of(code, case), case.get("params"))
    wanted = expected(code, case)
    assert case["kind"] in KINDS
    fails = any(entry["outcome"] == "fail" and entry["severity"] != "info" for entry in wanted)
    assert fails == (case["kind"] in ("fires", "above")), "fires and above expect more than info, the others do not"
    assert entries_of(evaluation.results) == wanted, (
        case["about"],
        [result.finding.message for result in evaluation.results],
    )
    assert all("Traceback" not in result.finding.message for result in evaluation.results)
    with_offers(evaluation.results, actions)


@pytest.mark.parametrize("code", CODES)
def test_every_kind_of_case_is_there(code: str) -> None:
    assert {case["kind"] for case in log_cases(code)} >= REQUIRED_KINDS


@pytest.mark.parametrize("code", CODES)
def test_findings_show_their_lines(code: str) -> None:
    """Whoever reads a finding can open the file at the line."""
    for case in log_cases(code):
        for result in run_rule(code, log_evidence_of(code, case), case.get("params")).results:
            if result.finding.outcome is Outcome.FAIL:
                assert result.finding.evidence, case["about"]


def test_log_checks_are_named_so() -> None:
    names = [name for rule in rules() for name in rule.checks if takes_logs(name)]
    assert [name for name in names if not name.endswith("_logged")] == []


@pytest.mark.parametrize("directory", healthy_logs(), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_healthy_logs_give_nothing(directory: Path) -> None:
    assert loud(run_all(evidence_of_files(directory)).results) == []
