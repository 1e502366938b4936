"""Moving a consumer with CONSUMER.RESET (servers since 2.14): the configuration stays (ADR-60)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import Json, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.families.position.place import (
    NO_PUSH_CLIENT,
    RESETS,
    RESETTABLE,
    PositionChange,
    acknowledged,
    first_wanted,
    place_of,
    reset_request,
    seen_place,
)
from jsdoctor.remedy.family import command
from jsdoctor.remedy.operation import StepContext, StepRefusedError
from jsdoctor.remedy.planning import CannotPlanError, Target, require_version
from jsdoctor.remedy.preconditions import LED


class Reset(PositionChange):
    """CONSUMER.RESET: the configuration stays, numbering begins at one (ADR-60)."""

    name: ClassVar[str] = "consumer.reset"

    def requests(self, step: Step, state: Json) -> tuple[Request, ...]:
        """CONSUMER.RESET."""
        del state
        return (reset_request(step.subject, step.values["seq"]),)

    def undo_requests(self, step: Step, before: Json, state: Json) -> tuple[Request, ...]:
        """CONSUMER.RESET to the first message that was not acknowledged."""
        del state
        return (reset_request(step.subject, acknowledged(before) + 1),)

    def commands(self, step: Step) -> tuple[str, ...]:
        """The same with the CLI since 0.4."""
        return commands(step.subject, step.values)

    def awaited(self, step: Step, before: Json, state: Json) -> str:
        """The numbering has restarted: sequences of stream and consumer lie otherwise than before."""
        if state.get("missing"):
            return "the consumer is gone"
        restarted = _shift(state) != _shift(before) or place_of(state)[1] < place_of(before)[1]
        return "" if restarted or self.is_there(step, state) else "the consumer has not moved yet"

    async def undo(self, run: StepContext, before: Json) -> None:
        """Back to what was acknowledged then: nothing is skipped by it, some messages may come once more."""
        now, place = await self.read_state(run.step, run.api), acknowledged(before) + 1
        if not self.not_undone(run.step, before, now):
            return
        if place > now["last_seq"] + 1:
            raise StepRefusedError(f"it stood at message {place - 1}, which the stream does not have")
        if reason := self.gone_on(run.step, before, now):
            raise StepRefusedError(reason)
        await run.send(self.undo_requests(run.step, before, now))


def _shift(info: Json) -> int:
    stream_seq, consumer_seq = place_of(info)
    return stream_seq - consumer_seq


def commands(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Values: `seq`, the first message that shall be delivered. Servers since 2.14, CLI since 0.4."""
    if "seq" not in values:
        return (command("nats", "consumer", "info", subject.stream, subject.name),)
    return (command("nats", "consumer", "reset", subject.stream, subject.name, f"--sequence={values['seq']}", "-f"),)


def plan(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """The server's own way, which keeps the configuration."""
    require_version(target, RESETS, "resetting a consumer")
    seq = first_wanted(target, values)
    config = target.config
    if config.get("deliver_policy", "all") not in RESETTABLE:
        raise CannotPlanError(f"the server resets no consumer with deliver policy {config.get('deliver_policy')}")
    if seq < int(config.get("opt_start_seq") or 0):
        raise CannotPlanError(
            f"its configuration starts at message {config['opt_start_seq']}: no reset goes before that"
        )
    step = Step(
        action="consumer.reset",
        operation="consumer.reset",
        subject=target.subject,
        risk=Risk.DISRUPTIVE,
        effect=f"message {seq} and all after it are delivered, even if acknowledged; deliveries count from one",
        values={"seq": seq},
        base=seen_place(target),
        preconditions=(LED, NO_PUSH_CLIENT),
        inverse="back to the first message that was not acknowledged",
    )
    return (step,)
