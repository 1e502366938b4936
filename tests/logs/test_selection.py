"""The lines that a bundle keeps of a log: rules find in them what they find in the whole log."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from jsdoctor.logs.lines.matcher import Matcher
from jsdoctor.logs.scan.selection import MAX_KEPT_BYTES, LineSelection, signature_identity, unsearched
from jsdoctor.model.finding import Outcome, Severity
from tests.support.log_cases import (
    evidence_of_files,
    healthy_logs,
    log_evidence_of,
    logged_rules,
    select_lines,
    settings,
)
from tests.support.rule_case import listed
from tests.support.ruleset import run_all, run_rule

UNREAD = "JSD903"
"""Tells of files that cannot be read: of these a bundle has the reason, and no lines."""


def failures(code: str, case: dict[str, Any], *, selected: bool) -> list[tuple[str, str]]:
    results = run_rule(code, log_evidence_of(code, case, selected), case.get("params")).results
    return sorted(
        (result.finding.subject.label, result.severity.name)
        for result in results
        if result.finding.outcome is Outcome.FAIL
    )


@pytest.mark.parametrize("code", [code for code in logged_rules() if code != UNREAD])
def test_findings_are_those_of_the_whole_log(code: str) -> None:
    for case in listed(code, "log_case"):
        assert failures(code, case, selected=True) == failures(code, case, selected=False), case["about"]


@pytest.mark.parametrize("directory", healthy_logs(), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_healthy_logs_stay_silent(directory: Path, tmp_path: Path) -> None:
    copy = tmp_path / "logs"
    shutil.copytree(directory, copy)
    select_lines(copy)
    failures = [result for result in run_all(evidence_of_files(copy)).results if result.finding.outcome is Outcome.FAIL]
    assert [result.rule.code for result in failures if result.severity > Severity.INFO] == []


def kept(*lines: str) -> list[str]:
    selection = LineSelection(Matcher(settings().signatures))
    selection.feed("".join(f"{line}\n" for line in lines).encode())
    selection.finish()
    assert selection.lines == len(lines)
    assert selection.kept == selection.text.count(b"\n")
    return selection.text.decode().splitlines()


def plain(second: float, text: str = "Trace is on", minute: int = 0) -> str:
    return f"[1] 2026/11/20 10:{minute:02}:{second:09.6f} [INF] {text}"


def test_a_minute_that_changes_between_two_blocks() -> None:
    selection = LineSelection(Matcher(settings().signatures))
    lines = [plain(1), plain(59), plain(1, minute=1), plain(2, minute=1), plain(3, minute=1)]
    for line in lines:
        selection.feed(f"{line}\n".encode())
    selection.finish()
    assert selection.text.decode().splitlines() == [*lines[:3], lines[-1]]


def test_no_line_is_kept_twice() -> None:
    """The first line of all is kept, and is the dated one before the minute that the next block begins with."""
    selection = LineSelection(Matcher(settings().signatures))
    for line in (plain(1), plain(1, minute=1)):
        selection.feed(f"{line}\n".encode())
    selection.finish()
    assert (selection.lines, selection.kept) == (2, 2)


def test_lines_of_a_stack_trace_stay_with_their_error() -> None:
    trace = [
        "Traceback (most recent call last):",
        *(f"  File {number}" for number in range(3)),
        "nats.errors.TimeoutError",
    ]
    assert kept("begin", "nothing", *trace, "nothing", "nothing", "end")[1:-1] == trace[:4]


def test_what_does_not_fit_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jsdoctor.logs.scan.selection.MAX_KEPT_BYTES", 200)
    selection = LineSelection(Matcher(settings().signatures))
    selection.feed(b"".join(f"{plain(number)[:-5]} [ERR] bad\n".encode() for number in range(20)))
    selection.finish()
    assert len(selection.text) <= 200 < MAX_KEPT_BYTES
    assert selection.kept + selection.left_out == 20


def test_texts_of_trace_lines_are_left_out() -> None:
    """They quote payloads and logins. Such a line can be the first, the last, stand beside a minute, or quote ERR."""
    payload = 'cid:5 - <<- MSG_PAYLOAD: ["planted [ERR] Slow Consumer Detected"]'
    lines = [plain(number, payload, minute=number).replace("[INF]", "[TRC]") for number in range(4)]
    kept_lines = kept(*lines)
    assert len(kept_lines) == 4
    assert all(line.endswith("[TRC] [text left out]") for line in kept_lines)


def test_texts_of_wrapped_trace_lines_are_left_out() -> None:
    inner = plain(1, "<<- MSG_PAYLOAD: planted").replace("[INF]", "[TRC]")
    wrapped = json.dumps({"log": f"{inner}\n", "stream": "stderr", "time": "2026-11-20T10:00:01Z"})
    assert "planted" not in "".join(kept(wrapped, '{"level":"debug","ts":"2026-11-20T10:00:01Z","msg":"planted"}'))


def test_lines_that_a_rule_wants_of_debug_stay() -> None:
    wanted = next(
        line
        for signature in settings().signatures
        if "DBG" in signature.levels
        for line in signature.examples
        if "[DBG]" in line
    )
    assert kept(wanted) == [wanted]


def test_what_was_not_searched_for_is_known() -> None:
    signatures = settings().signatures
    every = [signature_identity(signature) for signature in signatures]
    assert unsearched(every, signatures, left_out=False) == ()
    assert unsearched(every[1:], signatures, left_out=False) == (signatures[0].name,)
    assert len(unsearched(every, signatures, left_out=True)) == len(signatures)
