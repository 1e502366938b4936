"""Plans: nothing that fails is passed over, equal remedies become one, contradictions are refused, order is safe."""

import json
from datetime import UTC, datetime
from functools import cache
from typing import Any

import jsonschema
import msgspec
import pytest

from jsdoctor.engine.incidents import incidents
from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Finding, Outcome, Subject
from jsdoctor.model.plan import MANUAL, Change, Choice, Plan, Step, StepProof, UnplannedFinding
from jsdoctor.model.report import Incident, Result
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.offer import with_offers
from jsdoctor.remedy.operation import CannotPlanError, Operation, Target
from jsdoctor.remedy.plan import BACKUP, Drafted, described, draft, merged
from jsdoctor.remedy.registry import load_operations
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.plan_text import render_plan
from tests.support.evidence import base_names, cases, evidence_of
from tests.support.ruleset import actions, rules, run_rule
from tools import golden_plans
from tools.golden_plans import PlannedCase, configs_of, planned_cases
from tools.schemas import DIRECTORY

S = Subject(kind="stream", name="S", account="A")
SECOND_NS = 1_000_000_000


def step(key: str = "max_bytes", before: Any = 1, after: Any = 2, code: str = "X1", **more: Any) -> Step:
    changes = (Change(key, before, after),) if key else ()
    fields: dict[str, Any] = {
        "action": "stream.raise_limits",
        "operation": "stream.update",
        "subject": S,
        "risk": Risk.SAFE,
        "effect": "more room",
        "id": code,
        "changes": changes,
        "findings": (code,),
        "proofs": (StepProof(code, S),),
        "base": {"config": {"name": "S", key: before, "other": 7}},
    }
    return Step(**{**fields, **more})


PLANNED = set(golden_plans.codes())
"""The plans of the others list commands for a person."""


@cache
def failing(code: str) -> list[PlannedCase]:
    """Every case of a rule that fails, with its plan."""
    return list(planned_cases(code))


def test_chosen_remedies_are_those_of_the_golden_file() -> None:
    assert golden_plans.text_of_choices() == golden_plans.CHOSEN.read_text(encoding="utf-8"), "`make golden` accepts it"


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(rule.code, marks=() if rule.code in PLANNED else pytest.mark.nightly)
        for rule in rules()
        if rule.remedy
    ],
)
def test_every_failure_ends_in_a_step_or_in_a_reason(code: str) -> None:
    for about, _, drafted, failures in failing(code):
        planned = [finding for step in drafted.steps for finding in step.findings if finding.startswith(code)]
        assert len(planned) + len(drafted.refused) >= failures, about
        assert all(refusal.reason for refusal in drafted.refused), about
        assert all(step.commands for step in drafted.steps), about
        assert [step.id for step in drafted.steps] == [str(n) for n in range(1, len(drafted.steps) + 1)], about


def test_a_plan_survives_its_file() -> None:
    steps = [step for _, _, drafted, _ in failing("JSD602") for step in drafted.steps]
    assert steps
    plan = Plan(version="1", created=datetime(2026, 1, 1, tzinfo=UTC), steps=tuple(steps))
    encoded = msgspec.json.encode(plan)
    assert msgspec.json.decode(encoded, type=Plan) == plan
    jsonschema.validate(json.loads(encoded), json.loads((DIRECTORY / "plan-v1.json").read_text("utf-8")))


def test_equal_changes_become_one_step() -> None:
    steps, name = merged([step(code="X1")], step(code="X2"), "X2")
    assert name == "X1"
    assert [(step.findings, step.proofs) for step in steps] == [
        (("X1", "X2"), (StepProof("X1", S), StepProof("X2", S)))
    ]


def test_two_instructions_stay_two_steps_though_their_commands_are_equal() -> None:
    looks: dict[str, Any] = {"operation": MANUAL, "commands": ("nats server list",)}
    first = step("", effect="run three servers", **looks)
    second = step("", effect="finish the upgrade", code="X2", **looks)
    steps, name = merged([first], second, "X2")
    assert ([known.effect for known in steps], name) == (["run three servers", "finish the upgrade"], "X2")
    steps, name = merged([first], step("", effect="run three servers", code="X3", **looks), "X3")
    assert (len(steps), name) == (1, "X1")


