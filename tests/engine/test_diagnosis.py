"""Verdicts on causes where the results of rules are few: what was not run, what crashed, what explains what."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from jsdoctor.engine.diagnosis import Examined, diagnose
from jsdoctor.engine.runner import Evaluation
from jsdoctor.model.diagnosis import Cause, Narrowing, Question, Verdict
from jsdoctor.model.evidence import EvidenceSet, Gaps
from jsdoctor.model.finding import Finding, Outcome, Subject, passed, unknown
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.report import Result, RuleVerdict
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries
from tests.diagnosis.book import book
from tests.support.ruleset import checks, rules

RULES = {rule.code: rule for rule in rules()}
ORDERS = Subject(kind="stream", name="ORDERS", account="APP")
N1 = Subject(kind="server", name="n1")
AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
LOGS = EvidenceSet({Gaps: Gaps(()), LogEvidence: LogEvidence(files=(), servers=())}, {})


def consumer(name: str) -> Subject:
    return Subject(kind="consumer", name=name, stream="ORDERS", account="APP")


def result(code: str, finding: Finding) -> Result:
    return Result(RULES[code], finding)


def failed(code: str, subject: Subject, message: str = "bad") -> Result:
    return result(code, Finding(subject=subject, message=message))


def dated(code: str, subject: Subject, moment: str, at: datetime) -> Result:
    """A finding that knows one of its times."""
    return result(code, replace(failed(code, subject).finding, **{moment: at}))


def causes(
    results: Iterable[Result],
    codes: tuple[str, ...],
    evidence: EvidenceSet = LOGS,
    reported: dict[str, Result] | None = None,
) -> dict[str, Cause]:
    """The causes of a symptom that has these codes. Rules without results were not run."""
    symptom = book().symptom("consumer-stalled")
    assert symptom is not None
    symptom = replace(symptom, causes=codes, because=dict.fromkeys(codes, "so"))
    given = tuple(results)
    verdicts = {r.rule.code: RuleVerdict(r.rule, r.finding.outcome, {r.finding.outcome: 1}) for r in given}
    evaluation = Evaluation(tuple(verdicts.values()), given, ())
    examined = Examined(evidence, evaluation, reported or {})
    diagnosis = diagnose(Question(symptom, "", Narrowing()), rules(), checks(), examined)
    return {cause.rule.code: cause for cause in diagnosis.causes}


def test_a_rule_that_was_not_run_is_undecided() -> None:
    cause = causes([], ("JSD403",))["JSD403"]
    assert (cause.verdict, cause.message, cause.next_step) == (
        *(Verdict.UNDECIDED, "its rule was not run"),
        "remove it from `ignore` in the configuration",
    )


def test_a_check_that_crashed_decides_nothing() -> None:
    crash = result("JSD403", Finding(subject=ORDERS, outcome=Outcome.ERROR, message="the check itself failed: oops"))
    cause = causes([crash, result("JSD403", passed(consumer("billing")))], ("JSD403",))["JSD403"]
    assert (cause.verdict, cause.message, cause.next_step) == (
        *(Verdict.UNDECIDED, "the check itself failed: oops"),
        "report this to the authors of jsdoctor",
    )


@pytest.mark.parametrize(
    ("subjects", "message"),
    [
        ("ab", "APP > ORDERS > a: bad; APP > ORDERS > b: bad"),
        ("abc", "APP > ORDERS > a: bad; APP > ORDERS > b: bad; APP > ORDERS > c: bad"),
        ("abcd", "APP > ORDERS > a: bad; APP > ORDERS > b: bad; APP > ORDERS > c: bad; and 1 more subject"),
    ],
)
def test_a_confirmed_cause_names_three_subjects_and_counts_the_rest(subjects: str, message: str) -> None:
    cause = causes([failed("JSD403", consumer(name)) for name in subjects], ("JSD403",))["JSD403"]
    assert (cause.verdict, cause.message, len(cause.results)) == (Verdict.CONFIRMED, message, len(subjects))


def test_what_the_person_reports_comes_first() -> None:
    reported = {"JSD403": failed("JSD403", ORDERS, "as was told")}
    cause = causes([failed("JSD403", consumer("a"))], ("JSD403",), reported=reported)["JSD403"]
    assert cause.message == "APP > ORDERS: as was told; APP > ORDERS > a: bad"


def test_a_cause_that_several_others_explain_names_them_all() -> None:
    a, b = consumer("a"), consumer("b")
    results = [failed("JSD401", a), failed("JSD401", b), failed("JSD403", a), failed("JSD404", b)]
    by_code = causes(results, ("JSD401", "JSD403", "JSD404"))
    assert (by_code["JSD401"].verdict, by_code["JSD401"].message, by_code["JSD401"].next_step) == (
        Verdict.EXPLAINED,
        "explained by JSD403 and JSD404 (the same consumer): APP > ORDERS > a: bad; APP > ORDERS > b: bad",
        "",
    )
    alone = causes([*results, failed("JSD401", consumer("c"))], ("JSD401", "JSD403", "JSD404"))
    assert alone["JSD401"].verdict is Verdict.CONFIRMED


@pytest.mark.parametrize("moment", ["first_seen", "last_seen"])
def test_logs_are_as_of_the_newest_time_that_a_finding_has(moment: str) -> None:
    """What they showed hours before has nothing to do with a finding that they do not date."""
    lag, stuck = dated("JSD401", consumer("a"), moment, AT), failed("JSD403", consumer("a"))
    codes = ("JSD401", "JSD403", "JSD406")
    assert causes([lag, stuck], codes)["JSD401"].verdict is Verdict.EXPLAINED
    newer = dated("JSD405", consumer("b"), moment, AT + 2 * HOUR)
    assert causes([lag, stuck, newer], (*codes, "JSD405"))["JSD401"].verdict is Verdict.CONFIRMED
    sampled = LOGS.joined(SnapshotSeries((ClusterSnapshot(taken_at=AT + 2 * HOUR, streams=()),)))
    assert causes([lag, stuck], codes, sampled)["JSD401"].verdict is Verdict.CONFIRMED


def test_healthy_streams_outweigh_a_log_that_is_absent_but_not_other_streams() -> None:
    """A server is no asset: without its log it is open whether it had the problem, and the streams show none now."""
    healthy, server = result("JSD702", passed(ORDERS)), result("JSD702", passed(N1))
    no_log = result("JSD702", unknown(Subject(kind="server", name="n2"), "no log of it", "--logs PATH"))
    no_leader = result("JSD702", unknown(Subject(kind="stream", name="OTHER"), "it did not respond", "look again"))
    assert causes([healthy, server, no_log], ("JSD702",))["JSD702"].verdict is Verdict.RULED_OUT
    for undecided in ([healthy, no_log, no_leader], [server, no_log]):
        assert causes(undecided, ("JSD702",))["JSD702"].verdict is Verdict.UNDECIDED
