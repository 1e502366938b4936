"""Delivery: pausing and resuming a consumer, and freeing a pinned priority group (nats-server 2.11+)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

import msgspec

from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import Change, Json, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.api import Api
from jsdoctor.remedy.family import Action, Family, command
from jsdoctor.remedy.operation import Operation, Standing, StepContext
from jsdoctor.remedy.planning import CannotPlanError, Target, require_version
from jsdoctor.remedy.preconditions import LED
from jsdoctor.remedy.proof import SERVED

_PAUSES = (2, 11)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_NEVER = "0001-01-01T00:00:00Z"


def _until(state: Json) -> str:
    """Until when the consumer is paused; empty when it is not. A pause that is over stays in the configuration."""
    until = str((state.get("config") or {}).get("pause_until") or "")
    return until if state.get("paused") and until != _NEVER else ""


class Pause(Operation):
    """Pauses until `values["pause_until"]`, or resumes where that is empty. `base` is the consumer's INFO."""

    name: ClassVar[str] = "consumer.pause"

    def requests(self, step: Step, state: Json) -> tuple[Request, ...]:
        """CONSUMER.PAUSE."""
        del state
        return (_request(step.subject, step.values["pause_until"]),)

    def undo_requests(self, step: Step, before: Json, state: Json) -> tuple[Request, ...]:
        """CONSUMER.PAUSE until the moment of before, or none."""
        del state
        return (_request(step.subject, _until(before)),)

    def commands(self, step: Step) -> tuple[str, ...]:
        """A pause; or a look, and the end of the pause."""
        until = step.values["pause_until"]
        return _pause(step.subject, until) if until else _resume(step.subject)

    async def read_state(self, step: Step, api: Api) -> Json:
        """CONSUMER.INFO."""
        return await api.ask(f"CONSUMER.INFO.{step.subject.stream}.{step.subject.name}")

    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """Only the pause counts."""
        now = _until(state)
        if _same(now, step.values["pause_until"]):
            return Standing.DONE, f"it is paused until {now} already" if now else "it is not paused"
        if not _same(now, _until(step.base)):
            return Standing.DRIFTED, f"paused until {now}" if now else "no longer paused"
        return Standing.AS_PLANNED, ""

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """INFO shows it."""
        del before
        shown = _same(_until(state), step.values["pause_until"])
        return "" if shown else "the consumer does not show it yet"

    async def undo(self, run: StepContext, before: Json) -> None:
        """Pause until the same moment again; where that is past, or it is so still, there is nothing to restore."""
        if self.not_undone(run.step, before, await self.read_state(run.step, run.api)):
            await run.send(self.undo_requests(run.step, before, {}))

    def not_undone(self, step: Step, before: Json, state: Json) -> str:
        """The pause of before, unless it would be over by the server's clock."""
        del step
        wanted, now = _until(before), _until(state)
        if _same(wanted, now) or (wanted and not now and _is_past(wanted, state)):
            return ""
        return f"paused until {now or 'never'}, before it was {wanted or 'never'}"


class Unpin(Operation):
    """Frees a priority group from the client that it is pinned to. `values["group"]`; `base` is the consumer's INFO."""

    name: ClassVar[str] = "consumer.unpin"
    reversible: ClassVar[bool] = False

    def requests(self, step: Step, state: Json) -> tuple[Request, ...]:
        """CONSUMER.UNPIN."""
        del state
        group = {"group": step.values["group"]}
        return (Request(f"CONSUMER.UNPIN.{step.subject.stream}.{step.subject.name}", group),)

    def commands(self, step: Step) -> tuple[str, ...]:
        """The same with the CLI."""
        return _unpin(step.subject, step.values["group"])

    async def read_state(self, step: Step, api: Api) -> Json:
        """CONSUMER.INFO."""
        return await api.ask(f"CONSUMER.INFO.{step.subject.stream}.{step.subject.name}")

    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """Another client, or none: there is nothing left to do."""
        group = step.values["group"]
        now, planned = pinned(state, group), pinned(step.base, group)
        if now == planned:
            return Standing.AS_PLANNED, ""
        return Standing.DONE, f"group {group} is pinned to {'another client' if now else 'nobody'} now"

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """The pin of before is gone."""
        group = step.values["group"]
        return "it is still pinned" if pinned(state, group) == pinned(before, group) else ""


def pinned(state: Json, group: str) -> str:
    """Id of the client that a priority group is pinned to; empty when there is none."""
    groups = {g.get("group"): g.get("pinned_client_id") for g in state.get("priority_groups") or ()}
    return str(groups.get(group) or "")


