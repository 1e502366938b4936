"""Every rule has its page, its check, and evidence on which it fires, stays silent, and turns at its threshold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jsdoctor.model.evidence import EvidenceSet, Gaps
from jsdoctor.model.finding import CLUSTER, Finding, Outcome, Severity, passed
from jsdoctor.model.report import Result
from jsdoctor.remedy.offer import with_offers
from jsdoctor.render.places import places
from tests.support.evidence import FIXTURES, base_names, evidence_of
from tests.support.families import FAMILIES, Family, without_temporary
from tests.support.log_cases import evidence_of_files, healthy_logs, takes_logs
from tests.support.manifest_cases import takes_manifests
from tests.support.packet_cases import CLEAN, captured, file_name, only_packets
from tests.support.rule_case import KINDS, entries_of, expected, in_order, loud
from tests.support.ruleset import actions, checks, printing, rules, run_all, run_rule

CODES = [rule.code for rule in rules()]
CASES = [
    pytest.param(family, code, case, id="-".join(filter(None, (code, family.name, case["kind"], str(number)))))
    for code in CODES
    for family in FAMILIES
    for number, case in enumerate(family.cases(code), 1)
]
REQUIRED = [
    pytest.param(family, rule.code, kinds, id="-".join(filter(None, (rule.code, family.name))))
    for rule in rules()
    for family in FAMILIES
    if (kinds := family.requires(rule))
]


@pytest.mark.parametrize(("family", "code", "case"), CASES)
def test_case(family: Family, code: str, case: dict[str, Any]) -> None:
    evidence = family.evidence(code, case)
    evaluation = run_rule(code, evidence, case.get("params"))
    messages = [result.finding.message for result in evaluation.results]
    wanted = expected(code, case)
    assert case["kind"] in KINDS
    notes = family.notes and next(rule for rule in rules() if rule.code == code).severity is not Severity.INFO
    fails = any(entry["outcome"] == "fail" and not (notes and entry["severity"] == "info") for entry in wanted)
    assert fails == (case["kind"] in ("fires", "above")), "fires and above expect a failure, the others none"
    seen = [
        entry | {"subject": file_name(without_temporary(entry["subject"]))} for entry in entries_of(evaluation.results)
    ]
    assert in_order(seen) == wanted, (case["about"], messages)
    assert all("Traceback" not in message for message in messages)
    if case["kind"] == "unknown":
        undecided = {*(verdict.outcome.value for verdict in evaluation.verdicts), *(e["outcome"] for e in wanted)}
        reported = "not_evaluated" in undecided or _has_gaps(evidence)
        assert reported, f"{case['about']}: nothing is reported as not evaluated, and the evidence has no gap"
    failures = [result for result in evaluation.results if result.finding.outcome is Outcome.FAIL]
    shown = (
        result.finding.evidence or (not family.name and result.finding.measured is not None) for result in failures
    )
    assert all(shown), "whoever reads a finding sees what shows it, and of lines and files can open the place"
    offered = with_offers(evaluation.results, actions)
    if family.name == "manifest":
        _assert_places(case, failures)
        assert all(offer.remedy is None or not offer.remedy.commands for offer in offered)


def _assert_places(case: dict[str, Any], failures: list[Result]) -> None:
    """Every finding of manifests points to a place, and the case may say to which."""
    shown = sorted(_place(result.finding) for result in failures)
    wanted = sorted(entry["at"] for entry in case.get("expect", []) if "at" in entry)
    assert [at for at in shown if at in wanted] == wanted, shown


def _place(finding: Finding) -> str:
    seen = places(finding)
    assert seen, finding.message
    return f"{Path(seen[0].file).name}:{seen[0].line}:{seen[0].column}"


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


@pytest.mark.parametrize(("family", "code", "kinds"), REQUIRED)
def test_every_kind_of_case_is_there(family: Family, code: str, kinds: set[str]) -> None:
    assert {case["kind"] for case in family.cases(code)} >= kinds


@pytest.mark.parametrize("code", CODES)
def test_no_case_is_there_twice(code: str) -> None:
    for family in FAMILIES:
        written = [str(case) for case in family.cases(code)]
        assert len(set(written)) == len(written)


def test_every_fixture_belongs_to_a_rule() -> None:
    directories = {path.name for path in (FIXTURES / "rules").iterdir() if path.name.startswith("JSD")}
    assert directories <= set(CODES)


def test_every_check_has_a_rule_and_is_named_after_its_evidence() -> None:
    names = {name for rule in rules() for name in rule.checks}
    assert set(checks()) == names
    assert [name for name in names if takes_logs(name) and not name.endswith("_logged")] == []
    assert [name for name in names if takes_manifests(name) and not name.endswith(("_declared", "_mounted"))] == []


@pytest.mark.parametrize("base", base_names())
def test_healthy_recordings_give_nothing(base: str) -> None:
    assert loud(run_all(evidence_of({"base": base})).results) == []


@pytest.mark.parametrize("directory", healthy_logs(), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_healthy_logs_give_nothing(directory: Path) -> None:
    assert loud(run_all(evidence_of_files(directory)).results) == []


@pytest.mark.parametrize("name", CLEAN)
def test_clean_captures_give_nothing(name: str) -> None:
    assert loud(run_all(only_packets(captured((name,)))).results) == []
