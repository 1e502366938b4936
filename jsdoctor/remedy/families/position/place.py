"""Where a consumer stands in its stream: what both ways to move it have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import Json, Precondition, Request, Step
from jsdoctor.remedy.api import Api, ApiError
from jsdoctor.remedy.operation import Operation, Standing
from jsdoctor.remedy.planning import CannotPlanError, Target, number
from jsdoctor.remedy.replies import differences, told

_NOT_FOUND = 10014
RESETS = (2, 14)
"""The first release that resets consumers."""
RESETTABLE = ("all", "by_start_sequence", "by_start_time")
NO_PUSH_CLIENT = Precondition("no_push_client", "no client is subscribed to it as a push consumer")


def no_push_client(info: Json, value: Any) -> str:
    """To such a client the restarted numbering is a sequence mismatch (client checkForSequenceMismatch)."""
    del value
    if not info.get("push_bound"):
        return ""
    return "a client is subscribed to this push consumer, and would report a sequence mismatch: stop it first"


class PositionChange(Operation):
    """`step.values["seq"]` is the first message that shall be delivered; `step.base` the consumer's INFO."""

    async def read_state(self, step: Step, api: Api) -> Json:
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
        planned, now = place_of(step.base), place_of(state)
        if planned != now:
            moved = f"from message {planned[0]} to {now[0]}" if planned[0] != now[0] else "meanwhile"
            return Standing.DRIFTED, f"the consumer has moved {moved}: pause it or stop its clients, and plan again"
        return Standing.AS_PLANNED, ""

    def not_undone(self, step: Step, before: Json, state: Json) -> str:
        """Configuration, and up to which message everything is acknowledged."""
        del step
        if state.get("missing"):
            return "the consumer is gone"
        if config := differences(before["config"], state["config"]):
            return told(config)
        was, now = acknowledged(before), acknowledged(state)
        return "" if was == now else f"acknowledged up to message {was:,} -> {now:,}"

    @staticmethod
    def gone_on(step: Step, before: Json, state: Json) -> str:
        """Whether more is acknowledged than before and than the step itself skipped, in words."""
        now = acknowledged(state)
        if now <= max(acknowledged(before), step.values["seq"] - 1):
            return ""
        return f"the consumer has gone on since and acknowledged everything up to message {now:,}"

    @staticmethod
    def is_there(step: Step, state: Json) -> bool:
        """Whether the message in question is the next one, and nothing before it is open."""
        next_seq = (state.get("delivered") or {}).get("stream_seq", 0) + 1
        return bool(next_seq == step.values["seq"] and not state.get("num_ack_pending"))


def acknowledged(info: Json) -> int:
    """Up to which message of the stream everything is acknowledged; what the stream no longer has counts as such."""
    floor = int((info.get("ack_floor") or {}).get("stream_seq", 0))
    return max(floor, int(info.get("first_seq") or 0) - 1)


def place_of(info: Json) -> tuple[int, int]:
    """The last delivered message: its sequence in the stream and of the consumer."""
    delivered = info.get("delivered") or {}
    return int(delivered.get("stream_seq", 0)), int(delivered.get("consumer_seq", 0))


def reset_request(subject: Subject, seq: int) -> Request:
    """CONSUMER.RESET: `seq` is delivered next."""
    return Request(f"CONSUMER.RESET.{subject.stream}.{subject.name}", {"seq": seq})


def first_wanted(target: Target, values: Mapping[str, Any], default: Callable[[Target], int] | None = None) -> int:
    """Value `seq`, or what `default` makes of the target. Raises CannotPlanError."""
    if "seq" not in values and default:
        return default(target)
    seq = number(values, "seq")
    if seq < 1:
        raise CannotPlanError("seq is the first message to be delivered: 1 or more")
    return seq


def seen_place(target: Target) -> Json:
    """What the operation compares with: configuration and position as they were seen."""
    consumer = target.consumer
    if consumer is None:
        raise CannotPlanError("the consumer was not seen")
    pairs = {"delivered": consumer.delivered, "ack_floor": consumer.ack_floor}
    places = {key: {"consumer_seq": pair.consumer_seq, "stream_seq": pair.stream_seq} for key, pair in pairs.items()}
    return {"config": target.config, **places}
