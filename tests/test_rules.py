"""Every rule has its page, its check, and evidence on which it fires, stays silent, and turns at its threshold."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jsdoctor.engine import runner
from jsdoctor.engine.runner import Evaluation
from jsdoctor.engine.select import find_rule
from jsdoctor.model.evidence import EvidenceSet, Gaps
from jsdoctor.model.finding import CLUSTER, Finding, Outcome, Severity, passed
from jsdoctor.model.params import Params
from jsdoctor.model.report import Result
from jsdoctor.remedy.offer import with_offers
from jsdoctor.render.places import places
from tests.support.evidence import FIXTURES, base_names, evidence_of
from tests.support.families import FAMILIES, Family, without_temporary
from tests.support.log_cases import evidence_of_files, healthy_logs, takes_logs
from tests.support.manifest_cases import takes_manifests
from tests.support.packet_cases import CLEAN, captured, file_name, only_packets
from tests.support.rule_case import KINDS, entries_of, expected, in_order, loud
from tests.support.ruleset import actions, checks, printing, rules, run_all
from tools.golden_results import path_of, results_of, tried_cases, written

CODES = [rule.code for rule in rules()]


@pytest.mark.parametrize("code", CODES)
def test_cases(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule finds in each case what it declares, and says it to the word of its golden file.

    Every parameter of the page is read in some case, and every command can be written.
    """
    seen: list[Params] = []

    class Watched(Params):
        def __init__(self, values: dict[str, float | int | None]) -> None:
            super().__init__(values)
            seen.append(self)

    monkeypatch.setattr(runner, "Params", Watched)
    tried = list(tried_cases(code))
    for case, evidence, evaluation in tried:
        if case.family is not None:
            _assert_expected(code, case.family, case.declared, evidence, evaluation)
    path, results = path_of(code), results_of(code, tried)
    assert path.exists(), f"there is no {path}; `make golden RULE={code}` writes it"
    accepts = f"{path} differs; `make golden RULE={code}` accepts it"
    assert written(code, results) == path.read_text(encoding="utf-8"), accepts
    rule = find_rule(rules(), code)
    assert set().union(*(params.used for params in seen)) == set(rule.params), "a parameter that no case reads is dead"
    if rule.remedy is not None:
        assert actions()[rule.remedy.action].risk is rule.remedy.risk
    for result in (result for _, several in results for result in several):
        _assert_commands(result)


def _assert_expected(
    code: str, family: Family, case: dict[str, Any], evidence: EvidenceSet, evaluation: Evaluation
) -> None:
    results = [r for r in evaluation.results if r.finding.outcome not in (Outcome.PASS, Outcome.NOT_APPLICABLE)]
    messages = [result.finding.message for result in results]
    wanted, about = expected(code, case), f"{family.name} {case['kind']}: {case['about']}"
    assert case["kind"] in KINDS, about
    notes = family.notes and find_rule(rules(), code).severity is not Severity.INFO
    fails = any(entry["outcome"] == "fail" and not (notes and entry["severity"] == "info") for entry in wanted)
    assert fails == (case["kind"] in ("fires", "above")), f"{about}: fires and above expect a failure, the others none"
    seen = [entry | {"subject": file_name(without_temporary(entry["subject"]))} for entry in entries_of(results)]
    assert in_order(seen) == wanted, (about, messages)
    assert all("Traceback" not in message for message in messages), about
    if case["kind"] == "unknown":
        undecided = {*(verdict.outcome.value for verdict in evaluation.verdicts), *(e["outcome"] for e in wanted)}
        reported = "not_evaluated" in undecided or _has_gaps(evidence)
        assert reported, f"{about}: nothing is reported as not evaluated, and the evidence has no gap"
    failures = [result for result in results if result.finding.outcome is Outcome.FAIL]
    shown = (
        result.finding.evidence or (not family.name and result.finding.measured is not None) for result in failures
    )
    assert all(shown), f"{about}: a finding without what shows it; of lines and files it has the place"
    if family.name == "manifest":
        _assert_places(case, failures)
        offered = with_offers(failures, actions)
        assert all(offer.remedy is None or not offer.remedy.commands for offer in offered), about


def _assert_commands(result: Result) -> None:
    """An action on a stream is offered for a stream, and no command has an empty word."""
    if result.remedy is not None:
        kind, about = result.remedy.action.partition(".")[0], result.finding.subject.kind
        assert kind not in ("stream", "consumer") or kind == about, f"{result.remedy.action} on a {about}"
        assert not [command for command in result.remedy.commands if "" in shlex.split(command)]


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


@pytest.mark.parametrize("code", CODES)
def test_every_kind_of_case_is_there_and_none_twice(code: str) -> None:
    for family in FAMILIES:
        cases = family.cases(code)
        assert {case["kind"] for case in cases} >= family.requires(find_rule(rules(), code))
        assert len({str(case) for case in cases}) == len(cases)


def test_every_fixture_belongs_to_a_rule() -> None:
    directories = {path.name for path in (FIXTURES / "rules").iterdir() if path.name.startswith("JSD")}
    assert directories <= set(CODES)


def test_every_check_has_a_rule_and_is_named_after_its_evidence() -> None:
    names = {name for rule in rules() for name in rule.checks}
    assert set(checks()) == names
    assert [name for name in names if takes_logs(name) and not name.endswith("_logged")] == []
    assert [name for name in names if takes_manifests(name) and not name.endswith(("_declared", "_mounted"))] == []


_PLANTED_IN = ("faults", "real", "packets", "clients", "kube", "sources")
_NOT_PLANTED = {
    "JSD609": "a manifest that states too little is its own fault",
    "JSD720": "a defect of a release, told by its version",
    "JSD902": "the waivers of a run",
    "JSD904": "lines that no rule knows: tests/logs",
}


def test_every_rule_names_a_fault_made_on_purpose() -> None:
    """On real servers, clients, links or volumes: a rule without one may find nothing of the world's evidence."""
    files = [path for name in _PLANTED_IN for path in (FIXTURES.parent / "tests" / name).rglob("*.py")]
    texts = [
        node.value
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    planted = set(re.findall(r"JSD\d{3}", "\n".join(texts)))
    assert set(CODES) - planted == set(_NOT_PLANTED)


@pytest.mark.parametrize("base", base_names())
def test_healthy_recordings_give_nothing(base: str) -> None:
    assert loud(run_all(evidence_of({"base": base})).results) == []


@pytest.mark.parametrize("directory", healthy_logs(), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_healthy_logs_give_nothing(directory: Path) -> None:
    assert loud(run_all(evidence_of_files(directory)).results) == []


@pytest.mark.parametrize("name", CLEAN)
def test_clean_captures_give_nothing(name: str) -> None:
    assert loud(run_all(only_packets(captured((name,)))).results) == []
