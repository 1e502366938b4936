"""Outcomes and exit codes: what is missing, what crashes, what is found."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from jsdoctor.checks.registry import Check, Predicate
from jsdoctor.engine.runner import Evaluation, evaluate
from jsdoctor.engine.select import Selection
from jsdoctor.engine.verdict import ExitCode, exit_code
from jsdoctor.model.evidence import Evidence, EvidenceSet
from jsdoctor.model.finding import CLUSTER, Finding, Outcome, Severity, Subject, passed, unknown
from jsdoctor.model.gap import Gap, Gaps
from jsdoctor.model.report import Report
from jsdoctor.model.rule import Rule
from jsdoctor.model.server import Servers

GAP = Gap(kind="access", subject=CLUSTER, reason="no servers", how_to_get="ask", requested=False)
EVIDENCE = EvidenceSet({Gaps: Gaps(())}, {Servers: GAP})
HERE, THERE = Subject(kind="stream", name="A"), Subject(kind="stream", name="B")


def fails(gaps: Gaps) -> Iterator[Finding]:
    yield passed(HERE)
    yield Finding(subject=THERE, message="bad")


def crashes(gaps: Gaps) -> Iterator[Finding]:
    yield passed(HERE)
    raise ZeroDivisionError("oops")


def unsure(gaps: Gaps) -> Iterator[Finding]:
    yield passed(HERE)
    yield unknown(THERE, "too young", "wait")


def healthy(gaps: Gaps) -> Iterator[Finding]:
    yield passed(HERE)


def silent(gaps: Gaps) -> Iterator[Finding]:
    yield from ()


def blind(servers: Servers) -> Iterator[Finding]:
    yield passed(CLUSTER)


def helped(servers: Servers | None) -> Iterator[Finding]:
    yield passed(CLUSTER)


KINDS: dict[str, tuple[dict[str, type[Evidence]], dict[str, type[Evidence]]]] = {
    "blind": ({"servers": Servers}, {}),
    "helped": ({}, {"servers": Servers}),
}


def run(*predicates: Predicate, named: frozenset[str] = frozenset()) -> Evaluation:
    rules, checks = [], {}
    for number, predicate in enumerate(predicates):
        name = predicate.__name__
        required, optional = KINDS.get(name, ({"gaps": Gaps}, {}))
        checks[name] = Check(name, predicate, required, optional, False)
        rules.append(Rule(code=f"TST{number:03}", slug=name, title=name, checks=(name,), severity=Severity.ERROR))
    return evaluate(Selection(tuple(rules), named), checks, EVIDENCE, {})


def report(evaluation: Evaluation, *gaps: Gap) -> Report:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return Report(
        version="0",
        started=now,
        finished=now,
        sources=(),
        verdicts=evaluation.verdicts,
        results=evaluation.results,
        gaps=(*gaps, *evaluation.gaps),
    )


@pytest.mark.parametrize(
    ("predicate", "outcome"),
    [
        (fails, Outcome.FAIL),
        (crashes, Outcome.ERROR),
        (unsure, Outcome.NOT_EVALUATED),
        (healthy, Outcome.PASS),
        (silent, Outcome.NOT_APPLICABLE),
        (blind, Outcome.NOT_EVALUATED),
        (helped, Outcome.NOT_EVALUATED),
    ],
)
def test_outcome_of_a_rule(predicate: Predicate, outcome: Outcome) -> None:
    assert run(predicate).verdicts[0].outcome is outcome


def test_a_crash_takes_no_other_rule_with_it() -> None:
    evaluation = run(crashes, fails)
    assert [verdict.outcome for verdict in evaluation.verdicts] == [Outcome.ERROR, Outcome.FAIL]
    assert "ZeroDivisionError: oops" in evaluation.results[0].finding.message


def test_missing_evidence_is_a_gap_only_for_a_rule_that_was_named() -> None:
    assert run(blind).gaps == ()
    (gap,) = run(blind, named=frozenset({"TST000"})).gaps
    assert gap.requested
    assert "no servers" in gap.reason


def test_precedence_of_exit_codes() -> None:
    asked = Gap(kind="server", subject=CLUSTER, reason="r", how_to_get="h")
    error = Severity.ERROR
    assert exit_code(report(run(healthy, silent), GAP), error) is ExitCode.OK
    assert exit_code(report(run(healthy), asked), error) is ExitCode.INCONCLUSIVE
    assert exit_code(report(run(fails), asked), error) is ExitCode.FINDINGS
    assert exit_code(report(run(fails, crashes), asked), error) is ExitCode.INTERNAL
    assert exit_code(report(run(fails), asked), error, exit_zero=True) is ExitCode.INCONCLUSIVE
    assert exit_code(report(run(fails), asked), error, exit_zero=True, allow_gaps=True) is ExitCode.OK
    assert exit_code(report(run(fails), asked), Severity.CRITICAL) is ExitCode.INCONCLUSIVE
    assert exit_code(report(run(crashes)), error, exit_zero=True, allow_gaps=True) is ExitCode.INTERNAL
