"""The input and output of a planner: the interface between an action and the plan.

    def raise_limits(target: Target, values: Mapping[str, Any]) -> tuple[Step, ...]:
        return (...,)

    Action("stream.raise_limits", Risk.SAFE, commands, raise_limits)

A planner is pure. It raises `CannotPlanError` with the reason if its action does not fit the target; ids, findings,
proofs, `tolerates`, requests and commands of its steps are filled in by `jsdoctor.remedy.plan`. Steps come in the order
in which they must be taken; those that need an earlier one of the same planner name it in `needs` by its place (`"0"`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from jsdoctor.model.evidence import EvidenceSet
from jsdoctor.model.finding import Subject
from jsdoctor.model.plan import Json, Step
from jsdoctor.model.snapshot import Consumer, SnapshotSeries, Stream


class CannotPlanError(Exception):
    """This action does not fit this subject. `reason` completes a sentence that begins with the action's name."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What an action is planned for: the finding's subject and what was seen of it.

    `config` is the raw configuration of the stream or consumer as the server sent it (durations in nanoseconds), empty
    for other subjects; `stream` and `consumer` are the same assets read (of a consumer also its stream); `version` is
    that of the oldest server that was seen, (0, 0, 0) when none was.
    """

    subject: Subject
    config: Json
    stream: Stream | None = None
    consumer: Consumer | None = None
    version: tuple[int, int, int] = (0, 0, 0)
    evidence: EvidenceSet

    @property
    def streams(self) -> tuple[Stream, ...]:
        """All streams that were seen, in every account."""
        series = self.evidence.get(SnapshotSeries)
        return series.last.streams if series is not None else ()


def number(values: Mapping[str, Any], key: str) -> int:
    """A whole number from the values of an action. Raises CannotPlanError where there is none."""
    value = values.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        raise CannotPlanError(f"it needs {key.removesuffix('_s')}, a {'duration' if key.endswith('_s') else 'number'}")
    return value


def require_version(target: Target, least: tuple[int, int], what: str) -> None:
    """Raises CannotPlanError where a server is known to be older."""
    if (0, 0) < target.version[:2] < least:
        raise CannotPlanError(f"{what} needs nats-server {least[0]}.{least[1]} everywhere")


Planner = Callable[[Target, Mapping[str, Any]], tuple[Step, ...]]
