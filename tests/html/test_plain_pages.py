"""Plans and comparisons as HTML: well formed, self-contained, and text from servers stays text."""

from datetime import UTC, datetime

import pytest

from jsdoctor.engine.comparison import compare
from jsdoctor.model.finding import Outcome, Severity, Subject
from jsdoctor.model.plan import AssetLoss, Change, Plan, Precondition, Step, StepProof, UnplannedFinding
from jsdoctor.model.rule import Risk
from jsdoctor.model.saved_report import SavedReport, SavedResult, SavedRule, SavedSource
from jsdoctor.render.html.documents import comparison_html, render_plan_html
from jsdoctor.render.options import RenderOptions
from tests.html.outline import Outline, assert_self_contained
from tests.html.pages import HOSTILE

AT = datetime(2026, 11, 1, tzinfo=UTC)
NASTY = Subject(kind="stream", name=HOSTILE, account=HOSTILE)


def saved(severity: Severity, outcome: Outcome, *names: str) -> SavedReport:
    subjects = [Subject(kind="stream", name=name) for name in names]
    results = [SavedResult("JSD603", Outcome.FAIL, severity, s, HOSTILE, s.name, 3, "count") for s in subjects]
    return SavedReport(
        "x", AT, AT, (SavedSource("live", HOSTILE),), tuple(results), (SavedRule("JSD603", outcome),), (), HOSTILE
    )


def comparison(ascii_only: bool) -> str:
    earlier = saved(Severity.ERROR, Outcome.PASS, "gone", "better")
    later = saved(Severity.WARNING, Outcome.PASS, "better", HOSTILE)
    return comparison_html(compare(earlier, later), RenderOptions(ascii_only=ascii_only))


def plan(ascii_only: bool) -> str:
    step = Step(
        id="1",
        action="stream.raise_limits",
        operation="stream.update",
        subject=NASTY,
        risk=Risk.DESTRUCTIVE,
        effect=HOSTILE,
        findings=(HOSTILE,),
        changes=(Change("metadata", None, {HOSTILE: HOSTILE}),),
        preconditions=(Precondition("same", HOSTILE),),
        commands=(f"nats stream edit '{HOSTILE}'",),
        proofs=(StepProof("JSD603", NASTY),),
        losses=(AssetLoss(subject=NASTY, messages=3),),
        inverse=HOSTILE,
    )
    refused = (UnplannedFinding("JSD603", NASTY, HOSTILE),)
    made = Plan(version="1", created=AT, steps=(step,), refused=refused, headline=HOSTILE)
    return render_plan_html(made, RenderOptions(ascii_only=ascii_only), f" --context '{HOSTILE}'")


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("make", [comparison, plan])
def test_hostile_text_stays_text(make, ascii_only: bool) -> None:  # type: ignore[no-untyped-def]
    text = make(ascii_only)
    page = Outline(text)
    assert_self_contained(page)
    assert len([tag for tag, _ in page.elements if tag == "script"]) == 2
    assert not [character for character in text if not character.isprintable() and character != "\n"]
    shown = "".join(data for within, data in page.texts if within not in ("script", "style"))
    assert "</script><script>alert(1)</script><img src=x onerror=alert(2)>\\u202egnp.exe" in shown


def test_a_comparison_has_a_table_for_each_difference() -> None:
    page = Outline(comparison(ascii_only=False))
    sections = [attributes["id"] for tag, attributes in page.elements if tag == "section"]
    assert sections == ["verdict", "new", "better", "gone"]


def test_a_plan_shows_what_a_step_changes_and_gives_up() -> None:
    shown = "".join(data for _, data in Outline(plan(ascii_only=False)).texts)
    for words in ("(not set)", "Loses", "3 messages", "no longer fails on", "way back", "Not planned"):
        assert words in shown
