"""`jsdoctor fix` and `jsdoctor rollback`: the plan, consent before anything is changed, and how each step ended."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from jsdoctor.app.fix.plan import make_plan
from jsdoctor.app.fix.request import FixRequest, PlanFormat, RollbackRequest, allowed_up_to, check_options, read_plan
from jsdoctor.app.fix.run import (
    FixOutcome,
    apply_plan,
    fix_collector,
    new_journal,
    not_taken,
    resume_fix,
    roll_back,
    wanted_steps,
)
from jsdoctor.app.outputs import Color
from jsdoctor.cli.console import MESSAGES, progress, say
from jsdoctor.cli.output import options_for, write_output
from jsdoctor.engine.verdict import ExitCode
from jsdoctor.model.plan import Plan, Step
from jsdoctor.model.problems import UsageProblem
from jsdoctor.model.rule import Risk
from jsdoctor.model.wording import counted
from jsdoctor.redaction.scrubbed import scrubbed
from jsdoctor.remedy.apply import GOOD, Ending, StepOutcome
from jsdoctor.remedy.journal import shareable
from jsdoctor.render.json_text import dumps
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.page import Page
from jsdoctor.render.plan_text import render_plan, render_plan_markdown
from jsdoctor.sources.connection import flags_of


def confirm(what: str, yes: bool) -> None:
    """Prompt on a terminal; elsewhere `--yes` is required. Raises UsageProblem unless the user enters yes."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageProblem(
            f"to {what} without a terminal for the question, confirm it on the command line", "add --yes"
        )
    sys.stderr.write(f"{what}? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageProblem("nothing was changed", "enter y to continue")


OUTCOME_SCHEMA = "jsdoctor.fix/v1"
_STYLES = {Ending.MANUAL: "bold cyan", Ending.NOT_ALLOWED: "bold cyan", Ending.UNPROVED: "bold yellow"}


def plan_in(plan: Plan, wanted: PlanFormat, options: RenderOptions, flags: str) -> str:
    """The plan in a format, without secrets: a plan from a file may hold anything."""
    plan = shareable(plan)
    match wanted:
        case PlanFormat.JSON:
            return plan_json(plan)
        case PlanFormat.MARKDOWN:
            return render_plan_markdown(plan, options)
        case PlanFormat.HTML:
            from jsdoctor.render.html.documents import render_plan_html

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


def run_fix(request: FixRequest) -> ExitCode:
    """Plan, and on request apply the plan. Raises the problems that `cli.errors` reports."""
    check_options(request)
    collector = fix_collector(request)
    show: Callable[[str], None] = (lambda _: None) if request.judge.quiet else say
    if request.resume:
        path = request.journal or Path()
        confirm(f"go on with {path}", request.yes)
        return _carry_out_and_show(request, lambda: resume_fix(request, collector, path, show))
    if request.plan:
        plan = read_plan(request.plan)
    else:
        with progress(request.judge.quiet) as phase:
            plan = make_plan(request, replace(collector, show=phase), MESSAGES)
    _show_plan(request, plan, flags_of(collector.logins))
    if not request.apply:
        return ExitCode.OK
    steps, allowed = wanted_steps(request, plan.steps), allowed_up_to(request.allow)
    if not any(step.risk in allowed for step in steps):
        say("there is nothing to apply", _hint_for_nothing(steps))
        if request.format is PlanFormat.JSON:
            _show_outcomes(request, FixOutcome(not_taken(steps), request.journal or Path()))
        return ExitCode.OK
    confirm(f"apply {counted(sum(step.risk in allowed for step in steps), 'step')}", request.yes)
    # The journal holds only the steps requested now, so --resume continues with these.
    plan, path = msgspec.structs.replace(plan, steps=steps), request.journal or new_journal()
    return _carry_out_and_show(request, lambda: apply_plan(request, collector, plan, path, show))


def _carry_out_and_show(request: FixRequest, carry_out: Callable[[], FixOutcome]) -> ExitCode:
    """Carry out the steps, and show how they ended; after an interruption, how to go on."""
    try:
        done = carry_out()
    except KeyboardInterrupt as interrupt:
        for go_on in getattr(interrupt, "__notes__", ()):
            say("what was begun is in the journal", go_on)
        raise
    _show_outcomes(request, done)
    if not request.judge.quiet:
        back = f"{done.rollback} takes it back" if done.changed else "nothing is left changed by it"
        say(f"journal: {done.journal}", back)
    return done.exit_code


def _show_plan(request: FixRequest, plan: Plan, flags: str) -> None:
    if request.output is None and request.apply and request.format is PlanFormat.JSON:
        return  # stdout then has one document: how the steps ended
    options = render_options(request.judge.color, request.judge.max_examples)
    write_output(plan_in(plan, request.format, options, flags), request.output)


def _show_outcomes(request: FixRequest, done: FixOutcome) -> None:
    if request.output is None and request.format is not PlanFormat.JSON:
        sys.stdout.write("\n")
    journal = "" if done.journal == Path() else str(done.journal)
    options = render_options(request.judge.color, request.judge.max_examples)
    write_output(outcomes_in(done.outcomes, request.format, options, journal), None)


def _hint_for_nothing(steps: tuple[Step, ...]) -> str:
    more = [risk.value for risk in (Risk.DISRUPTIVE, Risk.DESTRUCTIVE) if any(step.risk is risk for step in steps)]
    if more:
        return f"the steps are {' and '.join(more)}: --allow {more[-1]}"
    return "what there is, is for a person" if steps else ""


def run_rollback(request: RollbackRequest) -> ExitCode:
    """Undo the steps of a journal. Raises the problems that `cli.errors` reports."""
    show = (lambda _: None) if request.quiet else say
    done = roll_back(request, lambda what: confirm(what, request.yes), show)
    if done is None:
        say("there is nothing to take back", "no step of this journal was begun, or all were taken back before")
        return ExitCode.OK
    format_, options = request.format or PlanFormat.TEXT, render_options(request.color)
    sys.stdout.write(outcomes_in(done.outcomes, format_, options, str(done.journal)))
    return done.exit_code
