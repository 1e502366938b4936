"""A short log clears no rule; one from the start of a server on, or of twenty lines, does."""

from pathlib import Path

import pytest

from jsdoctor.engine.runner import evaluate
from jsdoctor.engine.select import Selection
from jsdoctor.model.finding import Outcome
from tests.support.log_cases import BESIDE, evidence_of_files, logged_rules
from tests.support.ruleset import checks, rules


def outcomes(lines: list[str], directory: Path) -> set[Outcome]:
    """What the rules that read logs say of these lines."""
    log = directory / "n1.log"
    log.write_text("".join(f"{line}\n" for line in lines))
    of_logs = {*logged_rules()}
    selection = Selection(rules=tuple(rule for rule in rules() if rule.code in of_logs), named=frozenset())
    evaluation = evaluate(selection, checks(), evidence_of_files(log), {}, keep_passes=True)
    return {result.finding.outcome for result in evaluation.results}


def ordinary(lines: int) -> list[str]:
    """Lines of a healthy server some time after its start."""
    return [
        f"[7] 2026/11/21 10:{minute:02}:00.000000 [INF] 10.0.0.{minute}:4222 - cid:{minute} - Client connection created"
        for minute in range(lines)
    ]


@pytest.mark.parametrize("lines", [1, 4, 19])
def test_an_excerpt_passes_nothing(lines: int, tmp_path: Path) -> None:
    of_excerpt = outcomes(ordinary(lines), tmp_path)
    assert Outcome.NOT_EVALUATED in of_excerpt
    assert of_excerpt <= {Outcome.NOT_EVALUATED, Outcome.NOT_APPLICABLE}


def test_twenty_lines_pass(tmp_path: Path) -> None:
    assert Outcome.PASS in outcomes(ordinary(20), tmp_path)


def test_a_whole_start_is_no_excerpt(tmp_path: Path) -> None:
    start = [
        line
        for line in BESIDE.read_text().splitlines()[:30]
        if "Starting nats-server" in line or "Server is ready" in line
    ]
    start = start[:2]
    assert Outcome.PASS in outcomes(start, tmp_path)
    assert Outcome.PASS not in outcomes(start[:1], tmp_path)
