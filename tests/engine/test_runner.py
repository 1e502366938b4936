"""Outcomes and exit codes: what is missing, what crashes, what is found."""

from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec
import pytest

from jsdoctor.checks.registry import Check, Predicate
from jsdoctor.engine.comparison import passed_in_part
from jsdoctor.engine.runner import Evaluation, evaluate
from jsdoctor.engine.select import Selection
from jsdoctor.engine.verdict import ExitCode, exit_code
from jsdoctor.model.evidence import Evidence, EvidenceSet, Gaps
from jsdoctor.model.finding import CLUSTER, Finding, Outcome, Severity, Subject, passed, suspected, unknown
from jsdoctor.model.gap import Gap
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.partial import mark_unread
from jsdoctor.model.report import EvidenceOrigin, Report
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


def of_logs(logs: LogEvidence) -> Iterator[Finding]:
    yield from ()


KINDS: dict[str, tuple[dict[str, type[Evidence]], dict[str, type[Evidence]]]] = {
    "blind": ({"servers": Servers}, {}),
    "helped": ({}, {"servers": Servers}),
    "of_logs": ({"logs": LogEvidence}, {}),
}


def run(
    *rules_of: Predicate | tuple[Predicate, ...], named: frozenset[str] = frozenset(), evidence: EvidenceSet = EVIDENCE
) -> Evaluation:
    """A rule for each predicate, or for several that judge the same."""
    rules, checks = [], {}
    for number, judges in enumerate(rules_of):
        predicates = judges if isinstance(judges, tuple) else (judges,)
        names = tuple(predicate.__name__ for predicate in predicates)
        for name, predicate in zip(names, predicates, strict=True):
            required, optional = KINDS.get(name, ({"gaps": Gaps}, {}))
            checks[name] = Check(name, predicate, required, optional, False)
        rules.append(Rule(code=f"TST{number:03}", slug=names[0], title=names[0], checks=names, severity=Severity.ERROR))
    return evaluate(Selection(tuple(rules), named), checks, evidence, {})


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
    assert evaluation.results[0].finding.message == "the check itself failed: ZeroDivisionError: oops"


def test_of_a_short_log_only_rules_about_logs_remain_open() -> None:
    """Also those that something else decides as well: a healthy state now says nothing of what the log may have."""
    excerpt = EVIDENCE.joined(LogEvidence(files=(), servers=()))
    verdicts = run(silent, of_logs, (silent, of_logs), evidence=excerpt).verdicts
    assert [verdict.outcome for verdict in verdicts] == [
        *(Outcome.NOT_APPLICABLE, Outcome.NOT_EVALUATED, Outcome.NOT_EVALUATED)
    ]


def test_missing_evidence_is_a_gap_only_for_a_rule_that_was_named() -> None:
    assert run(blind).gaps == ()
    (gap,) = run(blind, named=frozenset({"TST000"})).gaps
    assert gap.requested
    assert gap.reason == "TST000 was selected by name and could not be evaluated: no servers"


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


def test_what_was_seen_in_given_evidence_and_not_judged_is_inconclusive() -> None:
    def waits(gaps: Gaps) -> Iterator[Finding]:
        yield suspected(HERE, "10,000 requests wait, in the only sample", "run with --samples 2 or more")

    seen = report(run(waits))
    at = seen.started
    codes = [
        exit_code(
            msgspec.structs.replace(seen, sources=tuple(EvidenceOrigin(kind, "x", at) for kind in kinds)),
            Severity.ERROR,
        )
        for kinds in (("pasted",), ("logs",), ("live",), ("live", "logs"))
    ]
    assert codes == [ExitCode.INCONCLUSIVE, ExitCode.INCONCLUSIVE, ExitCode.OK, ExitCode.OK]


def test_a_rule_that_needed_a_reply_that_was_not_read_does_not_pass() -> None:
    class Links(msgspec.Struct, frozen=True):
        routes: tuple[str, ...] | None = None

    unread = mark_unread(Links(), {"routes": "ROUTEZ"}, THERE, "run again")

    def routed(gaps: Gaps) -> Iterator[Finding]:
        yield passed(HERE)
        if unread.routes == ():
            yield Finding(subject=THERE, message="no routes")

    (verdict,) = run(routed).verdicts
    assert (verdict.outcome, verdict.subjects) == (Outcome.NOT_EVALUATED, {Outcome.PASS: 1})
    assert (verdict.reason, verdict.how_to_get) == (f"{THERE.label}: ROUTEZ was not read", "run again")
    assert passed_in_part(verdict)
    assert unread.routes is None, "outside of a check nothing is noted"
