"""Steps that delete messages, or copy those that a consumer gave up into a stream of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import MANUAL, Precondition, Request, Step
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.actions import action, command, plans
from jsdoctor.remedy.planning import CannotPlanError, Target, number
from jsdoctor.remedy.preconditions import LED, UNSEALED

AT_MOST = 1_000
_LAST_IS_PAST = Precondition("last_is_past", "the last message is not dated in the future")


@plans("stream.delete_first_message")
def delete_first_message(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """All that are dated after the last message, from the head on: while one is left, nothing behind it expires."""
    first = number(values, "first_seq")
    if target.config.get("deny_delete"):
        raise CannotPlanError("the stream denies deleting messages, and that cannot be changed")
    name = target.subject.name
    step = Step(
        action="stream.delete_first_message",
        operation="message.delete_head",
        subject=target.subject,
        risk=Risk.DESTRUCTIVE,
        effect=(
            f"message {first} and those after it that are dated after the stream's last message are deleted, "
            f"{AT_MOST:,} at most; what they held up expires then"
        ),
        values={"at_most": AT_MOST},
        base={"first_seq": first},
        preconditions=(LED, UNSEALED, _LAST_IS_PAST),
        requests=(Request(f"STREAM.MSG.DELETE.{name}", {"seq": first, "no_erase": True}),),
        inverse="the stream is restored from the backup that is taken first, unless messages came since",
    )
    return (step,)


@action("consumer.keep_dead_letters", Risk.MANUAL)
def _keep_dead_letters(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Values: `into`, a stream; `seqs`, which messages, or `advisories`, a stream that recorded it."""
    info = command("nats", "consumer", "info", subject.stream, subject.name)
    return (info, *(command("nats", "stream", "get", subject.stream, str(seq)) for seq in _sequences(values)))


def _sequences(values: Mapping[str, Any]) -> tuple[int, ...]:
    """`seqs` as a number, a list, or text such as `5+7+9-12`. Raises CannotPlanError."""
    given = values.get("seqs")
    if given is None:
        return ()
    parts = given if isinstance(given, (list, tuple)) else str(given).replace(" ", ",").replace("+", ",").split(",")
    found: list[int] = []
    for part in filter(None, map(str, parts)):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or (dash and int(last) - int(first) > AT_MOST):
            raise CannotPlanError(f"seqs takes sequences such as 5+7+9-12, not {part!r}")
        found += range(int(first), int(last or first) + 1)
    return tuple(sorted(set(found)))


def _which(sequences: tuple[int, ...]) -> str:
    more = f" and {len(sequences) - 5} more" if len(sequences) > 5 else ""
    return f"messages {', '.join(map(str, sequences[:5]))}{more}"


@plans("consumer.keep_dead_letters")
def keep_dead_letters(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
    """Copies; on a work queue the originals go then: nobody else will remove them, and they take its room."""
    into, source, sequences = str(values.get("into") or ""), str(values.get("advisories") or ""), _sequences(values)
    if not into:
        raise CannotPlanError("it needs into, a stream of the same account for them, for example into=DEAD")
    if not (sequences or source):
        raise CannotPlanError("it needs seqs=5+7+9-12, or advisories=STREAM that recorded MAX_DELIVERIES advisories")
    stream, name = target.subject.stream, target.subject.name
    if into == stream:
        raise CannotPlanError("into must be another stream")
    moves = target.stream is not None and target.stream.config.retention == "workqueue"
    which = _which(sequences) if sequences else f"the messages that stream {source} recorded"
    step = Step(
        action="consumer.keep_dead_letters",
        operation="message.dead_letters",
        subject=target.subject,
        risk=Risk.DESTRUCTIVE if moves else Risk.DISRUPTIVE,
        effect=f"{which} of {stream} are stored in stream {into}" + (", then deleted from the queue" if moves else ""),
        values={"into": into, "seqs": list(sequences), "advisories": source, "move": moves},
        base={"config": target.config},
        preconditions=(LED,),
        requests=(Request(f"STREAM.MSG.GET.{stream}", {"seq": sequences[0] if sequences else 0}),),
        inverse="the queue is restored from its backup unless it changed since, then the copies are deleted"
        if moves
        else "the copies are deleted",
    )
    if moves:
        return (step,)
    # The server counts them for as long as they are in the stream: the finding stays, and that is no failure.
    look = (command("nats", "stream", "view", into), command("nats", "consumer", "info", stream, name))
    manual = Step(
        action="consumer.keep_dead_letters",
        operation=MANUAL,
        subject=target.subject,
        risk=Risk.MANUAL,
        effect=f"look at what stream {into} has now; {name} counts them as given up for as long as {stream} holds them",
        commands=look,
        needs=("0",),
    )
    return (step, manual)
