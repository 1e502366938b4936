"""`jsdoctor rollback JOURNAL`: prompts, shows what is put back, and how it ended."""

from __future__ import annotations

import sys

from jsdoctor.app.fix.request import PlanFormat, RollbackRequest
from jsdoctor.app.fix.run import roll_back
from jsdoctor.cli.console import say
from jsdoctor.cli.fix.confirm import confirm
from jsdoctor.cli.fix.output import outcomes_in, render_options
from jsdoctor.engine.verdict import ExitCode


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
