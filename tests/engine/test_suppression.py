"""What does not count, what counts otherwise, and what was judged at all."""

from datetime import date

import pytest
from msgspec.structs import replace

from jsdoctor.configuration.file import ConfigurationError, RuleSetting
from jsdoctor.engine.comparison import is_undecided, was_judged
from jsdoctor.engine.overrides import overrides, severities_of, with_severities
from jsdoctor.engine.select import SelectionError
from jsdoctor.engine.suppression import fully_judged, resolve_waivers, suppress, waiver_uses
from jsdoctor.model.finding import CLUSTER, Finding, Outcome, Severity, Subject
from jsdoctor.model.report import Result, RuleVerdict
from jsdoctor.model.suppression import Accepted, Baseline, Suppression, Waiver, WaiverUse
from tests.support.evidence import evidence_of
from tests.support.ruleset import rules, run_rule

TODAY = date(2026, 11, 24)
ORDERS = Subject(kind="stream", name="ORDERS", account="APP")
BILLING = Subject(kind="consumer", name="billing", stream="ORDERS", account="APP")
RULES = {rule.code: rule for rule in rules()}


def result(code: str = "JSD602", subject: Subject = ORDERS, outcome: Outcome = Outcome.FAIL) -> Result:
    return Result(RULES[code], Finding(subject=subject, outcome=outcome, message="m"))


def waiver(rule: str = "JSD602", subject: str = "APP > *", expires: date = TODAY) -> Waiver:
    (resolved,) = resolve_waivers([Waiver(rule, subject, "known", expires, "jsdoctor.toml", 3)], rules())
    return resolved


def baseline(of: Result, severity: Severity) -> Baseline:
    known = Accepted(of.fingerprint, of.rule.code, of.finding.subject.label, severity)
    return Baseline("baseline.json", {of.fingerprint: known})


def test_a_waiver_means_its_rules_and_its_subjects_until_its_last_day() -> None:
    yesterday = date(2026, 11, 23)
    reason = Suppression("waiver", "known", TODAY)
    results = [result(), result("JSD601"), result(subject=BILLING), result(subject=CLUSTER)]
    assert [result.suppressed for result in suppress(results, [waiver()], None, TODAY)] == [reason, None, reason, None]
    assert [result.suppressed for result in suppress(results, [waiver(expires=yesterday)], None, TODAY)] == [None] * 4
    by_prefix = suppress(results, [waiver("JSD6", "*")], None, TODAY)
    assert [result.suppressed for result in by_prefix] == [reason] * 4


def test_the_second_of_two_waivers_counts_where_the_first_means_something_else() -> None:
    (judged,) = suppress([result()], [waiver("JSD601"), waiver("JSD602")], None, TODAY)
    assert judged.suppressed == Suppression("waiver", "known", TODAY)


def test_only_failures_are_suppressed() -> None:
    passed = result(outcome=Outcome.PASS)
    assert suppress([passed], [waiver()], baseline(passed, Severity.CRITICAL), TODAY) == (passed,)


def test_a_baseline_accepts_what_has_not_become_more_severe() -> None:
    failed = result()
    accepted = Suppression("baseline", "accepted in baseline.json")
    for severity, suppressed in [(Severity.INFO, None), (failed.severity, accepted), (Severity.CRITICAL, accepted)]:
        (judged,) = suppress([failed], [], baseline(failed, severity), TODAY)
        assert judged.suppressed == suppressed
    (other,) = suppress([result(subject=BILLING)], [], baseline(failed, Severity.CRITICAL), TODAY)
    assert other.suppressed is None


def test_a_waiver_that_means_no_rule_names_its_line() -> None:
    with pytest.raises(SelectionError, match=r"^jsdoctor.toml:3: 'suppress' 'JSD6O2' names no rule"):
        waiver("JSD6O2")


def verdict(code: str, outcome: Outcome, subjects: dict[Outcome, int] | None = None) -> RuleVerdict:
    return RuleVerdict(RULES[code], outcome, subjects or {})


def test_uses_of_waivers() -> None:
    results = [result(), result(subject=BILLING), result("JSD601"), result(outcome=Outcome.PASS)]
    current, expired = waiver(), waiver("JSD6", "*", date(2026, 11, 23))
    verdicts = [verdict("JSD602", Outcome.FAIL), verdict("JSD601", Outcome.ERROR)]
    assert waiver_uses([current, expired], results, verdicts, TODAY).uses == (
        WaiverUse(current, 2, judged=True, expired=False),
        WaiverUse(expired, 3, judged=False, expired=True),
    )


