"""`jsdoctor rollback JOURNAL`: prompts, shows what is put back, and how it ended."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from jsdoctor.app.fix.request import RollbackRequest
from jsdoctor.app.fix.run import roll_back
from jsdoctor.app.outputs import Color, PlanFormat
from jsdoctor.cli.console import say
from jsdoctor.cli.fix.confirm import confirm
from jsdoctor.cli.fix.output import outcomes_in, render_options
from jsdoctor.engine.verdict import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackOutput:
    """How the outcome is shown, and whether to ask first."""

    yes: bool = False
    format: PlanFormat = PlanFormat.TEXT
    quiet: bool = False
    color: Color = Color.AUTO


def run_rollback(request: RollbackRequest, output: RollbackOutput) -> ExitCode:
    """Undo the steps of a journal. Raises the problems that `cli.errors` reports."""
    show = (lambda _: None) if output.quiet else say
    done = roll_back(request, lambda what: confirm(what, output.yes), show)
    if done is None:
        say("there is nothing to take back", "no step of this journal was begun, or all were taken back before")
        return ExitCode.OK
    sys.stdout.write(outcomes_in(done.outcomes, output.format, render_options(output.color), str(done.journal)))
    return done.exit_code
