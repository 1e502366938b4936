"""Every rule with packet evidence: real captures on which it fires, stays silent, and turns; nothing on clean ones."""

from __future__ import annotations

from typing import Any

import pytest

from jsdoctor.model.finding import Outcome, Severity
from jsdoctor.remedy.offer import with_offers
from tests.support.packet_cases import (
    CLEAN,
    KINDS,
    captured,
    captured_rules,
    file_name,
    only_packets,
    packet_cases,
    packet_evidence_of,
    takes_packets,
)
from tests.support.rule_case import entries_of, expected, in_order, loud
from tests.support.ruleset import actions, rules, run_all, run_rule

CODES = captured_rules()
CASES = [
    pytest.param(code, case, id=f"{code}-{case['kind']}-{number}")
    for code in CODES
    for number, case in enumerate(packet_cases(code), 1)
]
ONLY_PACKETS = {rule.code for rule in rules() if all(takes_packets(name) for name in rule.checks)}


@pytest.mark.parametrize(("code", "case"), CASES)
def test_case(code: str, case: dict[str, Any]) -> None:
    evaluation = run_rule(code, packet_evidence_of(case), case.get("params"))
    rule = next(rule for rule in rules() if rule.code == code)
    wanted = expected(code, case)
    assert case["kind"] in KINDS
    loud = any(
        entry["outcome"] == "fail" and (entry["severity"] != "info" or rule.severity is Severity.INFO)
        for entry in wanted
    )
    assert loud == (case["kind"] in ("fires", "above")), "fires and above expect more than info, the others do not"
    seen = [entry | {"subject": file_name(entry["subject"])} for entry in entries_of(evaluation.results)]
    assert in_order(seen) == wanted, (case["about"], [result.finding.message for result in evaluation.results])
    assert all(result.finding.evidence for result in evaluation.results if result.finding.outcome is Outcome.FAIL)
    with_offers(evaluation.results, actions)


@pytest.mark.parametrize("code", CODES)
def test_every_kind_of_case_is_there(code: str) -> None:
    required = {"fires", "silent", "below", "above", "fixed"} if code in ONLY_PACKETS else {"fires", "silent"}
    assert {case["kind"] for case in packet_cases(code)} >= required


@pytest.mark.parametrize("name", CLEAN)
def test_clean_captures_give_nothing(name: str) -> None:
    assert loud(run_all(only_packets(captured((name,)))).results) == []


@pytest.mark.parametrize(
    "name", ["nats-clean.client", "nats-any-dup-sll2", "nats-captureloss.server", "nats-tls.client"]
)
def test_nobody_blames_the_network_of_a_clean_capture(name: str) -> None:
    evaluation = run_all(only_packets(captured((name,))))
    blamed = [
        r for r in evaluation.results if r.finding.outcome is Outcome.FAIL and r.rule.code in ("JSD501", "JSD502")
    ]
    assert [r.finding.message for r in blamed] == []
