"""All families of remedies, and what they declare, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

import msgspec

from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import Json, Step
from jsdoctor.remedy.families import (
    backup,
    consumer_settings,
    delivery,
    inspections,
    leader,
    messages,
    peers,
    position,
    stream_settings,
)
from jsdoctor.remedy.family import Action, Family
from jsdoctor.remedy.operation import Operation
from jsdoctor.remedy.preconditions import JUDGES, Judge

FAMILIES: tuple[Family, ...] = (
    inspections.FAMILY,
    stream_settings.FAMILY,
    consumer_settings.FAMILY,
    delivery.FAMILY,
    position.FAMILY,
    leader.FAMILY,
    peers.FAMILY,
    messages.FAMILY,
    backup.FAMILY,
)


@cache
def load_actions() -> dict[str, Action]:
    """All actions by name."""
    return {action.name: action for family in FAMILIES for action in family.actions}


@cache
def load_operations() -> dict[str, Operation]:
    """All operations by the name that steps carry in `operation`."""
    return {operation.name: operation for family in FAMILIES for operation in family.operations}


@cache
def load_judges() -> dict[str, Judge]:
    """All preconditions by name."""
    return {**JUDGES, **{name: judge for family in FAMILIES for name, judge in family.judges.items()}}


def described(steps: Iterable[Step], operations: Mapping[str, Operation] | None = None) -> Iterator[Step]:
    """The steps, in the order in which they are taken, with the requests and commands of their operations.

    The requests of a step are those for its asset as the steps before it leave it.
    """
    known = load_operations() if operations is None else operations
    left: dict[Subject, Json] = {}
    for step in steps:
        if step.is_manual:
            yield step
            continue
        operation = known[step.operation]
        before = {**step.base, **left.get(step.subject, {})}
        after = operation.expected(step, before)
        left[step.subject] = {"config": after["config"]} if "config" in after else {}
        yield msgspec.structs.replace(
            step,
            requests=operation.requests(step, before),
            undo=operation.undo_requests(step, before, after),
            commands=operation.commands(step),
        )
