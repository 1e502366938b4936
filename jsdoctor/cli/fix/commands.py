"""The commands `fix` and `rollback` as typer sees them. Work is imported when a command runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jsdoctor.app.fix.request import FixRequest, RollbackRequest
from jsdoctor.app.request import ConfigurationRequest, JudgeRequest, QuietRequest, ReportRequest, RuleRequest
from jsdoctor.cli import option_groups as groups
from jsdoctor.cli.option_groups import Given, OptionsOf, takes
from jsdoctor.cli.requests import wanted_evidence
from jsdoctor.model.option import request_from
from jsdoctor.sources.connect.options import ConnectionOptions, connection_options

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


@takes(
    FixRequest,
    *groups.LIVE,
    RuleRequest,
    OptionsOf(ReportRequest, ("baseline", "max_examples", "color")),
    QuietRequest,
    ConfigurationRequest,
)
def fix(given: Given) -> None:
    """Plan and fix; the help text is FIX_HELP, in which lines are kept as they are."""
    from jsdoctor.cli.errors import guarded
    from jsdoctor.cli.fix.run import run_fix

    def work() -> ExitCode:
        judge = request_from(JudgeRequest, {**given, "output": None, "format": None})
        return run_fix(replace(request_from(FixRequest, given), judge=judge, wanted=wanted_evidence(given)))

    raise typer.Exit(guarded(work))


@takes(RollbackRequest, ConnectionOptions)
def rollback(
    given: Given,
    journal: Annotated[Path, typer.Argument(metavar="JOURNAL", help="What jsdoctor fix --journal wrote.")],
) -> None:
    """Undo what jsdoctor fix changed according to its journal, last step first."""
    from jsdoctor.cli.errors import guarded
    from jsdoctor.cli.fix.run import run_rollback

    def work() -> ExitCode:
        asked = request_from(RollbackRequest, given)
        return run_rollback(replace(asked, journal=journal, connection=connection_options(given)))

    raise typer.Exit(guarded(work))
