"""Findings over time: each appears once, worsens, and is resolved only when a report could have shown it."""

from datetime import timedelta

from msgspec.structs import replace

from jsdoctor.engine.watch import MAX_CHANGES, ChangeKind, FindingChange, Watch, observe
from jsdoctor.model.finding import CLUSTER, Outcome, Severity, Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.report import Report, Result, RuleVerdict
from tests.render import reports

STUCK = reports.stuck(reports.consumer("billing"))
ANOTHER = reports.stuck(reports.consumer("shipping"))
RULE = STUCK.rule


def watched(*checks: Report) -> list[list[tuple[str, str]]]:
    """What changed with each of the reports, which are ten seconds apart."""
    watch, changes_by_check = Watch(), []
    for number, report in enumerate(checks):
        at = reports.STARTED + timedelta(seconds=10 * number)
        watch, changes = observe(watch, replace(report, finished=at))
        changes_by_check.append([(change.kind.value, change.result.finding.subject.name) for change in changes])
    return changes_by_check


def report(*results: Result, gaps: tuple[Gap, ...] = ()) -> Report:
    return reports.report(results, gaps, [] if results else reports.passed(RULE))


def test_a_finding_appears_once_and_is_resolved_once() -> None:
    checks = watched(report(STUCK), report(STUCK), report(STUCK, ANOTHER), report(ANOTHER), report(), report())
    assert checks == [
        [("appeared", "billing")],
        [],
        [("appeared", "shipping")],
        [("resolved", "billing")],
        [("resolved", "shipping")],
        [],
    ]


def test_what_was_bad_at_any_time_is_resolved_as_such() -> None:
    mild = reports.stuck(reports.consumer("billing"), severity=Severity.WARNING)
    watch, changes = observe(Watch(), report(STUCK))
    for seen in (report(mild), report()):
        watch, changes = observe(watch, seen)
    assert [(change.kind, change.result.severity, change.worst) for change in changes] == [
        (ChangeKind.RESOLVED, Severity.WARNING, STUCK.severity)
    ]


def test_what_gets_worse_is_reported_and_what_gets_milder_is_not() -> None:
    mild = reports.stuck(reports.consumer("billing"), severity=Severity.WARNING)
    assert watched(report(mild), report(STUCK), report(mild)) == [
        [("appeared", "billing")],
        [("worsened", "billing")],
        [],
    ]


def test_a_finding_stays_open_while_it_cannot_be_judged() -> None:
    blind = reports.report(verdicts=[RuleVerdict(RULE, Outcome.NOT_EVALUATED, {})])
    crashed = reports.report(verdicts=[RuleVerdict(RULE, Outcome.ERROR, {Outcome.ERROR: 1})])
    undecided = reports.report([reports.undecided(RULE, reports.consumer("billing"), "no leader answered"), ANOTHER])
    stream_unseen = report(ANOTHER, gaps=(reports.unseen("ORDERS", "no server answered", "check again"),))
    no_login = report(gaps=(Gap("connection", CLUSTER, "n1 was not reached", "start it"),))
    for cannot_say in (blind, crashed, undecided, stream_unseen, no_login):
        checks = watched(report(STUCK), cannot_say, report(STUCK), cannot_say, report())
        assert ("resolved", "billing") not in [*checks[1], *checks[3]]
        assert not any(name == "billing" for _, name in checks[2]), "it had never gone"
        assert ("resolved", "billing") in checks[4]


def test_an_open_finding_states_whether_the_last_report_judged_it() -> None:
    blind = report(ANOTHER, gaps=(reports.unseen("ORDERS", "no server answered", "check again"),))
    watch = Watch()
    for number, (seen, judged) in enumerate(((report(STUCK), True), (blind, False), (report(STUCK), True)), 1):
        watch, _ = observe(watch, seen)
        assert (watch.reports, watch.open[STUCK.fingerprint].judged) == (number, judged)


def test_what_other_rules_could_not_judge_keeps_no_finding_open() -> None:
    """Nor does what this rule finds of others, whichever of them is there still."""
    elsewhere = reports.undecided(reports.GROWING, reports.consumer("billing"), "one sample was taken")
    assert watched(report(ANOTHER, STUCK), report(ANOTHER, elsewhere))[1] == [("resolved", "billing")]


def test_a_rule_that_was_not_run_resolves_nothing() -> None:
    assert watched(report(STUCK), reports.report(), report())[1:] == [[], [("resolved", "billing")]]


def test_accepted_findings_are_none() -> None:
    waived = [result for result in reports.cases()["suppressed"].results if result.suppressed]
    assert watched(reports.report(waived)) == [[]]


def test_only_the_newest_changes_are_remembered() -> None:
    watch, last = Watch(), tuple[FindingChange, ...]()
    for number in range(MAX_CHANGES):
        at = reports.STARTED + timedelta(seconds=number)
        watch, last = observe(watch, replace(report() if number % 2 else report(STUCK, ANOTHER), finished=at))
    assert len(watch.changes) == MAX_CHANGES
    assert watch.changes[-2:] == last
    assert last[0].kind is ChangeKind.RESOLVED
    assert last[0].at - last[0].appeared == timedelta(seconds=1)


def test_of_two_findings_with_one_fingerprint_the_worst_counts() -> None:
    mild = reports.stuck(reports.consumer("billing"), severity=Severity.WARNING)
    watch, _ = observe(Watch(), report(STUCK, mild))
    assert [finding.result.severity for finding in watch.open.values()] == [STUCK.severity]


def test_a_server_that_gave_only_its_address_may_be_any_server() -> None:
    of_server = reports.stuck(Subject(kind="server", name="n1"))
    silent = Gap("endpoint", Subject(kind="server", name="http://127.0.0.1:8222"), "no response", "start it")
    assert watched(report(of_server), report(ANOTHER, gaps=(silent,)), report(ANOTHER)) == [
        [("appeared", "n1")],
        [("appeared", "shipping")],
        [("resolved", "n1")],
    ]


def test_what_a_silent_server_held_is_not_resolved() -> None:
    """A stream with one replica is gone from the lists with the server that has it."""
    seen_by = STUCK.finding.evidence[0].source
    gaps = {
        name: Gap("server", Subject(kind="server", name=name), "it did not respond", "start it")
        for name in (seen_by, "another")
    }
    assert watched(report(STUCK), report(ANOTHER, gaps=(gaps[seen_by],)))[1] == [("appeared", "shipping")]
    assert ("resolved", "billing") in watched(report(STUCK), report(ANOTHER, gaps=(gaps["another"],)))[1]
