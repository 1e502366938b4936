"""Where a consumer stands in its stream: reset by the server (2.14+), or created again at another place."""

from __future__ import annotations

from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import Change, Json, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.redaction.raw_configs import is_withheld
from jsdoctor.remedy.api import Api, ApiError
from jsdoctor.remedy.operation import (
    Action,
    CannotPlanError,
    JournalNote,
    Operation,
    Standing,
    StepContext,
    StepRefusedError,
    Target,
    Values,
    path_of,
    require_version,
    shell_commands,
    show_command,
    whole_number,
)
from jsdoctor.remedy.preconditions import LED, NO_PUSH_CLIENT
from jsdoctor.remedy.replies import changed, changes_text, differences, same_moment

_NOT_FOUND = 10014
_RESET_VERSION = (2, 14)
"""The first release that resets consumers."""
_RESETTABLE = ("all", "by_start_sequence", "by_start_time")
_DELETING, _PUTTING_BACK = "deleting", "putting back"
_STARTS = ("deliver_policy", "opt_start_seq", "opt_start_time")


class PositionChange(Operation):
    """`step.values["seq"]` is the first message that shall be delivered; `step.base` the consumer's INFO."""

    step_risk = Risk.DISRUPTIVE
    preconditions = (LED, NO_PUSH_CLIENT)

    async def read_state(self, step: Step, api: Api) -> Json:
        """CONSUMER.INFO, and `first_seq` and `last_seq` of the stream; `missing` where there is no such consumer."""
        state = (await api.ask(f"STREAM.INFO.{step.subject.stream}"))["state"]
        ends = {"first_seq": state["first_seq"], "last_seq": state["last_seq"]}
        try:
            return {**await super().read_state(step, api), **ends}
        except ApiError as error:
            if error.err_code == _NOT_FOUND:
                return {"missing": True, **ends}
            raise

    def standing(self, step: Step, state: Json) -> tuple[Standing, str]:
        """Drifted if its configuration or position changed: the step would repeat deliveries made since."""
        if state.get("missing"):
            return Standing.DRIFTED, "the consumer is gone"
        if _is_at_target(step, state):
            return Standing.DONE, f"it stands before message {step.values['seq']} already"
        if config := differences(step.base.get("config") or {}, state.get("config") or {}):
            return Standing.DRIFTED, f"changed since the plan was made: {changes_text(config)}"
        planned, now = _delivered_pair(step.base), _delivered_pair(state)
        if planned != now:
            moved = f"from message {planned[0]} to {now[0]}" if planned[0] != now[0] else "meanwhile"
            return Standing.DRIFTED, f"the consumer has moved {moved}: pause it or stop its clients, and plan again"
        return Standing.AS_PLANNED, ""

    def not_undone(self, step: Step, before: Json, state: Json) -> str:
        """Configuration, and up to which message everything is acknowledged."""
        if state.get("missing"):
            return "the consumer is gone"
        if config := differences(before["config"], state["config"]):
            return changes_text(config)
        was, now = _acknowledged(before), _acknowledged(state)
        return "" if was == now else f"acknowledged up to message {was:,} -> {now:,}"

    @staticmethod
    def require_unused(step: Step, before: Json, state: Json) -> None:
        """Raises StepRefusedError where more is acknowledged than before and than the step itself skipped."""
        now = _acknowledged(state)
        if now > max(_acknowledged(before), step.values["seq"] - 1):
            raise StepRefusedError(f"the consumer has gone on since and acknowledged everything up to message {now:,}")


def _is_at_target(step: Step, state: Json) -> bool:
    """Whether the step's message is delivered next, and no acknowledgement is outstanding."""
    return bool(_delivered_pair(state)[0] + 1 == step.values["seq"] and not state.get("num_ack_pending"))


def _acknowledged(info: Json) -> int:
    """Up to which message of the stream everything is acknowledged; what the stream no longer has counts as such."""
    floor = int((info.get("ack_floor") or {}).get("stream_seq", 0))
    return max(floor, int(info.get("first_seq") or 0) - 1)


def _delivered_pair(info: Json) -> tuple[int, int]:
    """The last delivered message: its sequence in the stream and of the consumer."""
    delivered = info.get("delivered") or {}
    return int(delivered.get("stream_seq", 0)), int(delivered.get("consumer_seq", 0))


def _reset_request(subject: Subject, seq: int) -> Request:
    """CONSUMER.RESET: `seq` is delivered next."""
    return Request(f"CONSUMER.RESET.{path_of(subject)}", {"seq": seq})


def _first_wanted(values: Values) -> int:
    """Value `seq`. Raises CannotPlanError."""
    seq = whole_number(values, "seq")
    if seq < 1:
        raise CannotPlanError("seq is the first message to be delivered: 1 or more")
    return seq