def test_the_higher_of_two_raised_limits_wins() -> None:
    (combined,), _ = merged([step(after=20)], step(after=30, code="X2"), "X2")
    assert combined.changes == (Change("max_bytes", 1, 30),)
    (shown,) = described([combined])
    assert shown.requests[0].payload == {"name": "S", "max_bytes": 30, "other": 7}
    assert shown.commands == ("nats stream edit S --max-bytes=30 -f",)
    assert shown.undo[0].payload == {"name": "S", "max_bytes": 1, "other": 7}


def test_a_request_is_for_the_stream_as_the_steps_before_it_leave_it() -> None:
    """Sent as it is shown, the second request keeps what the first one changed."""
    base = {"config": {"name": "S", "max_bytes": 1, "max_msgs": 1}}
    first, second = described([step(base=base), step("max_msgs", 1, 5, code="X2", base=base)])
    assert first.requests[0].payload == {"name": "S", "max_bytes": 2, "max_msgs": 1}
    assert second.requests[0].payload == {"name": "S", "max_bytes": 2, "max_msgs": 5}
    assert second.undo[0].payload == {"name": "S", "max_bytes": 2, "max_msgs": 1}
    assert first.undo[0].payload == base["config"]


@pytest.mark.parametrize(("first", "other"), [((10, 20), (10, 5)), ((False, True), (False, None)), ((10, 5), (10, 4))])
def test_contradictions_are_refused(first: tuple[Any, Any], other: tuple[Any, Any]) -> None:
    known = step("k", *first)
    steps, refusal = merged([known], step("k", *other, code="X2"), "X2")
    assert steps == [known]
    assert isinstance(refusal, UnplannedFinding)
    assert "contradicts" in refusal.reason


