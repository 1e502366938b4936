"""Delivery: pausing and resuming a consumer, and freeing a pinned priority group (nats-server 2.11+)."""

from __future__ import annotations

import re
from datetime import datetime

import msgspec

from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import Change, Json, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.operation import (
    Action,
    CannotPlanError,
    Operation,
    Standing,
    StepContext,
    Target,
    Values,
    command,
    path_of,
    require_version,
    shell_commands,
    show_command,
)
from jsdoctor.remedy.proof import SERVED

_PAUSE_VERSION = (2, 11)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_NEVER = "0001-01-01T00:00:00Z"


class _Pausing(Operation):
    """Pauses until `values["pause_until"]`, or resumes where that is empty. `base` is the consumer's INFO."""

    operation = "consumer.pause"
    step_risk = Risk.DISRUPTIVE

    def commands(self, subject: Subject, values: Values) -> tuple[str, ...]:
        """The pause, whose time the CLI takes without T and Z; without one, show the consumer and resume it."""
        if until := str(values.get("pause_until") or ""):
            moment = until.replace("T", " ").removesuffix("Z")
            return (command("nats", "consumer", "pause", subject.stream, subject.name, moment, "-f"),)
        return (*show_command(subject), *shell_commands(subject, "nats consumer resume {stream} {name} -f"))

    def commands_of(self, step: Step) -> tuple[str, ...]:
        return _Pausing.commands(self, step.subject, step.values)

    def pause_step(self, target: Target, until: str, effect: str) -> tuple[Step, ...]:
        """The step. Raises CannotPlanError on older servers."""
        require_version(target, _PAUSE_VERSION, "pausing")
        paused = bool(target.consumer and target.consumer.paused)
        before = target.config.get("pause_until") if paused else None
        step = self.step(
            target,
            effect=effect,
            changes=(Change("pause_until", before, until or None),),
            values={"pause_until": until},
            base={"config": target.config, "paused": paused},
        )
        return (step,)

    def requests(self, step: Step, state: Json) -> tuple[Request, ...]:
        return (_pause_request(step.subject, step.values["pause_until"]),)

    def undo_requests(self, step: Step, before: Json, state: Json) -> tuple[Request, ...]:
        return (_pause_request(step.subject, _paused_until(before)),)

    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """Only the pause counts."""
        now = _paused_until(state)
        if _is_same_moment(now, step.values["pause_until"]):
            return Standing.DONE, f"it is paused until {now} already" if now else "it is not paused"
        if not _is_same_moment(now, _paused_until(step.base)):
            return Standing.DRIFTED, f"paused until {now}" if now else "no longer paused"
        return Standing.AS_PLANNED, ""

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        shown = _is_same_moment(_paused_until(state), step.values["pause_until"])
        return "" if shown else "the consumer does not show it yet"

    async def undo(self, run: StepContext, before: Json) -> None:
        """Pause until the same moment again; where that is past, or it is so still, there is nothing to restore."""
        if self.not_undone(run.step, before, await self.read_state(run.step, run.api)):
            await run.send(self.undo_requests(run.step, before, {}))

    def not_undone(self, step: Step, before: Json, state: Json) -> str:
        """The pause of before, unless it would be over by the server's clock."""
        wanted, now = _paused_until(before), _paused_until(state)
        clock, wanted_until = _moment(str(state.get("ts") or "")), _moment(wanted)
        is_over = not now and clock is not None and wanted_until is not None and wanted_until <= clock
        return (
            ""
            if is_over or _is_same_moment(wanted, now)
            else f"paused until {now or 'never'}, before it was {wanted or 'never'}"
        )