def _base_of(target: Target) -> Json:
    """The step's `base`: configuration and position as they were seen. Raises CannotPlanError if they were not."""
    consumer = target.consumer
    if consumer is None:
        raise CannotPlanError("the consumer was not seen")
    pairs = {"delivered": consumer.delivered, "ack_floor": consumer.ack_floor}
    places = {key: {"consumer_seq": pair.consumer_seq, "stream_seq": pair.stream_seq} for key, pair in pairs.items()}
    return {"config": target.config, **places}


class Reset(PositionChange):
    """CONSUMER.RESET: the configuration stays, numbering begins at one (servers since 2.14, CLI since 0.4; ADR-60)."""

    name = "consumer.reset"
    inverse = "back to the first message that was not acknowledged"

    def commands(self, subject: Subject, values: Values) -> tuple[str, ...]:
        if "seq" not in values:
            return show_command(subject)
        return shell_commands(subject, "nats consumer reset {stream} {name} --sequence={seq} -f", seq=values["seq"])

    def plan(self, target: Target, values: Values) -> tuple[Step, ...]:
        require_version(target, _RESET_VERSION, "resetting a consumer")
        seq = _first_wanted(values)
        config = target.config
        if config.get("deliver_policy", "all") not in _RESETTABLE:
            raise CannotPlanError(f"the server resets no consumer with deliver policy {config.get('deliver_policy')}")
        if seq < int(config.get("opt_start_seq") or 0):
            raise CannotPlanError(
                f"its configuration starts at message {config['opt_start_seq']}: no reset goes before that"
            )
        effect = f"message {seq} and all after it are delivered, even if acknowledged; deliveries count from one"
        return (self.step(target, effect=effect, values={"seq": seq}, base=_base_of(target)),)

    def requests(self, step: Step, state: Json) -> tuple[Request, ...]:
        return (_reset_request(step.subject, step.values["seq"]),)

    def undo_requests(self, step: Step, before: Json, state: Json) -> tuple[Request, ...]:
        return (_reset_request(step.subject, _acknowledged(before) + 1),)

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """Wait until the consumer's numbering has restarted, or it is at the step's message."""
        if state.get("missing"):
            return "the consumer is gone"
        (was, count_before), (now, count) = _delivered_pair(before), _delivered_pair(state)
        restarted = now - count != was - count_before or count < count_before
        return "" if restarted or _is_at_target(step, state) else "the consumer has not moved yet"

    async def undo(self, run: StepContext, before: Json) -> None:
        """Back to what was acknowledged then: nothing is skipped by it, some messages may come once more."""
        now, place = await self.read_state(run.step, run.api), _acknowledged(before) + 1
        if not self.not_undone(run.step, before, now):
            return
        if place > now["last_seq"] + 1:
            raise StepRefusedError(f"it stood at message {place - 1}, which the stream does not have")
        self.require_unused(run.step, before, now)
        await run.send(self.undo_requests(run.step, before, now))


