"""`jsdoctor fix`, end to end: the plan; with --apply its steps, each journalled, proved, and taken back if it fails."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from jsdoctor.app.connection import resolve_only_login
from jsdoctor.app.fix.evidence import FixCollector, examiner
from jsdoctor.app.fix.live_api import LiveApi
from jsdoctor.app.fix.plan import make_plan
from jsdoctor.app.fix.request import FixRequest, allowed_up_to, check_options, read_plan
from jsdoctor.app.judging import open_judging
from jsdoctor.app.outputs import PlanFormat
from jsdoctor.cli.console import MESSAGES, progress, say
from jsdoctor.cli.fix.output import outcomes_in, plan_in, render_options
from jsdoctor.cli.output import write_output
from jsdoctor.collect.connect.connection import connect
from jsdoctor.collect.problems import Problem, UsageProblem
from jsdoctor.engine.verdict import ExitCode
from jsdoctor.model.plan import Plan, Step
from jsdoctor.model.rule import Risk
from jsdoctor.model.wording import counted
from jsdoctor.remedy.apply import Applier
from jsdoctor.remedy.journal import Journal, JournalError, require_locks
from jsdoctor.remedy.operation import DeniedError, NoResponseError
from jsdoctor.remedy.outcome import Ending, StepOutcome, any_bad
from jsdoctor.remedy.registry import load_operations


def run_fix(request: FixRequest) -> ExitCode:
    """Plan, and on request carry it out. Raises the problems that `cli.errors` can say."""
    check_options(request)
    if request.apply or request.resume:
        _require_locks()
    judging = open_judging(request.judge)
    settings = resolve_only_login(request.wanted.connection, judging.config)
    look = FixCollector(judging, request.wanted, settings, judging.values, lambda _: None)
    if request.resume:
        return _resume(request, look)
    if request.plan:
        plan = read_plan(request.plan)
    else:
        with progress(request.judge.quiet) as show:
            plan = make_plan(request, replace(look, show=show), MESSAGES)
    _show_plan(request, plan)
    if not request.apply:
        return ExitCode.OK
    steps, allowed = _wanted(request, plan.steps), allowed_up_to(request.allow)
    if not any(step.risk in allowed for step in steps):
        say("there is nothing to apply", _why_nothing(steps))
        if request.format is PlanFormat.JSON:
            _show_outcomes(
                request, [StepOutcome(step, Ending.MANUAL if step.is_manual else Ending.NOT_ALLOWED) for step in steps]
            )
        return ExitCode.OK
    confirm(f"apply {counted(sum(step.risk in allowed for step in steps), 'step')}", request.yes)
    path = request.journal or Path(f"jsdoctor-fix-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.jsonl")
    request = replace(request, journal=path)
    # What is resumed later is what was asked for now.
    plan = msgspec.structs.replace(plan, steps=steps)
    return _carry_out(request, look, lambda: Journal.create(path, plan, tuple(risk.value for risk in allowed)), path)


def _require_locks() -> None:
    """Before anything is asked of a deployment or of the user."""
    try:
        require_locks()
    except JournalError as error:
        raise UsageProblem(error.message, error.hint) from None


def _resume(request: FixRequest, look: FixCollector) -> ExitCode:
    path = request.journal or Path()
    confirm(f"go on with {path}", request.yes)
    return _carry_out(request, look, lambda: Journal.reopen(path), path)


def _carry_out(request: FixRequest, look: FixCollector, opened: Callable[[], Journal], path: Path) -> ExitCode:
    try:
        journal = opened()
    except JournalError as error:
        raise UsageProblem(error.message, error.hint) from None
    go_on = f"go on: jsdoctor fix --resume --journal {path}; or undo: jsdoctor rollback {path}"
    try:
        plan = journal.plan
        allowed = tuple(Risk(risk) for risk in journal.allowed) if request.resume else allowed_up_to(request.allow)
        if request.resume and request.allow:
            allowed = allowed_up_to(request.allow)
        look = replace(look, values={**plan.parameters, **look.values})
        outcomes = asyncio.run(_apply(request, look, journal, allowed))
        changed = any(journal.past(step).may_have_written for step in plan.steps)
    except JournalError as error:
        raise Problem(error.message, error.hint) from None
    except NoResponseError as error:
        raise Problem(f"stopped: {error}", go_on) from None
    except DeniedError as error:
        raise Problem(f"stopped: {error}", go_on) from None
    except Problem as problem:
        raise type(problem)(problem.message, f"{problem.hint}\n{go_on}") from None
    except KeyboardInterrupt:
        say("what was begun is in the journal", go_on)
        raise
    finally:
        journal.close()
    _show_outcomes(request, outcomes)
    if not request.judge.quiet:
        say(
            f"journal: {path}",
            f"jsdoctor rollback {path} takes it back" if changed else "nothing is left changed by it",
        )
    return exit_code_of(outcomes)


async def _apply(
    request: FixRequest, look: FixCollector, journal: Journal, allowed: tuple[Risk, ...]
) -> list[StepOutcome]:
    async with connect(look.settings) as connection:
        api = LiveApi(connection, look.settings.js_api_prefix, look.settings.timeout_s)
        applier = Applier(
            journal,
            load_operations(),
            api,
            examine=examiner(look, connection),
            accounts=await api.accounts(),
            say=(lambda _: None) if request.judge.quiet else say,
        )
        return await applier.all(_wanted(request, journal.plan.steps), allowed)


def _wanted(request: FixRequest, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps that `--step` names, or all, with the `--patience` that was given.

    Raises UsageProblem for one that there is not.
    """
    known = {step.id for step in steps}
    if unknown := [name for name in request.steps if name not in known]:
        raise UsageProblem(f"the plan has no step {', '.join(unknown)}", f"its steps are {', '.join(known) or 'none'}")
    wanted = (step for step in steps if not request.steps or step.id in request.steps)
    if request.patience_s is None:
        return tuple(wanted)
    return tuple(msgspec.structs.replace(step, patience_s=math.ceil(request.patience_s)) for step in wanted)


