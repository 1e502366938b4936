"""The commands `fix` and `rollback` as typer sees them. Work is imported when a command runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from jsdoctor.app.outputs import Color
from jsdoctor.cli import option_groups as groups
from jsdoctor.cli import options as opt
from jsdoctor.cli.fix import options as fix_opt
from jsdoctor.cli.option_groups import Given, takes
from jsdoctor.collect.connect.options import ConnectionOptions, connection_options

if TYPE_CHECKING:
    from jsdoctor.engine.verdict import ExitCode

# A paragraph that begins with a backspace is not wrapped.
FIX_HELP = """Plan fixes for what check finds; with --apply, apply and verify them, and undo those that did not help.

Without --apply nothing is changed. Every write is journalled first, with what was there before.

\b
Examples:
  jsdoctor fix                                   the plan
  jsdoctor fix -o plan.json                      keep it; .md for a change ticket
  jsdoctor fix --apply                           the safe steps, after asking
  jsdoctor fix --plan plan.json --apply --yes --allow disruptive --journal j.jsonl
  jsdoctor fix --resume --journal j.jsonl        after an interruption
  jsdoctor rollback j.jsonl                      put everything back
"""


@takes(*groups.LIVE, groups.rules, fix_opt.looking, groups.configuration)
def fix(
    given: Given,
    apply: fix_opt.Apply = False,
    yes: fix_opt.Yes = False,
    allow: fix_opt.AllowRisk = None,
    journal: fix_opt.JournalFile = None,
    resume: fix_opt.Resume = False,
    plan: fix_opt.PlanFile = None,
    remedy: fix_opt.Remedy = None,
    step: fix_opt.Steps = None,
    patience: fix_opt.PatienceTime = None,
    format_: fix_opt.Format = None,
    output: fix_opt.Output = None,
) -> None:
    """Plan and fix; the help text is FIX_HELP, in which lines are kept as they are."""
    from jsdoctor.cli.errors import guarded
    from jsdoctor.cli.fix.request import fix_request
    from jsdoctor.cli.fix.run import run_fix

    def work() -> ExitCode:
        own = {"apply": apply, "yes": yes, "journal": journal, "resume": resume, "plan": plan, "output": output}
        return run_fix(fix_request(given, own | {"patience_s": patience}, allow, remedy, step, format_))

    raise typer.Exit(guarded(work))


@takes(ConnectionOptions, groups.configuration)
def rollback(
    given: Given,
    journal: fix_opt.RollbackJournal,
    yes: fix_opt.Yes = False,
    format_: fix_opt.Format = None,
    quiet: opt.QuietCapture = False,
    color: opt.ColorChoice = Color.AUTO,
) -> None:
    """Undo what jsdoctor fix changed according to its journal, last step first."""
    from jsdoctor.app.fix.request import RollbackRequest
    from jsdoctor.cli.errors import guarded
    from jsdoctor.cli.fix.rollback import RollbackOutput, run_rollback

    def work() -> ExitCode:
        asked = RollbackRequest(
            journal=journal,
            connection=connection_options(given),
            config=given["config"],
            isolated=given["isolated"],
            environment=given["environment"],
        )
        shown = RollbackOutput(yes=yes, format=fix_opt.plan_format(format_, None), quiet=quiet, color=color)
        return run_rollback(asked, shown)

    raise typer.Exit(guarded(work))
