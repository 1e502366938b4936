"""`jsdoctor rollback JOURNAL`: what a fix has changed is put back, last step first."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from jsdoctor.app.configuration import load_configuration
from jsdoctor.app.connection import resolve_only_login
from jsdoctor.app.fix.live_api import LiveApi
from jsdoctor.app.outputs import Color, PlanFormat
from jsdoctor.cli.console import say
from jsdoctor.cli.fix.output import outcomes_in, render_options
from jsdoctor.cli.fix.run import confirm, exit_code_of
from jsdoctor.collect.connect.connection import connect
from jsdoctor.collect.connect.settings import ConnectionOptions, ConnectionSettings
from jsdoctor.collect.problems import Problem, UsageProblem
from jsdoctor.engine.verdict import ExitCode
from jsdoctor.model.wording import counted
from jsdoctor.remedy.journal import Journal, JournalError
from jsdoctor.remedy.operation import DeniedError, NoResponseError
from jsdoctor.remedy.outcome import StepOutcome
from jsdoctor.remedy.registry import load_operations
from jsdoctor.remedy.undo import Undoer


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRequest:
    """What the command line asked for."""

    journal: Path
    connection: ConnectionOptions
    yes: bool = False
    format: PlanFormat = PlanFormat.TEXT
    quiet: bool = False
    color: Color = Color.AUTO
    config: Path | None = None
    isolated: bool = False
    environment: str = ""


def run_rollback(request: RollbackRequest) -> ExitCode:
    """Put back what a journal tells of. Raises the problems that `cli.errors` can say."""
    settings = resolve_only_login(
        request.connection, load_configuration(request.config, request.isolated, request.environment)
    )
    try:
        journal = Journal.reopen(request.journal)
    except JournalError as error:
        raise UsageProblem(error.message, error.hint) from None
    again = f"again: jsdoctor rollback {request.journal}"
    try:
        begun = [step for step in journal.plan.steps if journal.past(step).may_have_written]
        if not begun:
            say("there is nothing to take back", "no step of this journal was begun, or all were taken back before")
            return ExitCode.OK
        confirm(f"take back {counted(len(begun), 'step')}", request.yes)
        show = (lambda _: None) if request.quiet else say
        outcomes = asyncio.run(_undo(settings, journal, show))
    except JournalError as error:
        raise Problem(error.message, error.hint) from None
    except (NoResponseError, DeniedError) as error:
        raise Problem(f"stopped: {error}", again) from None
    finally:
        journal.close()
    options = render_options(request.color)
    sys.stdout.write(outcomes_in(outcomes, request.format, options, str(request.journal)))
    return exit_code_of(outcomes)


async def _undo(settings: ConnectionSettings, journal: Journal, show: Callable[[str], None]) -> list[StepOutcome]:
    operations = load_operations()
    async with connect(settings) as connection:
        api = LiveApi(connection, settings.js_api_prefix, settings.timeout_s)
        ours = await api.accounts()
        accounts = {s.subject.account for s in journal.plan.steps if journal.past(s).may_have_written} - {""}
        if ours and (foreign := sorted(accounts - ours)):
            raise UsageProblem(
                f"the journal is of account {', '.join(foreign)}, this login of {', '.join(sorted(ours))}",
                "give a login of the account that owns the streams",
            )
        return await Undoer(journal, operations, api, show).all(journal.plan.steps)
