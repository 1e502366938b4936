"""Lines without a date: their order replaces it, and no line that matches a rule ends in a pass."""

import re
from pathlib import Path

import pytest

from jsdoctor.logs.lines.matcher import Matcher
from jsdoctor.model.finding import Outcome
from tests.logs.shapes import UNDATED
from tests.support.log_cases import evidence_of_files, healthy_logs, settings
from tests.support.rule_case import loud
from tests.support.ruleset import rules, run_all, run_rule

_DECIDED = {Outcome.FAIL, Outcome.NOT_EVALUATED}

ENDINGS = {name for rule in rules() for signature in rule.signatures for name in signature.resolved_by}
EXAMPLES = [
    pytest.param(rule.code, example, id=f"{rule.code}-{signature.name}-{number}")
    for rule in rules()
    for signature in rule.signatures
    if signature.resolved_by or signature.name not in ENDINGS
    for number, example in enumerate(signature.examples)
]


@pytest.fixture(autouse=True)
def one_matcher(monkeypatch: pytest.MonkeyPatch) -> None:
    """To build a matcher takes longer than to read a line."""
    monkeypatch.setattr("tests.logs.corpus.Matcher", lambda *_: _matcher)


_matcher = Matcher(settings().signatures)


@pytest.mark.parametrize("shape", ["dated", *UNDATED])
def test_a_matched_line_never_ends_in_a_pass(shape: str, tmp_path: Path) -> None:
    passed = []
    for parameters in EXAMPLES:
        code, example = parameters.values
        text = UNDATED[shape](str(example)) if shape in UNDATED else str(example)
        (tmp_path / "nats.log").write_text(f"{text}\n")
        verdict = run_rule(str(code), evidence_of_files(tmp_path / "nats.log")).verdicts[0]
        if verdict.outcome not in _DECIDED:
            passed.append((code, text))
    assert passed == []