class Recreate(PositionChange):
    """CONSUMER.DELETE, then CONSUMER.CREATE with the same configuration and another place to start.

    For servers that cannot reset. Messages in flight come once more; nothing that was not acknowledged is skipped.
    """

    name = "consumer.recreate"
    inverse = "the former configuration at the first message that was not acknowledged; before 2.14 only near to it"
    recreates = True

    def commands(self, subject: Subject, values: Values) -> tuple[str, ...]:
        """The file is the `config` of what the first command shows, with the start that the step names."""
        return shell_commands(
            subject,
            "nats consumer info {stream} {name} --json",
            "nats consumer rm {stream} {name} -f",
            "nats consumer add {stream} {name} --config={name}.json",
        )

    def plan(self, target: Target, values: Values) -> tuple[Step, ...]:
        config = target.config
        if not config or target.stream is None:
            raise CannotPlanError("its configuration was not seen")
        retention = target.stream.config.retention
        if retention == "interest":
            raise CannotPlanError(
                "its stream deletes what only this consumer waits for as soon as the consumer is deleted"
            )
        if not config.get("durable_name"):
            raise CannotPlanError("it is not durable: its application recreates it by itself")
        changes: tuple[Change, ...] = ()
        # A work queue takes no consumer that starts elsewhere than at the beginning; what was acknowledged is gone.
        if retention != "workqueue":
            changes = _starting_at(config, _first_wanted(values) if "seq" in values else _unacknowledged(target))
        start = next((int(change.after) for change in changes if change.key == "opt_start_seq"), 0)
        where = f"before message {start}" if changes else "at the beginning of the queue"
        again = (
            f"everything from message {start} on, also what was acknowledged," if changes else "what is unacknowledged"
        )
        effect = (
            f"the consumer is deleted and made again {where}; pull clients that wait receive"
            f" `Consumer Deleted`, and {again} comes once more"
        )
        base = _base_of(target)
        return (self.step(target, effect=effect, changes=changes, values={"seq": start}, base=base),)

    def requests(self, step: Step, state: Json) -> tuple[Request, ...]:
        return _deletion_request(step.subject), _creation_request(step.subject, changed(state["config"], step.changes))

    def interrupted(
        self, step: Step, before: Json, state: Json, notes: tuple[JournalNote, ...]
    ) -> tuple[Standing, str]:
        """If this step deleted the consumer, create it again."""
        if not any(note.kind == _DELETING for note in notes):
            return self.standing(step, state)
        if _is_new(before, state):
            return Standing.DONE, "an earlier run has recreated it"
        return Standing.AS_PLANNED, ""

    async def write(self, run: StepContext, before: Json) -> Json:
        """Delete and create; the configuration is in the journal before that."""
        step = run.step
        state = await self.read_state(step, run.api)
        if not state.get("missing"):
            if _is_new(before, state):
                return {}
            _require_whole(before["config"])
            run.note(_DELETING, {"created": before.get("created")})
            await run.send((_deletion_request(step.subject),))
        return await _create(run, changed(before["config"], step.changes))

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        return "" if _is_new(before, state) else "the consumer was not recreated yet"

    def broken(self, step: Step, before: Json, state: Json) -> str:
        """A key other than its start that differs from before."""
        if self.awaited(step, before, state):
            return ""
        more = [c for c in differences(before["config"], state["config"]) if c.key not in _STARTS]
        return f"it is not made as it was: {changes_text(more)}" if more else ""

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
        config = before["config"]
        resets = run.api.server_version >= _RESET_VERSION and config.get("deliver_policy", "all") in _RESETTABLE
        resets = resets and _acknowledged(before) + 1 >= int(config.get("opt_start_seq") or 0)
        if not state.get("missing"):
            left = self.not_undone(run.step, before, state)
            begun = [note for note in run.notes if note.kind == _PUTTING_BACK]
            if not left or (begun and not resets):
                return
            if not begun:
                self.require_unused(run.step, before, state)
            if not resets:
                raise StepRefusedError(f"servers before 2.14 cannot put a consumer back at its place: {left}")
            _require_whole(config)
            run.note(_PUTTING_BACK, {})
            if differences(config, state["config"]):
                await run.send((_deletion_request(run.step.subject),))
            else:
                await run.send((_reset_request(run.step.subject, _acknowledged(before) + 1),))
                return
        place = min(_acknowledged(before), state["last_seq"]) + 1
        run.note(_PUTTING_BACK, {"seq": place})
        if not resets:
            await _create(run, changed(config, _starting_at(config, place)))
            return
        await _create(run, config)
        if self.not_undone(run.step, before, await self.read_state(run.step, run.api)):
            await run.send((_reset_request(run.step.subject, place),))


def _deletion_request(subject: Subject) -> Request:
    return Request(f"CONSUMER.DELETE.{path_of(subject)}")


def _creation_request(subject: Subject, config: Json) -> Request:
    body = {"stream_name": subject.stream, "config": config}
    return Request(f"CONSUMER.CREATE.{path_of(subject)}", body)


def _is_new(before: Json, state: Json) -> bool:
    """Whether the consumer was created later."""
    return not state.get("missing") and not same_moment(str(before["created"]), str(state["created"]))


def _require_whole(config: Json) -> None:
    """Raise StepRefusedError if the configuration lacks texts of users, so that it could not be recreated as it was."""
    if is_withheld(config):
        raise StepRefusedError("its description and metadata are in the journal's .private file, which is not there")


async def _create(run: StepContext, config: Json) -> Json:
    _require_whole(config)
    return await run.send((_creation_request(run.step.subject, config),))


def _starting_at(config: Json, seq: int) -> tuple[Change, ...]:
    """What to change of a configuration so that the consumer begins there."""
    wanted = {"deliver_policy": "by_start_sequence", "opt_start_seq": seq, "opt_start_time": None}
    return tuple(Change(key, config.get(key), after) for key, after in wanted.items() if config.get(key) != after)


def _unacknowledged(target: Target) -> int:
    """The first message that was not acknowledged. Raises CannotPlanError if it is past the end of the stream."""
    if target.consumer is None or target.stream is None:
        raise CannotPlanError("the consumer was not seen")
    place = target.consumer.ack_floor.stream_seq + 1
    if place > target.stream.state.last_seq + 1:
        raise CannotPlanError("it stands past the end of its stream: say with seq which message it shall get first")
    return max(place, 1)


ACTIONS: tuple[Action, ...] = (Reset(), Recreate())
