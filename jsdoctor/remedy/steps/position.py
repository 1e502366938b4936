"""Steps that move a consumer to another place in its stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import Change, Json, Precondition, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.actions import action, command, plans
from jsdoctor.remedy.operations.position import starting_at
from jsdoctor.remedy.planning import CannotPlanError, Target, number, require_version
from jsdoctor.remedy.preconditions import LED
from jsdoctor.remedy.settings import changed

_RESETS = (2, 14)
_NO_PUSH_CLIENT = Precondition("no_push_client", "no client is subscribed to it as a push consumer")
_RESETTABLE = ("all", "by_start_sequence", "by_start_time")


@action("consumer.reset", Risk.MANUAL)
def _reset(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Values: `seq`, the first message that shall be delivered. Servers since 2.14, CLI since 0.4."""
    if "seq" not in values:
        return (command("nats", "consumer", "info", subject.stream, subject.name),)
    return (command("nats", "consumer", "reset", subject.stream, subject.name, f"--sequence={values['seq']}", "-f"),)


@action("consumer.recreate", Risk.MANUAL)
def _recreate(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """The file is the `config` of what the first command shows, with the start that the step names."""
    del values
    return (
        command("nats", "consumer", "info", subject.stream, subject.name, "--json"),
        command("nats", "consumer", "rm", subject.stream, subject.name, "-f"),
        command("nats", "consumer", "add", subject.stream, subject.name, f"--config={subject.name}.json"),
    )


@plans("consumer.reset")
def reset(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """The server's own way, which keeps the configuration."""
    require_version(target, _RESETS, "resetting a consumer")
    seq = _first(target, values)
    config = target.config
    if config.get("deliver_policy", "all") not in _RESETTABLE:
        raise CannotPlanError(f"the server resets no consumer with deliver policy {config.get('deliver_policy')}")
    if seq < int(config.get("opt_start_seq") or 0):
        raise CannotPlanError(
            f"its configuration starts at message {config['opt_start_seq']}: no reset goes before that"
        )
    where = f"CONSUMER.RESET.{target.subject.stream}.{target.subject.name}"
    former = (_base(target).get("ack_floor") or {}).get("stream_seq", 0) + 1
    step = Step(
        action="consumer.reset",
        operation="consumer.reset",
        subject=target.subject,
        risk=Risk.DISRUPTIVE,
        effect=f"message {seq} and all after it are delivered, even if acknowledged; deliveries count from one",
        values={"seq": seq},
        base=_base(target),
        preconditions=(LED, _NO_PUSH_CLIENT),
        requests=(Request(where, {"seq": seq}),),
        inverse="back to the first message that was not acknowledged",
        undo=(Request(where, {"seq": former}),),
    )
    return (step,)


@plans("consumer.recreate")
def recreate(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """On servers that cannot reset. Messages in flight come once more; nothing that was not acknowledged is skipped."""
    subject, config = target.subject, target.config
    if not config or target.stream is None:
        raise CannotPlanError("its configuration was not seen")
    retention = target.stream.config.retention
    if retention == "interest":
        raise CannotPlanError("its stream deletes what only this consumer waits for as soon as the consumer is deleted")
    if not config.get("durable_name"):
        raise CannotPlanError("it is not durable: its application makes it anew by itself")
    # A work queue takes no consumer that starts elsewhere than at the beginning; what was acknowledged is gone there.
    changes = () if retention == "workqueue" else starting_at(config, _first(target, values, default=_unacknowledged))
    name = f"{subject.stream}.{subject.name}"
    after = {"stream_name": subject.stream, "config": changed(config, changes)}
    step = Step(
        action="consumer.recreate",
        operation="consumer.recreate",
        subject=subject,
        risk=Risk.DISRUPTIVE,
        effect=(
            f"the consumer is deleted and made again {_told(changes)}; pull clients that wait are told"
            " `Consumer Deleted`, and what was delivered and not acknowledged comes once more"
        ),
        changes=changes,
        values={"seq": _start(changes)},
        base=_base(target),
        preconditions=(LED, _NO_PUSH_CLIENT),
        commands=_recreate(subject, {}),
        requests=(Request(f"CONSUMER.DELETE.{name}"), Request(f"CONSUMER.CREATE.{name}", after)),
        inverse="the former configuration at the first message that was not acknowledged; before 2.14 only near to it",
    )
    return (step,)


def _first(target: Target, values: Mapping[str, Any], default: Any = None) -> int:
    if "seq" not in values and default:
        return int(default(target))
    seq = number(values, "seq")
    if seq < 1:
        raise CannotPlanError("seq is the first message to be delivered: 1 or more")
    return seq


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


def _base(target: Target) -> Json:
    """What the operation compares with: configuration and position as they were seen."""
    consumer = target.consumer
    if consumer is None:
        raise CannotPlanError("the consumer was not seen")
    pairs = {"delivered": consumer.delivered, "ack_floor": consumer.ack_floor}
    places = {key: {"consumer_seq": pair.consumer_seq, "stream_seq": pair.stream_seq} for key, pair in pairs.items()}
    return {"config": target.config, **places}