@pytest.mark.parametrize("directory", healthy_logs(), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_healthy_logs_give_nothing_without_their_dates(directory: Path, tmp_path: Path) -> None:
    for shape in ("bare", "time"):
        for log in directory.iterdir():
            text = log.read_text(errors="surrogateescape")
            (tmp_path / log.name).write_text(UNDATED[shape](text), errors="surrogateescape")
        assert _loud(tmp_path) == []


def _loud(*paths: Path) -> list[tuple[str, str, str]]:
    return loud(run_all(evidence_of_files(*paths)).results)


NO_LEADER = """\
[7] 2026/11/21 10:00:00.000000 [INF] JetStream cluster no metadata leader
[7] 2026/11/21 10:00:04.000000 [WRN] JetStream cluster stream 'APP > ORDERS' has NO quorum, stalled
"""


@pytest.mark.parametrize("shape", ["dated", *UNDATED])
def test_two_lines_that_report_that_there_is_no_leader(shape: str, tmp_path: Path) -> None:
    text = UNDATED[shape](NO_LEADER) if shape in UNDATED else NO_LEADER
    (tmp_path / "paste.txt").write_text(text)
    codes = [code for code, _, _ in _loud(tmp_path / "paste.txt")]
    assert "JSD702" in codes
    assert "JSD701" in codes or shape not in ("bare", "process id")


def test_order_shows_what_ended(tmp_path: Path) -> None:
    lines = _without(NO_LEADER) + "[INF] JetStream cluster new metadata leader: n1/C\n"
    (tmp_path / "paste.txt").write_text(lines)
    assert [code for code, _, _ in _loud(tmp_path / "paste.txt")] == ["JSD702"]


def test_elections_without_times_are_not_counted_in_windows(tmp_path: Path) -> None:
    lines = "".join("[INF] JetStream cluster new stream leader for 'A > S'\n" for _ in range(60))
    (tmp_path / "paste.txt").write_text(lines)
    results = run_rule("JSD705", evidence_of_files(tmp_path / "paste.txt")).results
    assert {result.finding.outcome for result in results} == {Outcome.NOT_EVALUATED}


def test_a_time_without_a_date_goes_on_after_midnight(tmp_path: Path) -> None:
    (tmp_path / "n1.log").write_text(
        "23:59:10 [WRN] JetStream cluster stream 'A > S' has NO quorum, stalled\n"
        "00:01:10 [INF] JetStream cluster new stream leader for 'A > S'\n"
    )
    (result,) = run_rule("JSD702", evidence_of_files(tmp_path / "n1.log")).results
    assert "it ended after 2m" in result.finding.message
    assert "23:59:10 (no date)" in result.finding.message


def _without(text: str) -> str:
    return re.sub(r"\[\d+\] \S+ \S+ ", "", text)


def test_warnings_of_a_month_are_no_outage_of_a_month(tmp_path: Path) -> None:
    """`grep WRN` leaves out the lines that tell the end."""
    text = "".join(
        f"[7] 2026/11/{day:02} 10:00:00.000000 [WRN] JetStream cluster stream 'A > S' has NO quorum, stalled\n"
        for day in (1, 15, 30)
    )
    (tmp_path / "n1.log").write_text(text)
    (result,) = run_rule("JSD702", evidence_of_files(tmp_path / "n1.log")).results
    assert "since 2026-11-01" not in result.finding.message
    assert "no lines of level INF" in result.finding.message


@pytest.mark.parametrize(("after", "expected"), [("", ["JSD701", "JSD801"]), ("new", [])])
def test_a_cluster_without_a_leader_at_the_end_is_reported_however_short_the_log(
    after: str, expected: list[str], tmp_path: Path
) -> None:
    text = (
        "[7] 2026/11/21 10:00:00.000000 [INF] Server is ready\n"
        "[7] 2026/11/21 10:59:00.000000 [INF] JetStream cluster no metadata leader\n"
        '[7] 2026/11/21 10:59:05.000000 [WRN] Healthcheck failed: "JetStream has not established contact with a meta'
        ' leader"\n'
    )
    text += text.splitlines(keepends=True)[-1].replace("59:05", "59:10")
    text += text.splitlines(keepends=True)[-1].replace("59:10", "59:15")
    if after:
        text += "[7] 2026/11/21 10:59:17.000000 [INF] JetStream cluster new metadata leader: n1/C\n"
    (tmp_path / "n1.log").write_text(text)
    assert {code for code, _, _ in _loud(tmp_path / "n1.log")} >= set(expected)
    if after:
        assert "JSD701" not in {code for code, _, _ in _loud(tmp_path / "n1.log")}


def test_two_processes_whose_lines_mix_are_no_crash(tmp_path: Path) -> None:
    text = (
        "[1] 2026/11/21 10:00:00.000000 [INF] Starting nats-server\n"
        "[1] 2026/11/21 10:00:01.000000 [INF] Server is ready\n"
        "[2] 2026/11/21 10:00:02.000000 [INF] Starting nats-server\n"
        "[2] 2026/11/21 10:00:03.000000 [INF] Server is ready\n"
        "[1] 2026/11/21 10:30:00.000000 [INF] File log re-opened\n"
        "[2] 2026/11/21 10:31:00.000000 [INF] File log re-opened\n"
    )
    (tmp_path / "host.log").write_text(text)
    assert run_rule("JSD805", evidence_of_files(tmp_path / "host.log")).results == ()
    (tmp_path / "host.log").write_text("".join(text.splitlines(keepends=True)[:4]))
    assert len(run_rule("JSD805", evidence_of_files(tmp_path / "host.log")).results) == 1


@pytest.mark.parametrize("process", ["", "[1] "])
def test_two_processes_without_ids_of_their_own_mix_where_one_is_ready_twice(process: str, tmp_path: Path) -> None:
    lines = ["00 [INF] Starting nats-server", "01 [INF] Starting nats-server", "02 [INF] Server is ready"]
    dated = [f"{process}2026/11/21 10:00:{line[:2]}.000000{line[2:]}\n" for line in lines]
    ready_too = dated[-1].replace("00:02", "00:03")
    for text, killed in (([*dated, ready_too], 0), (dated, 1)):
        (tmp_path / "host.log").write_text("".join(text))
        assert len(run_rule("JSD805", evidence_of_files(tmp_path / "host.log")).results) == killed
