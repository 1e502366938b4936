"""Moves a consumer by deleting it and creating it again with another start, for servers that cannot reset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import Change, Json, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.parse.raw_configs import is_withheld
from jsdoctor.remedy.families.position.place import (
    NO_PUSH_CLIENT,
    RESETS,
    RESETTABLE,
    PositionChange,
    acknowledged,
    first_wanted,
    reset_request,
    seen_place,
)
from jsdoctor.remedy.family import command
from jsdoctor.remedy.operation import JournalNote, Standing, StepContext, StepRefusedError
from jsdoctor.remedy.planning import CannotPlanError, Target
from jsdoctor.remedy.preconditions import LED
from jsdoctor.remedy.replies import changed, differences, same_moment, told

_DELETING, _PUTTING_BACK = "deleting", "putting back"
_STARTS = ("deliver_policy", "opt_start_seq", "opt_start_time")


class Recreate(PositionChange):
    """CONSUMER.DELETE, then CONSUMER.CREATE with the same configuration and another place to start."""

    name: ClassVar[str] = "consumer.recreate"
    recreates: ClassVar[bool] = True

    def requests(self, step: Step, state: Json) -> tuple[Request, ...]:
        """CONSUMER.DELETE, then CONSUMER.CREATE."""
        return _deletion(step.subject), _creation(step.subject, changed(state["config"], step.changes))

    def commands(self, step: Step) -> tuple[str, ...]:
        """The same with the CLI, from a file."""
        return commands(step.subject, step.values)

    def interrupted(self, step: Step, before: Json, state: Json, notes: Sequence[JournalNote]) -> tuple[Standing, str]:
        """If this step deleted the consumer, create it again."""
        if not any(note.kind == _DELETING for note in notes):
            return self.standing(step, state)
        if state.get("missing") or same_moment(str(before["created"]), str(state["created"])):
            return Standing.AS_PLANNED, ""
        return Standing.DONE, "an earlier run has recreated it"

    async def write(self, run: StepContext, before: Json) -> Json:
        """Its configuration is in the journal before it is deleted."""
        step = run.step
        state = await self.read_state(step, run.api)
        if not state.get("missing"):
            if not same_moment(str(before["created"]), str(state["created"])):
                return {}
            _require_whole(before)
            run.note(_DELETING, {"created": before.get("created")})
            await run.send((_deletion(step.subject),))
        return await _create(run, changed(before["config"], step.changes))

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """Wait for a consumer that was created later."""
        del step
        made = not state.get("missing") and not same_moment(str(before["created"]), str(state["created"]))
        return "" if made else "the consumer was not recreated yet"

    def broken(self, step: Step, before: Json, state: Json) -> str:
        """A key other than its start that differs from before."""
        if self.awaited(step, before, state):
            return ""
        more = [c for c in differences(before["config"], state["config"]) if c.key not in _STARTS]
        return f"it is not made as it was: {told(more)}" if more else ""

    def replaced(self, step: Step, base: Json, state: Json, notes: tuple[JournalNote, ...]) -> str:
        """After the deletion, the present consumer is ours."""
        return "" if notes else super().replaced(step, base, state, notes)

    async def undo(self, run: StepContext, before: Json) -> None:
        """Restore the former consumer at its ack floor.

        Servers since 2.14 create it with its former configuration and reset it. Older ones can place a consumer only by
        its configuration: it starts behind what was acknowledged, and `not_undone` reports the difference.
        """
        state = await self.read_state(run.step, run.api)
        if not run.notes:
            return
        resets = self._can_reset(run, before)
        if not state.get("missing"):
            left = self.not_undone(run.step, before, state)
            begun = [note for note in run.notes if note.kind == _PUTTING_BACK]
            if not left or (begun and not resets):
                return
            if not begun and (reason := self.gone_on(run.step, before, state)):
                raise StepRefusedError(reason)
            if not resets:
                raise StepRefusedError(f"servers before 2.14 cannot put a consumer back at its place: {left}")
            _require_whole(before)
            run.note(_PUTTING_BACK, {})
            if differences(before["config"], state["config"]):
                await run.send((_deletion(run.step.subject),))
            else:
                await run.send((reset_request(run.step.subject, acknowledged(before) + 1),))
                return
        place = min(acknowledged(before), state["last_seq"]) + 1
        run.note(_PUTTING_BACK, {"seq": place})
        if not resets:
            await _create(run, changed(before["config"], _starting_at(before["config"], place)))
            return
        await _create(run, before["config"])
        if self.not_undone(run.step, before, await self.read_state(run.step, run.api)):
            await run.send((reset_request(run.step.subject, place),))

    @staticmethod
    def _can_reset(run: StepContext, before: Json) -> bool:
        """Whether the former configuration is possible at the former position."""
        config = before["config"]
        reset = run.api.server_version >= RESETS and config.get("deliver_policy", "all") in RESETTABLE
        return reset and acknowledged(before) + 1 >= int(config.get("opt_start_seq") or 0)


def _deletion(subject: Subject) -> Request:
    return Request(f"CONSUMER.DELETE.{subject.stream}.{subject.name}")


def _creation(subject: Subject, config: Json) -> Request:
    body = {"stream_name": subject.stream, "config": config}
    return Request(f"CONSUMER.CREATE.{subject.stream}.{subject.name}", body)


def _require_whole(before: Json) -> None:
    """Raise an error rather than delete what could not be created again as it was."""
    if is_withheld(before["config"]):
        raise StepRefusedError("its description and metadata are in the journal's .private file, which is not there")


async def _create(run: StepContext, config: Json) -> Json:
    _require_whole({"config": config})
    return await run.send((_creation(run.step.subject, config),))


def _starting_at(config: Json, seq: int) -> tuple[Change, ...]:
    """What to change of a configuration so that the consumer begins there."""
    wanted = {"deliver_policy": "by_start_sequence", "opt_start_seq": seq, "opt_start_time": None}
    return tuple(Change(key, config.get(key), after) for key, after in wanted.items() if config.get(key) != after)


def commands(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """The file is the `config` of what the first command shows, with the start that the step names."""
    del values
    return (
        command("nats", "consumer", "info", subject.stream, subject.name, "--json"),
        command("nats", "consumer", "rm", subject.stream, subject.name, "-f"),
        command("nats", "consumer", "add", subject.stream, subject.name, f"--config={subject.name}.json"),
    )


def plan(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """On servers that cannot reset. Messages in flight come once more; nothing that was not acknowledged is skipped."""
    subject, config = target.subject, target.config
    if not config or target.stream is None:
        raise CannotPlanError("its configuration was not seen")
    retention = target.stream.config.retention
    if retention == "interest":
        raise CannotPlanError("its stream deletes what only this consumer waits for as soon as the consumer is deleted")
    if not config.get("durable_name"):
        raise CannotPlanError("it is not durable: its application recreates it by itself")
    # A work queue takes no consumer that starts elsewhere than at the beginning; what was acknowledged is gone there.
    changes = (
        () if retention == "workqueue" else _starting_at(config, first_wanted(target, values, default=_unacknowledged))
    )
    step = Step(
        action="consumer.recreate",
        operation="consumer.recreate",
        subject=subject,
        risk=Risk.DISRUPTIVE,
        effect=(
            f"the consumer is deleted and made again {_told(changes)}; pull clients that wait receive"
            " `Consumer Deleted`, and what was delivered and not acknowledged comes once more"
        ),
        changes=changes,
        values={"seq": _start(changes)},
        base=seen_place(target),
        preconditions=(LED, NO_PUSH_CLIENT),
        inverse="the former configuration at the first message that was not acknowledged; before 2.14 only near to it",
    )
    return (step,)


def _unacknowledged(target: Target) -> int:
    """The first message that was not acknowledged, where the stream still goes as far."""
    if target.consumer is None or target.stream is None:
        raise CannotPlanError("the consumer was not seen")
    place = target.consumer.ack_floor.stream_seq + 1
    if place > target.stream.state.last_seq + 1:
        raise CannotPlanError("it stands past the end of its stream: say with seq which message it shall get first")
    return max(place, 1)


def _start(changes: tuple[Change, ...]) -> int:
    return next((int(change.after) for change in changes if change.key == "opt_start_seq"), 0)


def _told(changes: tuple[Change, ...]) -> str:
    return f"before message {_start(changes)}" if changes else "at the beginning of the queue"
