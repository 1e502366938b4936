"""Steps that change consumers: their configuration, a pause, a pin."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import Change, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.actions import action, command, plans
from jsdoctor.remedy.commands.consumer import consumer_edit
from jsdoctor.remedy.planning import CannotPlanError, Target, number, require_version
from jsdoctor.remedy.preconditions import LED
from jsdoctor.remedy.settings import changed, is_set, restored, told

_NS = 1_000_000_000
_MS = 1_000_000
_PAUSES = (2, 11)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)


def _look(subject: Subject) -> tuple[str, ...]:
    return (command("nats", "consumer", "info", subject.stream, subject.name),)


@action("consumer.set_max_deliver", Risk.MANUAL)
def _set_max_deliver(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Values: `max_deliver`, -1 for no limit. It brings no message back that was given up already."""
    return (
        (consumer_edit(subject, f"--max-deliver={values['max_deliver']}"),)
        if "max_deliver" in values
        else _look(subject)
    )


@action("consumer.pause", Risk.MANUAL)
def _pause(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Values: `pause_until`, a moment in UTC such as 2026-11-21T18:00:00Z; the CLI writes it without T and Z."""
    until = str(values.get("pause_until") or "").replace("T", " ").removesuffix("Z")
    return (
        (command("nats", "consumer", "pause", subject.stream, subject.name, until, "-f"),) if until else _look(subject)
    )


@action("consumer.unpin", Risk.MANUAL)
def _unpin(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Values: `group`, the priority group whose client shall give way."""
    if not values.get("group"):
        return _look(subject)
    return (command("nats", "consumer", "unpin", subject.stream, subject.name, values["group"], "-f"),)


def _config_step(target: Target, name: str, *changes: Change, risk: Risk, effect: str) -> tuple[Step, ...]:
    """One update of a consumer. Raises CannotPlanError where it would change nothing."""
    if not target.config:
        raise CannotPlanError("its configuration was not seen")
    if is_set(target.config, changes):
        raise CannotPlanError(f"it is so already ({told(changes)})")
    stream, consumer = target.subject.stream, target.subject.name
    subject = f"CONSUMER.CREATE.{stream}.{consumer}"

    def request(config: Mapping[str, Any]) -> Request:
        return Request(subject, {"stream_name": stream, "config": dict(config), "action": "update"})

    after = changed(target.config, changes)
    step = Step(
        action=name,
        operation="consumer.update",
        subject=target.subject,
        risk=risk,
        effect=effect,
        changes=changes,
        base={"config": target.config},
        preconditions=(LED,),
        requests=(request(after),),
        inverse=f"the same update with {', '.join(change.key for change in changes)} as before",
        undo=(request(restored(after, changes, target.config)),),
    )
    return (step,)


def _change(target: Target, key: str, after: Any) -> Change:
    return Change(key, target.config.get(key), after)


@plans("consumer.raise_max_ack_pending")
def raise_max_ack_pending(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """More places for messages that are being worked on."""
    effect = "more messages may be unacknowledged at the same time; after a crash as many more come twice"
    more = _change(target, "max_ack_pending", number(values, "max_ack_pending"))
    return _config_step(target, "consumer.raise_max_ack_pending", more, risk=Risk.SAFE, effect=effect)


@plans("consumer.raise_ack_wait")
def raise_ack_wait(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """With a backoff its steps are raised: the server puts the first one in place of `ack_wait`.

    The steps are those of the `nats` CLI (jsm.go LinearBackoffPeriods, to the millisecond), so that both do the same.
    """
    wait = number(values, "ack_wait_s") * _NS
    effect = "a message that is not acknowledged is sent again later; after a worker's crash, too"
    changes = [_change(target, "ack_wait", wait)]
    if steps := values.get("backoff_steps"):
        wider = (number(values, "backoff_max_s") * _NS - wait) // int(steps)
        backoff = [wait + (place * wider + _MS // 2) // _MS * _MS for place in range(int(steps))]
        changes.append(_change(target, "backoff", backoff))
    return _config_step(target, "consumer.raise_ack_wait", *changes, risk=Risk.SAFE, effect=effect)


@plans("consumer.raise_inactive_threshold")
def raise_inactive_threshold(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """A longer absence of its application is forgiven."""
    effect = "the consumer and its position stay longer while its application is away"
    longer = _change(target, "inactive_threshold", number(values, "inactive_threshold_s") * _NS)
    return _config_step(target, "consumer.raise_inactive_threshold", longer, risk=Risk.SAFE, effect=effect)


@plans("consumer.set_max_deliver")
def set_max_deliver(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """How often a message is tried."""
    effect = "messages that fail are tried that often; those given up already stay given up"
    times = _change(target, "max_deliver", number(values, "max_deliver"))
    return _config_step(target, "consumer.set_max_deliver", times, risk=Risk.DISRUPTIVE, effect=effect)


@plans("consumer.resume")
def resume(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Delivery goes on at once."""
    del values
    consumer = target.consumer
    if consumer is None or not consumer.paused:
        raise CannotPlanError("it is not paused")
    effect = "delivery goes on at once, with all that waits"
    return (_pause_step(target, "consumer.resume", "", effect, "pause until the same moment again"),)


@plans("consumer.pause")
def pause(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
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
    subject = f"CONSUMER.PAUSE.{target.subject.stream}.{target.subject.name}"
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
        requests=(Request(subject, {"pause_until": until} if until else {}),),
        inverse=inverse,
        undo=(Request(subject, {"pause_until": before} if before else {}),),
    )


@plans("consumer.unpin")
def unpin(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
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
        commands=_unpin(target.subject, {"group": group.group}),
        requests=(Request(f"CONSUMER.UNPIN.{target.subject.stream}.{target.subject.name}", {"group": group.group}),),
    )
    return (step,)