def confirm(what: str, yes: bool) -> None:
    """Ask on a terminal; elsewhere `--yes` has to say it. Raises UsageProblem when the answer is not yes."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageProblem(f"to {what} without a terminal to ask at, it has to be said", "add --yes")
    sys.stderr.write(f"{what}? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageProblem("nothing was changed", "answer y to go on")


def exit_code_of(outcomes: list[StepOutcome]) -> ExitCode:
    """1: something failed, was refused or taken back. 3: done and not proved. 0: all else."""
    if any_bad(outcomes):
        return ExitCode.FINDINGS
    if any(outcome.ending is Ending.UNPROVED for outcome in outcomes):
        return ExitCode.INCONCLUSIVE
    return ExitCode.OK


def _show_plan(request: FixRequest, plan: Plan) -> None:
    if request.output is None and request.apply and request.format is PlanFormat.JSON:
        return  # stdout then has one document: how the steps ended
    options = render_options(request.judge.color, request.judge.max_examples)
    write_output(plan_in(plan, request.format, options), request.output)


def _show_outcomes(request: FixRequest, outcomes: list[StepOutcome]) -> None:
    if request.output is None and request.format is not PlanFormat.JSON:
        sys.stdout.write("\n")
    journal = str(request.journal) if request.journal else ""
    options = render_options(request.judge.color, request.judge.max_examples)
    write_output(outcomes_in(outcomes, request.format, options, journal), None)


def _why_nothing(steps: tuple[Step, ...]) -> str:
    more = [risk.value for risk in (Risk.DISRUPTIVE, Risk.DESTRUCTIVE) if any(step.risk is risk for step in steps)]
    if more:
        return f"the steps are {' and '.join(more)}: --allow {more[-1]}"
    return "what there is, is for a person" if steps else ""
