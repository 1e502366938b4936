"""What a fix says: the plan in one of its formats, and how each step ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from jsdoctor.app.fix.request import PlanFormat
from jsdoctor.app.outputs import Color
from jsdoctor.cli.output import options_for
from jsdoctor.model.plan import Plan
from jsdoctor.parse.scrubbed import scrubbed
from jsdoctor.remedy.outcome import GOOD, Ending, StepOutcome
from jsdoctor.remedy.shareable import shareable
from jsdoctor.render.json_text import dumps
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.page import Page
from jsdoctor.render.plan_markdown import render_plan_markdown
from jsdoctor.render.plan_text import render_plan

OUTCOME_SCHEMA = "jsdoctor.fix/v1"
_STYLES = {Ending.MANUAL: "bold cyan", Ending.NOT_ALLOWED: "bold cyan", Ending.UNPROVED: "bold yellow"}


def plan_in(plan: Plan, wanted: PlanFormat, options: RenderOptions, flags: str) -> str:
    """The plan in that format, as it may be shown: a plan of a file may come from anywhere."""
    plan = shareable(plan)
    match wanted:
        case PlanFormat.JSON:
            return plan_json(plan)
        case PlanFormat.MARKDOWN:
            return render_plan_markdown(plan, options)
        case PlanFormat.HTML:
            from jsdoctor.render.html.plan import render_plan_html

            return render_plan_html(plan, options, flags)
        case PlanFormat.TEXT:
            return render_plan(plan, options)


def plan_json(plan: Plan) -> str:
    """The plan for machines, and for `--plan`."""
    return dumps(msgspec.to_builtins(plan))


def render_options(color: Color, max_examples: int | None = None) -> RenderOptions:
    """How text for stdout may look."""
    return options_for(None, color, max_examples=20 if max_examples is None else max_examples)


def outcomes_in(outcomes: Sequence[StepOutcome], wanted: PlanFormat, options: RenderOptions, journal: str) -> str:
    """How the steps ended, in that format, without secrets."""
    outcomes = [scrubbed(outcome) for outcome in outcomes]
    if wanted is PlanFormat.JSON:
        return dumps(
            {"schema": OUTCOME_SCHEMA, "journal": journal, "steps": [_document(outcome) for outcome in outcomes]}
        )
    page = Page(options)
    counts: Counter[tuple[str, Ending]] = Counter()
    for outcome in outcomes:
        step, kind = outcome.step, (outcome.step.action, outcome.ending)
        counts[kind] += 1
        if options.max_examples and counts[kind] > options.max_examples and not outcome.is_bad:
            continue
        style = "bold green" if outcome.ending in GOOD else _STYLES.get(outcome.ending, "bold red")
        page.line((f"{step.id}. ", "bold"), (outcome.ending.value, style), f" {step.subject.label} · {step.action}")
        if outcome.failure:
            page.line(f"Failed: {outcome.failure}", indent=3)
        if outcome.text:
            page.line(outcome.text, indent=3)
        for loss in outcome.losses:
            page.line((f"Lost: {loss.text}", "bold red"), indent=3)
            if loss.backup:
                page.line(f"Restore it: --remedy CODE=stream.restore,backup={loss.backup}", indent=5)
    for (action, ending), number in counts.items():
        if options.max_examples and number > options.max_examples:
            page.line(f"{action}: {number:,} {ending.value} in all")
    return page.text()


def _document(outcome: StepOutcome) -> dict[str, object]:
    step = outcome.step
    return {
        "id": step.id,
        "action": step.action,
        "subject": msgspec.to_builtins(step.subject),
        "ending": outcome.ending.value,
        "text": outcome.text,
        "failure": outcome.failure,
        **({"losses": msgspec.to_builtins(outcome.losses)} if outcome.losses else {}),
    }
