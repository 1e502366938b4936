"""Where a consumer stands in its stream: reset by the server (2.14+), or made again at another place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from jsdoctor.model.plan import Change, Json, Step
from jsdoctor.parse.withheld import is_withheld
from jsdoctor.remedy.moment import same_moment
from jsdoctor.remedy.operation import (
    Api,
    ApiError,
    JournalNote,
    Operation,
    Standing,
    StepContext,
    StepRefusedError,
    register,
)
from jsdoctor.remedy.preconditions import precondition
from jsdoctor.remedy.settings import changed, differences, told

_NOT_FOUND = 10014
_DELETING, _PUTTING_BACK = "deleting", "putting back"
_RESETS = (2, 14)
_RESETTABLE = ("all", "by_start_sequence", "by_start_time")
_STARTS = ("deliver_policy", "opt_start_seq", "opt_start_time")


@precondition("no_push_client")
def _no_push_client(info: Json, value: Any) -> str:
    """To such a client the restarted numbering is a sequence mismatch (client checkForSequenceMismatch)."""
    del value
    if not info.get("push_bound"):
        return ""
    return "a client is subscribed to this push consumer, and would report a sequence mismatch: stop it first"


class _Position(Operation):
    """`step.values["seq"]` is the first message that shall be delivered; `step.base` the consumer's INFO."""

    async def look(self, step: Step, api: Api) -> Json:
        """CONSUMER.INFO, and `first_seq` and `last_seq` of the stream; `missing` where there is no such consumer."""
        stream, name = step.subject.stream, step.subject.name
        state = (await api.ask(f"STREAM.INFO.{stream}"))["state"]
        ends = {"first_seq": state["first_seq"], "last_seq": state["last_seq"]}
        try:
            return {**await api.ask(f"CONSUMER.INFO.{stream}.{name}"), **ends}
        except ApiError as error:
            if error.err_code == _NOT_FOUND:
                return {"missing": True, **ends}
            raise

    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """It must be the same consumer at the same place: what it has done since would be done once more."""
        if state.get("missing"):
            return Standing.DRIFTED, "the consumer is gone"
        if self.is_there(step, state):
            return Standing.DONE, f"it stands before message {step.values['seq']} already"
        if config := differences(step.base.get("config") or {}, state.get("config") or {}):
            return Standing.DRIFTED, f"changed since the plan was made: {told(config)}"
        planned, now = _place(step.base), _place(state)
        if planned != now:
            moved = f"from message {planned[0]} to {now[0]}" if planned[0] != now[0] else "meanwhile"
            return Standing.DRIFTED, f"the consumer has moved {moved}: pause it or stop its clients, and plan anew"
        return Standing.AS_PLANNED, ""

    def not_undone(self, step: Step, before: Json, state: Json) -> str:
        """Configuration, and up to which message everything is acknowledged."""
        del step
        if state.get("missing"):
            return "the consumer is gone"
        if config := differences(before["config"], state["config"]):
            return told(config)
        was, now = _acknowledged(before), _acknowledged(state)
        return "" if was == now else f"acknowledged up to message {was:,} -> {now:,}"

    @staticmethod
    def gone_on(step: Step, before: Json, state: Json) -> str:
        """Whether more is acknowledged than before and than the step itself skipped, in words."""
        now = _acknowledged(state)
        if now <= max(_acknowledged(before), step.values["seq"] - 1):
            return ""
        return f"the consumer has gone on since and acknowledged everything up to message {now:,}"

    @staticmethod
    def is_there(step: Step, state: Json) -> bool:
        """Whether the message in question is the next one, and nothing before it is open."""
        next_seq = (state.get("delivered") or {}).get("stream_seq", 0) + 1
        return bool(next_seq == step.values["seq"] and not state.get("num_ack_pending"))


class Reset(_Position):
    """CONSUMER.RESET: the configuration stays, numbering begins at one (ADR-60)."""

    name: ClassVar[str] = "consumer.reset"

    async def write(self, run: StepContext, before: Json) -> Json:
        """One request."""
        del before
        return await _reset(run, run.step.values["seq"])

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """The numbering has restarted: sequences of stream and consumer lie otherwise than before."""
        if state.get("missing"):
            return "the consumer is gone"
        restarted = _shift(state) != _shift(before) or _place(state)[1] < _place(before)[1]
        return "" if restarted or self.is_there(step, state) else "the consumer has not moved yet"

    async def undo(self, run: StepContext, before: Json) -> None:
        """Back to what was acknowledged then: nothing is skipped by it, some messages may come once more."""
        now, place = await self.look(run.step, run.api), _acknowledged(before) + 1
        if not self.not_undone(run.step, before, now):
            return
        if place > now["last_seq"] + 1:
            raise StepRefusedError(f"it stood at message {place - 1}, which the stream does not have")
        if reason := self.gone_on(run.step, before, now):
            raise StepRefusedError(reason)
        await _reset(run, place)