def test_a_rule_with_one_subject_that_it_could_not_judge_is_not_fully_judged() -> None:
    verdicts = [
        verdict("JSD601", Outcome.PASS, {Outcome.PASS: 3}),
        verdict("JSD602", Outcome.FAIL, {Outcome.FAIL: 1, Outcome.NOT_EVALUATED: 1}),
        verdict("JSD603", Outcome.FAIL, {Outcome.FAIL: 1, Outcome.NOT_EVALUATED: 0}),
        verdict("JSD604", Outcome.NOT_EVALUATED),
        verdict("JSD605", Outcome.ERROR, {Outcome.ERROR: 1}),
        verdict("JSD606", Outcome.NOT_APPLICABLE),
    ]
    assert fully_judged(verdicts) == {"JSD601", "JSD603", "JSD606"}


@pytest.mark.parametrize(("silent", "judged"), [([], {"JSD603"}), ([{"server": "n3", "drop": True}], set[str]())])
def test_a_rule_that_failed_while_a_server_was_silent_is_not_fully_judged(
    silent: list[dict[str, object]], judged: set[str]
) -> None:
    full = {"config.max_msgs": 120, "config.discard": "new", "state.messages": 120}
    edits = [{"stream": "APP/ORDERS", "set": full}, *silent]
    verdicts = run_rule("JSD603", evidence_of({"base": "three-nodes-2.15.1", "edit": edits})).verdicts
    assert verdicts[0].outcome is Outcome.FAIL
    assert fully_judged(verdicts) == judged


def test_a_subject_is_judged_if_its_rule_was_and_nothing_hid_it() -> None:
    other = Subject(kind="stream", name="OTHER", account="APP")
    unknown = [ORDERS]
    assert was_judged(Outcome.PASS, [], BILLING)
    assert was_judged(Outcome.FAIL, [other, Subject(kind="account", name="SYS")], BILLING)
    for hidden in (BILLING, ORDERS, Subject(kind="account", name="APP"), Subject(kind="cluster")):
        assert not was_judged(Outcome.PASS, [hidden], BILLING)
    assert not was_judged(Outcome.PASS, unknown, ORDERS)
    assert was_judged(Outcome.PASS, [Subject(kind="stream", account="APP")], Subject(kind="server", name="n1"))
    for outcome in (None, Outcome.NOT_EVALUATED, Outcome.ERROR):
        assert not was_judged(outcome, [], ORDERS)
    assert [outcome for outcome in Outcome if is_undecided(outcome)] == [Outcome.NOT_EVALUATED, Outcome.ERROR]


def test_severities_by_code_and_prefix_the_later_ones_count() -> None:
    settings = (("JSD60", Severity.INFO, 4), ("JSD602", Severity.CRITICAL, 5))
    severities = severities_of(settings, rules(), "jsdoctor.toml")
    assert severities["JSD602"] is Severity.CRITICAL
    assert severities["JSD601"] is Severity.INFO
    assert "JSD610" not in severities
    failed, passed, other = result(), result(outcome=Outcome.PASS), result("JSD701")
    loud, *rest = with_severities([failed, passed, other], severities)
    assert loud.severity is Severity.CRITICAL
    assert loud.finding == replace(failed.finding, severity=Severity.CRITICAL)
    assert rest == [passed, other]


def test_all_settings_that_name_no_rule_are_reported() -> None:
    settings = (("JSD999", Severity.INFO, 4), ("JSD601", Severity.INFO, 5), ("nothing", Severity.INFO, 6))
    with pytest.raises(ConfigurationError) as raised:
        severities_of(settings, rules(), "jsdoctor.toml")
    assert [problem.partition(" names no rule")[0] for problem in raised.value.problems] == [
        "jsdoctor.toml:4: severity 'JSD999'",
        "jsdoctor.toml:6: severity 'nothing'",
    ]


def test_parameters_by_code_and_slug_in_their_unit() -> None:
    settings = [
        RuleSetting("JSD401", "min_wait", "90s", 3),
        RuleSetting(RULES["JSD401"].slug, "warn_pending", 7, 4),
        RuleSetting("JSD602", "warn_fraction", 0.5, 0),
    ]
    assert overrides(rules(), settings, "jsdoctor.toml") == {
        "JSD401": {"min_wait": 90_000_000_000, "warn_pending": 7},
        "JSD602": {"warn_fraction": 0.5},
    }


def test_all_wrong_parameters_are_reported_with_their_places() -> None:
    bare = next(rule for rule in rules() if not rule.params)
    settings = [
        RuleSetting("JSD401", "min_wiat", "90s", 3),
        RuleSetting("JSD401", "min_wait", "soon", 4),
        RuleSetting("JSD4O1", "min_wait", "1s", 0),
        RuleSetting(bare.code, "x", 1, 6),
        RuleSetting("JSD602", "warn_fraction", 0.5, 7),
    ]
    with pytest.raises(ConfigurationError) as raised:
        overrides(rules(), settings, "--set")
    first, second, third, fourth = raised.value.problems
    assert first == "--set:3: JSD401 has no parameter 'min_wiat'; did you mean 'min_wait'?"
    assert second.startswith("--set:4: ")
    assert third.startswith("--set JSD4O1.min_wait: no rule is named 'JSD4O1'")
    assert fourth == f"--set:6: {bare.code} has no parameter 'x'; it has none"
