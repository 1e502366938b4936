"""Pausing, resuming and unpinning consumers (nats-server 2.11+)."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import msgspec

from jsdoctor.model.plan import Json, Step
from jsdoctor.remedy.operation import Api, Operation, Standing, StepContext, register

_NEVER = "0001-01-01T00:00:00Z"


def _until(state: Json) -> str:
    """Until when the consumer is paused; empty when it is not. A pause that is over stays in the configuration."""
    until = str((state.get("config") or {}).get("pause_until") or "")
    return until if state.get("paused") and until != _NEVER else ""


class Pause(Operation):
    """Pauses until `values["pause_until"]`, or resumes where that is empty. `base` is the consumer's INFO."""

    name: ClassVar[str] = "consumer.pause"

    async def look(self, step: Step, api: Api) -> Json:
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

    async def write(self, run: StepContext, before: Json) -> Json:
        """CONSUMER.PAUSE."""
        del before
        return await self._pause(run, run.step.values["pause_until"])

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """INFO shows it."""
        del before
        shown = _same(_until(state), step.values["pause_until"])
        return "" if shown else "the consumer does not show it yet"

    async def undo(self, run: StepContext, before: Json) -> None:
        """Pause until the same moment again; where that is past, or it is so still, there is nothing to restore."""
        if self.not_undone(run.step, before, await self.look(run.step, run.api)):
            await self._pause(run, _until(before))

    def not_undone(self, step: Step, before: Json, state: Json) -> str:
        """The pause of before, unless it would be over by the server's clock."""
        del step
        wanted, now = _until(before), _until(state)
        if _same(wanted, now) or (wanted and not now and _is_past(wanted, state)):
            return ""
        return f"paused until {now or 'never'}, before it was {wanted or 'never'}"

    @staticmethod
    async def _pause(run: StepContext, until: str) -> Json:
        subject = f"CONSUMER.PAUSE.{run.step.subject.stream}.{run.step.subject.name}"
        return await run.api.ask(subject, {"pause_until": until} if until else {})


class Unpin(Operation):
    """Frees a priority group from the client that it is pinned to. `values["group"]`; `base` is the consumer's INFO."""

    name: ClassVar[str] = "consumer.unpin"
    reversible: ClassVar[bool] = False

    async def look(self, step: Step, api: Api) -> Json:
        """CONSUMER.INFO."""
        return await api.ask(f"CONSUMER.INFO.{step.subject.stream}.{step.subject.name}")

    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """Another client, or none: there is nothing left to do."""
        group = step.values["group"]
        now, planned = pinned(state, group), pinned(step.base, group)
        if now == planned:
            return Standing.AS_PLANNED, ""
        return Standing.DONE, f"group {group} is pinned to {'another client' if now else 'nobody'} now"

    async def write(self, run: StepContext, before: Json) -> Json:
        """CONSUMER.UNPIN."""
        del before
        subject = f"CONSUMER.UNPIN.{run.step.subject.stream}.{run.step.subject.name}"
        return await run.api.ask(subject, {"group": run.step.values["group"]})

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


def _same(one: str, other: str) -> bool:
    return one == other or (_moment(one) is not None and _moment(one) == _moment(other))


def _is_past(until: str, state: Json) -> bool:
    now, then = _moment(str(state.get("ts") or "")), _moment(until)
    return now is not None and then is not None and then <= now


register(Pause())
register(Unpin())
