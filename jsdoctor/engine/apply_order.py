"""The order in which the steps of a change can be applied without one of them being refused or losing messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from jsdoctor.model.change import ChangeAction
from jsdoctor.model.finding import Subject
from jsdoctor.model.jetstream import StreamConfig
from jsdoctor.model.subjects import subjects_overlap


class Planned(NamedTuple):
    """What the order needs of a step. `before` and `after` are configurations of a stream, None where there is none."""

    subject: Subject
    action: ChangeAction
    before: StreamConfig | None = None
    after: StreamConfig | None = None


def apply_order(steps: Sequence[Planned]) -> list[tuple[int, str]]:
    """The places of the steps in the order to apply them, each with the reason for its place (empty: none)."""
    waits = [_waits_for(step, steps) for step in steps]
    rest, done = list(range(len(steps))), list[tuple[int, str]]()
    while rest:
        ready = next((number for number in rest if not waits[number].keys() & set(rest)), None)
        chosen = rest[0] if ready is None else ready
        if ready is None:
            other = next(wait for wait in waits[chosen] if wait in rest)
            done.append(
                (chosen, f"it and {_name(steps[other])} wait for each other: apply the change in smaller parts")
            )
        else:
            done.append((chosen, "; ".join(dict.fromkeys(waits[chosen].values()))))
        rest.remove(chosen)
    return done


def _waits_for(step: Planned, steps: Sequence[Planned]) -> dict[int, str]:
    """The steps that come before this one, by their place, and why."""
    reasons = ((place, _reason(step, other)) for place, other in enumerate(steps) if other.subject != step.subject)
    return {place: reason for place, reason in reasons if reason}


def _reason(step: Planned, other: Planned) -> str:
    """Why `other` comes before `step`; empty: it need not."""
    if step.subject.kind == "consumer":
        return _consumer_waits(step, other)
    if other.subject.kind == "consumer":
        return _stream_waits_for_consumer(step, other)
    return _stream_waits_for_stream(step, other)


def _consumer_waits(step: Planned, other: Planned) -> str:
    if (
        other.subject.kind != "stream"
        or other.subject.name != step.subject.stream
        or step.action is ChangeAction.DELETE
    ):
        return ""
    return "" if _becomes_interest(other) else f"after its stream {other.subject.name}"


def _stream_waits_for_consumer(step: Planned, other: Planned) -> str:
    if other.subject.stream != step.subject.name:
        return ""
    if other.action is ChangeAction.DELETE:
        return f"after the deletion of its consumer {other.subject.name}"
    if _becomes_interest(step):
        return f"after consumer {other.subject.name}: interest retention drops what no consumer wants"
    return ""


def _stream_waits_for_stream(step: Planned, other: Planned) -> str:
    if step.after is None:
        return ""
    origins = (step.after.mirror, *step.after.sources)
    if any(origin and origin.external is None and origin.name == other.subject.name for origin in origins):
        return f"after {other.subject.name}, from which it copies" if other.after is not None else ""
    taken = _gains(step)
    if any(subjects_overlap(mine, theirs) for mine in taken for theirs in _loses(other)):
        return f"after {other.subject.name}, which gives up subjects that it takes"
    return ""


def _becomes_interest(step: Planned) -> bool:
    """Whether an existing stream gets interest retention."""
    before, after = step.before, step.after
    return bool(before and after and before.retention != "interest" and after.retention == "interest")


def _gains(step: Planned) -> set[str]:
    return set(step.after.subjects if step.after else ()) - set(step.before.subjects if step.before else ())


def _loses(step: Planned) -> set[str]:
    return set(step.before.subjects if step.before else ()) - set(step.after.subjects if step.after else ())


def _name(step: Planned) -> str:
    return step.subject.name
