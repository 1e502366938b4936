"""Where a consumer stands in its stream: reset by the server (2.14+), or made again at another place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from jsdoctor.model.plan import Change, Json, Step
from jsdoctor.remedy.backup.live import same_moment
from jsdoctor.remedy.operation import Api, ApiError, Note, Operation, RefusedError, Run, Standing, register
from jsdoctor.remedy.preconditions import precondition
from jsdoctor.remedy.settings import changed, differences, told

_NOT_FOUND = 10014
_DELETING = "deleting"
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
        """CONSUMER.INFO and `last_seq` of the stream; only `missing` where there is no such consumer."""
        stream, name = step.subject.stream, step.subject.name
        state = (await api.ask(f"STREAM.INFO.{stream}"))["state"]
        try:
            return {**await api.ask(f"CONSUMER.INFO.{stream}.{name}"), "last_seq": state["last_seq"]}
        except ApiError as error:
            if error.err_code == _NOT_FOUND:
                return {"missing": True, "last_seq": state["last_seq"]}
            raise

    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """It must be the same consumer at the same place: what it has done since would be done once more."""
        if state.get("missing"):
            return Standing.DRIFTED, "the consumer is gone"
        if self.is_there(step, state):
            return Standing.DONE, f"it stands before message {step.values['seq']} already"
        if step.base.get("created") and not same_moment(step.base["created"], str(state.get("created"))):
            return Standing.DRIFTED, "the consumer was made anew since the plan was made"
        if config := differences(step.base.get("config") or {}, state.get("config") or {}):
            return Standing.DRIFTED, f"changed since the plan was made: {told(config)}"
        planned, now = _place(step.base), _place(state)
        if planned != now:
            moved = f"from message {planned[0]} to {now[0]}" if planned[0] != now[0] else "meanwhile"
            return Standing.DRIFTED, f"the consumer has moved {moved}: pause it or stop its clients, and plan anew"
        return Standing.AS_PLANNED, ""

    @staticmethod
    def is_there(step: Step, state: Json) -> bool:
        """Whether the message in question is the next one, and nothing before it is open."""
        next_seq = (state.get("delivered") or {}).get("stream_seq", 0) + 1
        return bool(next_seq == step.values["seq"] and not state.get("num_ack_pending"))


class Reset(_Position):
    """CONSUMER.RESET: the configuration stays, numbering begins at one (ADR-60)."""

    name: ClassVar[str] = "consumer.reset"

    async def write(self, run: Run, before: Json) -> Json:
        """One request."""
        del before
        return await self._reset(run, run.step.values["seq"])

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """The numbering has restarted: sequences of stream and consumer lie otherwise than before."""
        if state.get("missing"):
            return "the consumer is gone"
        restarted = _shift(state) != _shift(before) or _place(state)[1] < _place(before)[1]
        return "" if restarted or self.is_there(step, state) else "the consumer has not moved yet"

    async def undo(self, run: Run, before: Json) -> None:
        """Back to what was acknowledged then: nothing is skipped by it, some messages may come once more."""
        place, last = (before.get("ack_floor") or {}).get("stream_seq", 0) + 1, (await self._now(run))["last_seq"]
        if place > last + 1:
            raise RefusedError(f"it stood at message {place - 1}, which the stream does not have")
        await self._reset(run, max(place, 1))

    async def _now(self, run: Run) -> Json:
        return await self.look(run.step, run.api)

    @staticmethod
    async def _reset(run: Run, seq: int) -> Json:
        return await run.api.ask(f"CONSUMER.RESET.{run.step.subject.stream}.{run.step.subject.name}", {"seq": seq})


class Recreate(_Position):
    """CONSUMER.DELETE, then CONSUMER.CREATE with the same configuration and another place to start."""

    name: ClassVar[str] = "consumer.recreate"

    def interrupted(self, step: Step, before: Json, state: Json, notes: Sequence[Note]) -> tuple[Standing, str]:
        """Gone by our own hand: make it again."""
        if not any(note.kind == _DELETING for note in notes):
            return self.standing(step, state)
        if state.get("missing") or same_moment(str(before["created"]), str(state["created"])):
            return Standing.AS_PLANNED, ""
        return Standing.DONE, "an earlier run has made it anew"

    async def write(self, run: Run, before: Json) -> Json:
        """Its configuration is noted before it is deleted."""
        step = run.step
        name = f"{step.subject.stream}.{step.subject.name}"
        state = await self.look(step, run.api)
        if not state.get("missing"):
            if not same_moment(str(before["created"]), str(state["created"])):
                return {}
            run.note(_DELETING, {"config": before["config"]})
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

    async def undo(self, run: Run, before: Json) -> None:
        """Where it is gone it is made again at what was acknowledged. Where it is there, its start stays as it is:
        with the former one it would begin all over.
        """
        state = await self.look(run.step, run.api)
        if state.get("missing"):
            acked = (before.get("ack_floor") or {}).get("stream_seq", 0)
            starts = starting_at(before["config"], min(acked, state["last_seq"]) + 1)
            await _create(run, changed(before["config"], starts))
        elif not same_moment(str(before["created"]), str(state["created"])):
            raise RefusedError(
                "it was made anew and stands where it was told to: with its former deliver policy it would begin again"
            )


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


async def _create(run: Run, config: Json) -> Json:
    stream, name = run.step.subject.stream, run.step.subject.name
    return await run.api.ask(f"CONSUMER.CREATE.{stream}.{name}", {"stream_name": stream, "config": config})


register(Reset())
register(Recreate())