def two_findings(*choices: Choice) -> Drafted:
    """JSD301 and JSD610 of one stream."""
    base = "one-node-2.15.1" if "one-node-2.15.1" in base_names() else base_names()[0]
    case = {
        "kind": "fires",
        "about": "two",
        "base": base,
        "edit": [{"stream": "APP/ORDERS", "set": {"config.no_ack": True, "config.duplicate_window": SECOND_NS // 10}}],
    }
    evidence = evidence_of(case)
    results = [r for code in ("JSD610", "JSD301") for r in with_offers(run_rule(code, evidence).results, actions)]
    failures = [result for result in results if result.finding.outcome is Outcome.FAIL]
    configs = {
        subject: config | ({"no_ack": True, "duplicate_window": SECOND_NS // 10} if subject.name == "ORDERS" else {})
        for subject, config in configs_of(base).items()
    }
    return draft(failures, actions(), evidence, configs, choices)


def test_the_mildest_comes_first_and_steps_know_of_each_other() -> None:
    first, second = two_findings().steps
    assert [(step.action, step.risk.value) for step in (first, second)] == [
        ("stream.raise_duplicate_window", "safe"),
        ("stream.acknowledge", "disruptive"),
    ]
    assert first.tolerates == {"no_ack": [True, False]}
    assert second.tolerates == {"duplicate_window": [SECOND_NS // 10, 120 * SECOND_NS]}


def test_a_choice_is_for_one_subject_or_for_all() -> None:
    aged = {"max_age_s": 600}
    elsewhere = two_findings(Choice("JSD301", "stream.set_max_age", aged, "OTHER"))
    assert "stream.set_max_age" not in {step.action for step in elsewhere.steps}
    here = two_findings(Choice("JSD301", "stream.set_max_age", aged, "ORDERS"))
    assert "stream.set_max_age" in {step.action for step in here.steps}


def test_a_choice_that_does_not_fit_is_refused() -> None:
    (refusal,) = two_findings(Choice("JSD301", "consumer.resume")).refused
    assert refusal.reason == "consumer.resume is for a consumer, and this is a stream"


def test_what_is_so_already_is_no_step() -> None:
    (refusal,) = two_findings(Choice("JSD301", "stream.set_discard", {"discard": "old"})).refused
    assert "it is so already" in refusal.reason


def test_a_planner_reports_what_it_lacks() -> None:
    action = actions()["stream.set_max_age"]
    assert isinstance(action, Operation)
    target = Target(subject=S, config={"name": "S"}, evidence=evidence_of(cases("JSD602")[0]))
    with pytest.raises(CannotPlanError, match="it needs max_age"):
        action.plan(target, {})


RUNS = (
    *("requests", "undo_requests", "commands_of", "expected", "read_state", "standing", "interrupted", "replaced"),
    *("write", "awaited", "broken", "undo", "not_undone", "reversible", "recreates"),
)


def test_actions_of_one_operation_differ_only_in_what_they_plan() -> None:
    """A step finds what it runs by the name of its operation."""
    for action in actions().values():
        if isinstance(action, Operation):
            runs = load_operations()[action.operation]
            assert [getattr(type(action), name) for name in RUNS] == [getattr(type(runs), name) for name in RUNS]
            assert action.step_risk is not Risk.MANUAL


def test_a_destructive_step_comes_right_after_a_backup() -> None:
    plans = [drafted.steps for _, _, drafted, _ in failing("JSD108")]
    assert any(plans)
    for steps in plans:
        known = {planned_step.id: place for place, planned_step in enumerate(steps)}
        for place, step in enumerate(steps):
            if step.risk is Risk.DESTRUCTIVE and step.action != BACKUP:
                assert [steps[known[need]].action for need in step.needs] == [BACKUP]
                assert all(known[need] < place for need in step.needs)


def outage() -> tuple[EvidenceSet, tuple[Result, ...], tuple[Incident, ...]]:
    """A recording in which a stream has lost its leader with a server; two findings on it, one on another stream."""
    base = "three-nodes-2.15.1"
    edits = [{"stream": "APP/ORDERS", "remove": ["cluster.leader"]}]
    evidence = evidence_of({"base": base, "edit": edits})
    known = {rule.code: rule for rule in rules()}

    def fails(code: str, subject: Subject, **remedy: Any) -> Result:
        return Result(known[code], Finding(subject=subject, message=f"{code} fails", remedy=remedy))

    orders, ring = (Subject(kind="stream", name=name, account="APP") for name in ("ORDERS", "RING"))
    results = with_offers(
        [
            fails("JSD602", orders, max_bytes=1 << 40),
            fails("JSD602", ring, max_bytes=1 << 40),
            fails("JSD702", orders),
            fails("JSD703", Subject(kind="server", name="n3")),
        ],
        actions,
    )
    return evidence, results, incidents(results, evidence, datetime(2026, 11, 22, tzinfo=UTC))


def test_causes_come_first_and_what_a_leaderless_stream_cannot_take_waits_for_them() -> None:
    evidence, results, grouped = outage()
    drafted = draft(results, actions(), evidence, configs_of("three-nodes-2.15.1"), incidents=grouped)
    order = [(step.subject.label, step.is_manual, step.needs) for step in drafted.steps]
    assert order == [
        ("n3", True, ()),
        ("APP > ORDERS", True, ()),
        ("APP > ORDERS", False, ("1",)),
        ("APP > RING", False, ()),
    ]


def test_a_change_that_cannot_be_taken_now_is_refused_where_nothing_comes_before_it() -> None:
    evidence, results, _ = outage()
    alone = results[:2]
    drafted = draft(alone, actions(), evidence, configs_of("three-nodes-2.15.1"))
    assert [step.subject.name for step in drafted.steps] == ["RING"]
    assert [(refusal.subject.name, refusal.reason) for refusal in drafted.refused] == [
        ("ORDERS", "its stream has no leader and takes no change now: run again when it has one")
    ]


def test_steps_for_a_person_with_the_same_text_are_one_paragraph() -> None:
    by_hand = [
        step(
            id=str(number),
            action="cluster.inspect_group",
            operation=MANUAL,
            risk=Risk.MANUAL,
            subject=Subject(kind="stream", name=name),
            changes=(),
            commands=("nats stream ls",),
        )
        for number, name in enumerate(("A", "B", "C"), 1)
    ]
    plan = Plan(version="0", created=datetime(2026, 11, 22, tzinfo=UTC), steps=tuple(by_hand))
    text = render_plan(plan, RenderOptions(width=100))
    assert "1-3. manual A, B, C · cluster.inspect_group" in text
    assert text.count("nats stream ls") == 1
