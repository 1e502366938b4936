"""`jsdoctor fix`: the plan for the findings of a check; with --apply it prompts, and shows how each step ended."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec

from jsdoctor.app.fix.plan import make_plan
from jsdoctor.app.fix.request import FixRequest, PlanFormat, allowed_up_to, check_options, read_plan
from jsdoctor.app.fix.run import (
    FixOutcome,
    apply_plan,
    fix_collector,
    new_journal,
    not_taken,
    resume_fix,
    wanted_steps,
)
from jsdoctor.cli.console import MESSAGES, progress, say
from jsdoctor.cli.fix.confirm import confirm
from jsdoctor.cli.fix.output import outcomes_in, plan_in, render_options
from jsdoctor.cli.output import write_output
from jsdoctor.engine.verdict import ExitCode
from jsdoctor.model.plan import Plan, Step
from jsdoctor.model.rule import Risk
from jsdoctor.model.wording import counted
from jsdoctor.sources.connection import flags_of


def run_fix(request: FixRequest) -> ExitCode:
    """Plan, and on request apply the plan. Raises the problems that `cli.errors` reports."""
    check_options(request)
    sample = fix_collector(request)
    show: Callable[[str], None] = (lambda _: None) if request.judge.quiet else say
    if request.resume:
        path = request.journal or Path()
        confirm(f"go on with {path}", request.yes)
        return _done(request, lambda: resume_fix(request, sample, path, show))
    if request.plan:
        plan = read_plan(request.plan)
    else:
        with progress(request.judge.quiet) as phase:
            plan = make_plan(request, replace(sample, show=phase), MESSAGES)
    _show_plan(request, plan, flags_of(sample.logins))
    if not request.apply:
        return ExitCode.OK
    steps, allowed = wanted_steps(request, plan.steps), allowed_up_to(request.allow)
    if not any(step.risk in allowed for step in steps):
        say("there is nothing to apply", _why_nothing(steps))
        if request.format is PlanFormat.JSON:
            _show_outcomes(request, FixOutcome(not_taken(steps), request.journal or Path()))
        return ExitCode.OK
    confirm(f"apply {counted(sum(step.risk in allowed for step in steps), 'step')}", request.yes)
    # The journal holds only the steps requested now, so --resume continues with these.
    plan, path = msgspec.structs.replace(plan, steps=steps), request.journal or new_journal()
    return _done(request, lambda: apply_plan(request, sample, plan, path, show))


def _done(request: FixRequest, carry_out: Callable[[], FixOutcome]) -> ExitCode:
    """Show how it ended; where it is interrupted, how to go on."""
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


def _why_nothing(steps: tuple[Step, ...]) -> str:
    more = [risk.value for risk in (Risk.DISRUPTIVE, Risk.DESTRUCTIVE) if any(step.risk is risk for step in steps)]
    if more:
        return f"the steps are {' and '.join(more)}: --allow {more[-1]}"
    return "what there is, is for a person" if steps else ""
