"""Every rule has its page, its check, and evidence on which it fires, stays silent, and turns at its threshold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from jsdoctor.model.evidence import EvidenceSet, Gaps
from jsdoctor.model.finding import CLUSTER, Finding, passed
from tests.support.evidence import FIXTURES, KINDS, base_names, cases, evidence_of
from tests.support.log_cases import takes_logs
from tests.support.manifest_cases import takes_manifests
from tests.support.packet_cases import takes_packets
from tests.support.rule_case import entries_of, expected, loud
from tests.support.ruleset import checks, printing, rules, run_all, run_rule

CODES = [rule.code for rule in rules()]
CASES = [
    pytest.param(code, case, id=f"{code}-{case['kind']}-{number}")
    for code in CODES
    for number, case in enumerate(cases(code), 1)
]
STATE_CODES = [
    rule.code
    for rule in rules()
    if not all(takes_logs(name) or takes_manifests(name) or takes_packets(name) for name in rule.checks)
]
REQUIRED_KINDS = {"fires", "silent", "below", "above", "fixed"}


@pytest.mark.parametrize(("code", "case"), CASES)
def test_case(code: str, case: dict[str, Any]) -> None:
    evidence = evidence_of(case)
    evaluation = run_rule(code, evidence, case.get("params"))
    wanted = expected(code, case)
    assert case["kind"] in KINDS
    fails = any(entry["outcome"] == "fail" for entry in wanted)
    assert fails == (case["kind"] in ("fires", "above")), "fires and above expect a failure, the others none"
    assert entries_of(evaluation.results) == wanted, case["about"]
    if case["kind"] == "unknown":
        [verdict] = evaluation.verdicts
        undecided = {verdict.outcome.value, *(entry["outcome"] for entry in wanted)}
        reported = "not_evaluated" in undecided or _has_gaps(evidence)
        assert reported, f"{case['about']}: nothing is reported as not evaluated, and the evidence has no gap"


def test_a_failing_case_shows_the_exception_of_its_check(capsys: pytest.CaptureFixture[str]) -> None:
    def broken(snapshots: object) -> Iterator[Finding]:
        yield passed(CLUSTER)
        raise KeyError("planted")

    with pytest.raises(KeyError):
        list(printing(broken)(None))
    assert "KeyError: 'planted'" in capsys.readouterr().err


def _has_gaps(evidence: EvidenceSet) -> bool:
    """Whether the run reports something that was requested and could not be collected, whatever this rule reports."""
    listed = evidence.get(Gaps)
    return isinstance(listed, Gaps) and any(gap.requested for gap in listed.gaps)


@pytest.mark.parametrize("code", STATE_CODES)
def test_every_kind_of_case_is_there(code: str) -> None:
    assert {case["kind"] for case in cases(code)} >= REQUIRED_KINDS


@pytest.mark.parametrize("code", CODES)
def test_no_case_is_there_twice(code: str) -> None:
    written = [str(case) for case in cases(code)]
    assert len(set(written)) == len(written)


def test_every_fixture_belongs_to_a_rule() -> None:
    directories = {path.name for path in (FIXTURES / "rules").iterdir() if path.name.startswith("JSD")}
    assert directories <= set(CODES)


@pytest.mark.parametrize("base", base_names())
def test_healthy_recordings_give_nothing(base: str) -> None:
    assert loud(run_all(evidence_of({"base": base})).results) == []


def test_every_check_has_a_rule() -> None:
    assert set(checks()) == {name for rule in rules() for name in rule.checks}
