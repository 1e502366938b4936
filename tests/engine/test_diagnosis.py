"""Verdicts on causes where the results of rules are few: what was not run, what crashed, what explains what."""

from collections.abc import Iterable

from msgspec.structs import replace

from jsdoctor.engine.diagnosis import Examined, diagnose
from jsdoctor.engine.runner import Evaluation
from jsdoctor.model.diagnosis import Cause, Narrowing, Question, Verdict
from jsdoctor.model.evidence import EvidenceSet, Gaps
from jsdoctor.model.finding import Finding, Outcome, Subject, passed, unknown
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.report import Result, RuleVerdict
from tests.diagnosis.book import book
from tests.support.ruleset import checks, rules

RULES = {rule.code: rule for rule in rules()}
ORDERS = Subject(kind="stream", name="ORDERS", account="APP")
N1 = Subject(kind="server", name="n1")
LOGS = EvidenceSet({Gaps: Gaps(()), LogEvidence: LogEvidence(files=(), servers=())}, {})


def consumer(name: str) -> Subject:
    return Subject(kind="consumer", name=name, stream="ORDERS", account="APP")


def result(code: str, finding: Finding) -> Result:
    return Result(RULES[code], finding)


def failed(code: str, subject: Subject, message: str = "bad") -> Result:
    return result(code, Finding(subject=subject, message=message))


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


def test_a_check_that_crashed_decides_nothing() -> None:
    crash = result("JSD403", Finding(subject=ORDERS, outcome=Outcome.ERROR, message="the check itself failed: oops"))
    cause = causes([crash, result("JSD403", passed(consumer("billing")))], ("JSD403",))["JSD403"]
    assert (cause.verdict, cause.message, cause.next_step) == (
        *(Verdict.UNDECIDED, "the check itself failed: oops"),
        "report this to the authors of jsdoctor",
    )


def test_healthy_streams_outweigh_a_log_that_is_absent_but_not_other_streams() -> None:
    """A server is no asset: without its log it is open whether it had the problem, and the streams show none now."""
    healthy, server = result("JSD702", passed(ORDERS)), result("JSD702", passed(N1))
    no_log = result("JSD702", unknown(Subject(kind="server", name="n2"), "no log of it", "--logs PATH"))
    no_leader = result("JSD702", unknown(Subject(kind="stream", name="OTHER"), "it did not respond", "look again"))
    assert causes([healthy, server, no_log], ("JSD702",))["JSD702"].verdict is Verdict.RULED_OUT
    for undecided in ([healthy, no_log, no_leader], [server, no_log]):
        assert causes(undecided, ("JSD702",))["JSD702"].verdict is Verdict.UNDECIDED
