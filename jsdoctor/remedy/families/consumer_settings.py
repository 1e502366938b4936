"""Settings of consumers: one CONSUMER.CREATE with the changed keys, which is `nats consumer edit` with their flags."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from jsdoctor.model.finding import Subject
from jsdoctor.model.jetstream import ConsumerConfig
from jsdoctor.model.plan import Change, Json, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.model.setting import rows
from jsdoctor.remedy.api import Api
from jsdoctor.remedy.families.configuration import (
    NS_PER_MS,
    NS_PER_S,
    ConfigurationUpdate,
    change,
    duration,
    flag,
    settings,
    update_step,
)
from jsdoctor.remedy.family import Action, Commands, Family, command
from jsdoctor.remedy.planning import Target, number
from jsdoctor.remedy.proof import DELIVERED_ONCE, SERVED, Improvement


def _backoff_flags(backoff: list[int]) -> tuple[str, ...]:
    """The linear backoff of the CLI that has these steps: they end one step before its longest wait."""
    first, last, steps = backoff[0], backoff[-1], len(backoff)
    longest = first + (last - first) * steps // (steps - 1) if steps > 1 else 2 * first
    longest_s = (longest + NS_PER_S // 2) // NS_PER_S
    return (
        "--backoff=linear",
        f"--backoff-steps={steps}",
        f"--backoff-min={duration(first)}",
        f"--backoff-max={longest_s}s",
    )


class ConsumerUpdate(ConfigurationUpdate):
    """Keys of a consumer (`$JS.API.CONSUMER.CREATE` with the action `update`, nats-server 2.10+)."""

    name: ClassVar[str] = "consumer.update"

    async def read_state(self, step: Step, api: Api) -> Json:
        """CONSUMER.INFO."""
        return await api.ask(f"CONSUMER.INFO.{step.subject.stream}.{step.subject.name}")

    def update(self, step: Step, config: Json) -> Request:
        """CONSUMER.CREATE, which never creates: with that action a missing consumer is an error."""
        stream, name = step.subject.stream, step.subject.name
        return Request(
            f"CONSUMER.CREATE.{stream}.{name}", {"stream_name": stream, "config": config, "action": "update"}
        )

    def commands(self, step: Step) -> tuple[str, ...]:
        """One edit with the flags of each changed key."""
        return (_edit(step.subject, {change.key: change.after for change in step.changes}),)


_UPDATE = ConsumerUpdate()


def _edit(subject: Subject, wanted: Json) -> str:
    """The edit that sets these keys, without questions. The CLI edits durable consumers only.

    It refuses `--wait` where there is a backoff, whose first step is the wait.
    """
    backoff = wanted.get("backoff")
    own = {key: after for key, after in wanted.items() if key != "backoff" and not (key == "ack_wait" and backoff)}
    flags = [flag(row, own[row.name]) for row in rows(ConsumerConfig) if row.name in own and row.setting.flag]
    flags += _backoff_flags(backoff) if backoff else ()
    return command("nats", "consumer", "edit", subject.stream, subject.name, *flags, "-f")


def _edits(*names: str) -> Commands:
    """Commands that set these values, or look at the consumer where they are not given."""

    def commands(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
        wanted = settings(values, names)
        inspect = command("nats", "consumer", "info", subject.stream, subject.name)
        return (_edit(subject, wanted) if wanted else inspect,)

    return commands


def _edit_waits(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    return (_edit(subject, _waits(values)),)


def _waits(values: Mapping[str, Any]) -> Json:
    """With a backoff its steps are raised: the server puts the first one in place of `ack_wait`.

    The steps are those of the `nats` CLI (jsm.go LinearBackoffPeriods, to the millisecond), so that both do the same.
    """
    wait = number(values, "ack_wait_s") * NS_PER_S
    steps = values.get("backoff_steps")
    if not steps:
        return {"ack_wait": wait}
    wider = (number(values, "backoff_max_s") * NS_PER_S - wait) // int(steps)
    backoff = [wait + (place * wider + NS_PER_MS // 2) // NS_PER_MS * NS_PER_MS for place in range(int(steps))]
    return {"ack_wait": wait, "backoff": backoff}


def _plan(name: str, value: str, risk: Risk, effect: str) -> Callable[[Target, Mapping[str, Any]], tuple[Step, ...]]:
    """A planner of one value."""

    def plan(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
        ((key, wanted),) = settings({value: number(values, value)}, [value]).items()
        return update_step(target, _UPDATE, name, change(target, key, wanted), risk=risk, effect=effect)

    return plan


def _plan_waits(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    changes: list[Change] = [change(target, key, after) for key, after in _waits(values).items()]
    effect = "a message that is not acknowledged is sent again later; after a worker's crash, too"
    return update_step(target, _UPDATE, "consumer.raise_ack_wait", *changes, risk=Risk.SAFE, effect=effect)


def _setting(
    name: str, value: str, risk: Risk, step_risk: Risk, effect: str, *, improvement: Improvement | None = None
) -> Action:
    """An action that sets one value. `risk` is that of the action as a rule offers it."""
    return Action(name, risk, _edits(value), _plan(name, value, step_risk, effect), improvement)


FAMILY = Family(
    "consumer settings",
    actions=(
        _setting(
            "consumer.raise_max_ack_pending",
            "max_ack_pending",
            Risk.SAFE,
            Risk.SAFE,
            "more messages may be unacknowledged at the same time; after a crash as many more come twice",
            improvement=SERVED,
        ),
        Action("consumer.raise_ack_wait", Risk.SAFE, _edit_waits, _plan_waits, DELIVERED_ONCE),
        _setting(
            "consumer.raise_inactive_threshold",
            "inactive_threshold_s",
            Risk.SAFE,
            Risk.SAFE,
            "the consumer and its position stay longer while its application is away",
        ),
        _setting(
            "consumer.set_max_deliver",
            "max_deliver",
            Risk.MANUAL,
            Risk.DISRUPTIVE,
            "messages that fail are tried that often; those that reached the former limit are not delivered again",
        ),
    ),
    operations=(_UPDATE,),
)
