"""Carrying out a fix and taking it back: the connection, the journal, and how the steps ended."""

from __future__ import annotations

import asyncio
import math
import shlex
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from jsdoctor.app.configuration import load_configuration
from jsdoctor.app.connection import flags_of, resolve_logins
from jsdoctor.app.fix.evidence import FixCollector, connected, examiner
from jsdoctor.app.fix.live_api import LiveApi
from jsdoctor.app.fix.request import FixRequest, RollbackRequest, allowed_up_to
from jsdoctor.app.judging import open_judging
from jsdoctor.collect.connect.connection import Connection
from jsdoctor.collect.connect.settings import ConnectionSettings
from jsdoctor.collect.problems import Problem, UsageProblem
from jsdoctor.engine.verdict import ExitCode
from jsdoctor.model.logins import CommandLogin, Logins
from jsdoctor.model.plan import Plan, Step
from jsdoctor.model.rule import Risk
from jsdoctor.model.wording import counted
from jsdoctor.remedy.apply import Applier
from jsdoctor.remedy.journal import Journal, JournalError, require_locks
from jsdoctor.remedy.operation import DeniedError, NoResponseError, StepApis
from jsdoctor.remedy.outcome import Ending, StepOutcome, any_bad
from jsdoctor.remedy.registry import load_operations
from jsdoctor.remedy.undo import Undoer

Confirm = Callable[[str], None]
"""Takes a description of the change. Raises UsageProblem if the user does not agree."""


@dataclass(frozen=True, slots=True)
class FixOutcome:
    """How the steps of a journal ended. `changed`: something may have been written, which `rollback` takes back."""

    outcomes: tuple[StepOutcome, ...]
    journal: Path
    changed: bool = True
    rollback: str = ""

    @property
    def exit_code(self) -> ExitCode:
        """1: something failed, was refused or taken back. 3: done and not proved. 0: all else."""
        if any_bad(self.outcomes):
            return ExitCode.FINDINGS
        if any(outcome.ending is Ending.UNPROVED for outcome in self.outcomes):
            return ExitCode.INCONCLUSIVE
        return ExitCode.OK


def fix_collector(request: FixRequest) -> FixCollector:
    """The collector of this run. Raises Problem, before anything is requested from the deployment."""
    if request.writes:
        try:
            require_locks()
        except JournalError as error:
            raise UsageProblem(error.message, error.hint) from None
    judging = open_judging(request.judge)
    logins = resolve_logins(request.wanted.connection, judging.config)
    return FixCollector(judging, request.wanted, logins, judging.values, lambda _: None)


def new_journal(moment: datetime | None = None) -> Path:
    """The path of the journal of a fix if the user names none."""
    return Path(f"jsdoctor-fix-{moment or datetime.now(UTC):%Y%m%dT%H%M%SZ}.jsonl")


def wanted_steps(request: FixRequest, steps: tuple[Step, ...]) -> tuple[Step, ...]:
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


def not_taken(steps: tuple[Step, ...]) -> tuple[StepOutcome, ...]:
    """The outcomes of steps of which none is allowed."""
    return tuple(StepOutcome(step, Ending.MANUAL if step.is_manual else Ending.NOT_ALLOWED) for step in steps)


def apply_plan(
    request: FixRequest, collector: FixCollector, plan: Plan, path: Path, say: Callable[[str], None]
) -> FixOutcome:
    """Carry out all steps of the plan that are allowed, with a new journal. Raises Problem."""
    allowed = allowed_up_to(request.allow)
    return _carry_out(
        request, collector, lambda: Journal.create(path, plan, tuple(risk.value for risk in allowed)), path, say
    )


def resume_fix(request: FixRequest, collector: FixCollector, path: Path, say: Callable[[str], None]) -> FixOutcome:
    """Continue with a journal. Raises Problem."""
    return _carry_out(request, collector, lambda: Journal.reopen(path), path, say)