def _moment(text: str) -> datetime | None:
    try:
        return msgspec.convert(text, datetime) if text else None
    except msgspec.ValidationError:
        return None


def _same(first: str, second: str) -> bool:
    return first == second or (_moment(first) is not None and _moment(first) == _moment(second))


def _is_past(until: str, state: Json) -> bool:
    now, then = _moment(str(state.get("ts") or "")), _moment(until)
    return now is not None and then is not None and then <= now


def _request(subject: Subject, until: str) -> Request:
    """A pause until then; without a moment, its end."""
    return Request(f"CONSUMER.PAUSE.{subject.stream}.{subject.name}", {"pause_until": until} if until else {})


def _inspect(subject: Subject) -> str:
    return command("nats", "consumer", "info", subject.stream, subject.name)


def _pause(subject: Subject, until: str) -> tuple[str, ...]:
    """The CLI writes a moment without T and Z."""
    moment = until.replace("T", " ").removesuffix("Z")
    return (command("nats", "consumer", "pause", subject.stream, subject.name, moment, "-f"),)


def _resume(subject: Subject) -> tuple[str, ...]:
    """Somebody paused it: ask why before resuming."""
    return (_inspect(subject), command("nats", "consumer", "resume", subject.stream, subject.name, "-f"))


def _unpin(subject: Subject, group: str) -> tuple[str, ...]:
    return (command("nats", "consumer", "unpin", subject.stream, subject.name, group, "-f"),)


def _offer_pause(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Values: `pause_until`, a moment in UTC such as 2026-11-21T18:00:00Z."""
    until = str(values.get("pause_until") or "")
    return _pause(subject, until) if until else (_inspect(subject),)


def _offer_resume(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    del values
    return _resume(subject)


def _offer_unpin(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Values: `group`, the priority group whose client shall give way."""
    return _unpin(subject, values["group"]) if values.get("group") else (_inspect(subject),)


def _plan_resume(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Delivery goes on at once."""
    del values
    consumer = target.consumer
    if consumer is None or not consumer.paused:
        raise CannotPlanError("it is not paused")
    effect = "delivery goes on at once, with all that waits"
    return (_pause_step(target, "consumer.resume", "", effect, "pause until the same moment again"),)


def _plan_pause(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Delivery stops until a moment."""
    until = str(values.get("pause_until") or "")
    if not until:
        raise CannotPlanError("it needs pause_until, for example pause_until=2026-11-21T18:00:00Z")
    if not _MOMENT.fullmatch(until):
        raise CannotPlanError(f"pause_until={until}: write it in UTC, for example 2026-11-21T18:00:00Z")
    effect = f"nothing is delivered until {until}; messages wait in the stream"
    return (_pause_step(target, "consumer.pause", until, effect, "resume, or the pause of before"),)


def _pause_step(target: Target, name: str, until: str, effect: str, inverse: str) -> Step:
    require_version(target, _PAUSES, "pausing")
    paused = bool(target.consumer and target.consumer.paused)
    before = target.config.get("pause_until") if paused else None
    return Step(
        action=name,
        operation="consumer.pause",
        subject=target.subject,
        risk=Risk.DISRUPTIVE,
        effect=effect,
        changes=(Change("pause_until", before, until or None),),
        values={"pause_until": until},
        base={"config": target.config, "paused": paused},
        preconditions=(LED,),
        inverse=inverse,
    )


def _plan_unpin(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """The client that a priority group is pinned to gives way to another that waits."""
    require_version(target, _PAUSES, "pinned clients")
    groups = target.consumer.priority_groups if target.consumer else ()
    held = [group for group in groups if group.pinned_client_id]
    group = next((g for g in held if g.group == values.get("group", g.group)), None)
    if group is None:
        raise CannotPlanError("no priority group of it is pinned to a client")
    seen = [{"group": g.group, "pinned_client_id": g.pinned_client_id} for g in groups]
    step = Step(
        action="consumer.unpin",
        operation="consumer.unpin",
        subject=target.subject,
        risk=Risk.DISRUPTIVE,
        effect="the client that has the group to itself gives way to another that waits",
        values={"group": group.group},
        base={"priority_groups": seen},
        preconditions=(LED,),
    )
    return (step,)


FAMILY = Family(
    "delivery",
    actions=(
        Action("consumer.pause", Risk.MANUAL, _offer_pause, _plan_pause),
        Action("consumer.resume", Risk.MANUAL, _offer_resume, _plan_resume, SERVED),
        Action("consumer.unpin", Risk.MANUAL, _offer_unpin, _plan_unpin, SERVED),
    ),
    operations=(Pause(), Unpin()),
)