class Recreate(_Position):
    """CONSUMER.DELETE, then CONSUMER.CREATE with the same configuration and another place to start."""

    name: ClassVar[str] = "consumer.recreate"
    recreates: ClassVar[bool] = True

    def interrupted(self, step: Step, before: Json, state: Json, notes: Sequence[JournalNote]) -> tuple[Standing, str]:
        """Gone by our own hand: make it again."""
        if not any(note.kind == _DELETING for note in notes):
            return self.standing(step, state)
        if state.get("missing") or same_moment(str(before["created"]), str(state["created"])):
            return Standing.AS_PLANNED, ""
        return Standing.DONE, "an earlier run has made it anew"

    async def write(self, run: StepContext, before: Json) -> Json:
        """Its configuration is in the journal before it is deleted."""
        step = run.step
        name = f"{step.subject.stream}.{step.subject.name}"
        state = await self.look(step, run.api)
        if not state.get("missing"):
            if not same_moment(str(before["created"]), str(state["created"])):
                return {}
            _require_whole(before)
            run.note(_DELETING, {"created": before.get("created")})
            await run.api.ask(f"CONSUMER.DELETE.{name}")
        return await _create(run, changed(before["config"], step.changes))

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """A consumer that was created later."""
        del step
        made = not state.get("missing") and not same_moment(str(before["created"]), str(state["created"]))
        return "" if made else "the consumer was not made anew yet"

    def broken(self, step: Step, before: Json, state: Json) -> str:
        """Any key beside its start that is not as before."""
        if self.awaited(step, before, state):
            return ""
        more = [c for c in differences(before["config"], state["config"]) if c.key not in _STARTS]
        return f"it is not made as it was: {told(more)}" if more else ""

    def replaced(self, step: Step, base: Json, state: Json, notes: tuple[JournalNote, ...]) -> str:
        """What is there once it was deleted is ours."""
        return "" if notes else super().replaced(step, base, state, notes)

    async def undo(self, run: StepContext, before: Json) -> None:
        """The former consumer, at what was acknowledged.

        Servers since 2.14 create it with its former configuration and reset it. Older ones have no way to place a
        consumer but its configuration: it starts behind what was acknowledged, and `not_undone` tells the difference.
        """
        state = await self.look(run.step, run.api)
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
                await run.api.ask(f"CONSUMER.DELETE.{run.step.subject.stream}.{run.step.subject.name}")
            else:
                await _reset(run, _acknowledged(before) + 1)
                return
        place = min(_acknowledged(before), state["last_seq"]) + 1
        run.note(_PUTTING_BACK, {"seq": place})
        if not resets:
            await _create(run, changed(before["config"], starting_at(before["config"], place)))
            return
        await _create(run, before["config"])
        if self.not_undone(run.step, before, await self.look(run.step, run.api)):
            await _reset(run, place)

    @staticmethod
    def _can_reset(run: StepContext, before: Json) -> bool:
        """Whether the former configuration can be had at the former place."""
        config = before["config"]
        version = run.api.client.connected_server_version
        reset = (version.major, version.minor) >= _RESETS and config.get("deliver_policy", "all") in _RESETTABLE
        return reset and _acknowledged(before) + 1 >= int(config.get("opt_start_seq") or 0)


def _acknowledged(info: Json) -> int:
    """Up to which message of the stream everything is acknowledged; what the stream no longer has counts as such."""
    floor = int((info.get("ack_floor") or {}).get("stream_seq", 0))
    return max(floor, int(info.get("first_seq") or 0) - 1)


async def _reset(run: StepContext, seq: int) -> Json:
    return await run.api.ask(f"CONSUMER.RESET.{run.step.subject.stream}.{run.step.subject.name}", {"seq": seq})


def starting_at(config: Json, seq: int) -> tuple[Change, ...]:
    """What to change of a configuration so that the consumer begins there."""
    wanted = {"deliver_policy": "by_start_sequence", "opt_start_seq": seq, "opt_start_time": None}
    return tuple(Change(key, config.get(key), after) for key, after in wanted.items() if config.get(key) != after)


def _place(info: Json) -> tuple[int, int]:
    delivered = info.get("delivered") or {}
    return int(delivered.get("stream_seq", 0)), int(delivered.get("consumer_seq", 0))


def _shift(info: Json) -> int:
    stream_seq, consumer_seq = _place(info)
    return stream_seq - consumer_seq


def _require_whole(before: Json) -> None:
    """Nothing is deleted that could not be created again as it was."""
    if is_withheld(before["config"]):
        raise StepRefusedError("its description and metadata are in the journal's .private file, which is not there")


async def _create(run: StepContext, config: Json) -> Json:
    _require_whole({"config": config})
    stream, name = run.step.subject.stream, run.step.subject.name
    return await run.api.ask(f"CONSUMER.CREATE.{stream}.{name}", {"stream_name": stream, "config": config})


register(Reset())
register(Recreate())