def _carry_out(
    request: FixRequest,
    collector: FixCollector,
    opened: Callable[[], Journal],
    path: Path,
    say: Callable[[str], None],
) -> FixOutcome:
    rollback = _rollback(path, collector.logins)
    resume = f"jsdoctor fix{flags_of(collector.logins)} --resume --journal {shlex.quote(str(path))}"
    go_on = f"go on: {resume}; or undo: {rollback}"
    with closing(_open(opened)) as journal:
        try:
            plan = journal.plan
            allowed = allowed_up_to(request.allow)
            if request.resume and not request.allow:
                allowed = tuple(Risk(risk) for risk in journal.allowed)
            collector = replace(collector, values={**plan.parameters, **collector.values})
            outcomes = asyncio.run(_apply(request, collector, journal, allowed, say))
            changed = any(journal.past(step).may_have_written for step in plan.steps)
        except JournalError as error:
            raise Problem(error.message, error.hint) from None
        except (NoResponseError, DeniedError) as error:
            raise Problem(f"stopped: {error}", go_on) from None
        except Problem as problem:
            raise type(problem)(problem.message, f"{problem.hint}\n{go_on}") from None
        except KeyboardInterrupt as interrupt:
            interrupt.add_note(go_on)
            raise
    return FixOutcome(tuple(outcomes), path, changed, rollback)


def _rollback(path: Path, logins: Sequence[ConnectionSettings]) -> str:
    return f"jsdoctor rollback{flags_of(logins)} {shlex.quote(str(path))}"


def _open(opened: Callable[[], Journal]) -> Journal:
    try:
        return opened()
    except JournalError as error:
        raise UsageProblem(error.message, error.hint) from None


async def _apply(
    request: FixRequest,
    collector: FixCollector,
    journal: Journal,
    allowed: tuple[Risk, ...],
    say: Callable[[str], None],
) -> list[StepOutcome]:
    async with connected(collector.logins) as connections:
        apis = await _step_apis(connections, collector.logins)
        examine = examiner(collector, connections)
        applier = Applier(journal, load_operations(), apis, examine=examine, say=say)
        return await applier.all(wanted_steps(request, journal.plan.steps), allowed)


async def _step_apis(connections: Sequence[Connection], logins: Sequence[ConnectionSettings]) -> StepApis:
    """The connections, by the account that servers report for each. An only login gets all that is of no account."""
    apis = tuple(
        LiveApi(connection, login.js_api_prefix, login.timeout_s)
        for connection, login in zip(connections, logins, strict=True)
    )
    known = [
        CommandLogin(login.flags, await api.accounts(), len(apis) > 1 and await api.is_system())
        for api, login in zip(apis, logins, strict=True)
    ]
    return StepApis(Logins(tuple(known)), apis)


def roll_back(request: RollbackRequest, confirm: Confirm, say: Callable[[str], None]) -> FixOutcome | None:
    """Undo the steps of a journal, last step first; None if no step was begun. Raises Problem."""
    logins = resolve_logins(
        request.connection, load_configuration(request.config, request.isolated, request.environment)
    )
    with closing(_open(lambda: Journal.reopen(request.journal))) as journal:
        try:
            begun = [step for step in journal.plan.steps if journal.past(step).may_have_written]
            if not begun:
                return None
            confirm(f"take back {counted(len(begun), 'step')}")
            outcomes = asyncio.run(_undo(logins, journal, say))
        except JournalError as error:
            raise Problem(error.message, error.hint) from None
        except (NoResponseError, DeniedError) as error:
            raise Problem(f"stopped: {error}", f"again: {_rollback(request.journal, logins)}") from None
    return FixOutcome(tuple(outcomes), request.journal)


async def _undo(
    logins: Sequence[ConnectionSettings], journal: Journal, say: Callable[[str], None]
) -> list[StepOutcome]:
    async with connected(logins) as connections:
        apis = await _step_apis(connections, logins)
        begun = [step for step in journal.plan.steps if journal.past(step).may_have_written]
        if foreign := sorted({step.subject.account for step in begun if apis.lacks(step)}):
            ours = sorted({name for login in apis.logins.each for name in login.accounts})
            raise UsageProblem(
                f"the journal is of account {', '.join(foreign)}, this login of {', '.join(ours)}",
                "give a login of the account that owns the streams",
            )
        return await Undoer(journal, load_operations(), apis, say).all(journal.plan.steps)