class Pause(_Pausing):
    """Delivery stops until a moment. Values: `pause_until`, in UTC such as 2026-11-21T18:00:00Z."""

    name = "consumer.pause"
    inverse = "resume, or the pause of before"

    def commands(self, subject: Subject, values: Values) -> tuple[str, ...]:
        return super().commands(subject, values) if values.get("pause_until") else show_command(subject)

    def plan(self, target: Target, values: Values) -> tuple[Step, ...]:
        until = str(values.get("pause_until") or "")
        if not until:
            raise CannotPlanError("it needs pause_until, for example pause_until=2026-11-21T18:00:00Z")
        if not _MOMENT.fullmatch(until):
            raise CannotPlanError(f"pause_until={until}: write it in UTC, for example 2026-11-21T18:00:00Z")
        return self.pause_step(target, until, f"nothing is delivered until {until}; messages wait in the stream")


class Resume(_Pausing):
    """Delivery goes on at once."""

    name, improvement = "consumer.resume", SERVED
    inverse = "pause until the same moment again"

    def plan(self, target: Target, values: Values) -> tuple[Step, ...]:
        if target.consumer is None or not target.consumer.paused:
            raise CannotPlanError("it is not paused")
        return self.pause_step(target, "", "delivery goes on at once, with all that waits")


class Unpin(Operation):
    """The client that a priority group, `values["group"]`, is pinned to gives way. `base` is the consumer's INFO."""

    name, improvement = "consumer.unpin", SERVED
    step_risk = Risk.DISRUPTIVE
    effect = "the client that has the group to itself gives way to another that waits"
    reversible = False

    def commands(self, subject: Subject, values: Values) -> tuple[str, ...]:
        group = values.get("group")
        return (
            shell_commands(subject, "nats consumer unpin {stream} {name} {group} -f", group=group)
            if group
            else show_command(subject)
        )

    def plan(self, target: Target, values: Values) -> tuple[Step, ...]:
        require_version(target, _PAUSE_VERSION, "pinned clients")
        groups = target.consumer.priority_groups if target.consumer else ()
        held = [group for group in groups if group.pinned_client_id]
        group = next((g for g in held if g.group == values.get("group", g.group)), None)
        if group is None:
            raise CannotPlanError("no priority group of it is pinned to a client")
        seen = [{"group": g.group, "pinned_client_id": g.pinned_client_id} for g in groups]
        return (self.step(target, values={"group": group.group}, base={"priority_groups": seen}),)

    def requests(self, step: Step, state: Json) -> tuple[Request, ...]:
        return (Request(f"CONSUMER.UNPIN.{path_of(step.subject)}", {"group": step.values["group"]}),)

    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """Another client, or none: there is nothing left to do."""
        group = step.values["group"]
        now, planned = _pinned(state, group), _pinned(step.base, group)
        if now == planned:
            return Standing.AS_PLANNED, ""
        return Standing.DONE, f"group {group} is pinned to {'another client' if now else 'nobody'} now"

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        group = step.values["group"]
        return "it is still pinned" if _pinned(state, group) == _pinned(before, group) else ""


def _pause_request(subject: Subject, until: str) -> Request:
    """A pause until then; without a moment, its end."""
    return Request(f"CONSUMER.PAUSE.{path_of(subject)}", {"pause_until": until} if until else {})


def _paused_until(state: Json) -> str:
    """Until when the consumer is paused; empty when it is not. A pause that is over stays in the configuration."""
    until = str((state.get("config") or {}).get("pause_until") or "")
    return until if state.get("paused") and until != _NEVER else ""


def _pinned(state: Json, group: str) -> str:
    """Id of the client that a priority group is pinned to; empty when there is none."""
    groups = {g.get("group"): g.get("pinned_client_id") for g in state.get("priority_groups") or ()}
    return str(groups.get(group) or "")


def _moment(text: str) -> datetime | None:
    try:
        return msgspec.convert(text, datetime) if text else None
    except msgspec.ValidationError:
        return None


def _is_same_moment(first: str, second: str) -> bool:
    return first == second or (_moment(first) is not None and _moment(first) == _moment(second))


ACTIONS: tuple[Action, ...] = (Pause(), Resume(), Unpin())
