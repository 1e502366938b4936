"""What a family of remedies declares: the actions that a rule page may name, their operations and their preconditions.

The set is closed. Every command that an action prints is accepted by the real `nats` CLI; a test proves it. An action
without a planner is a person's: `jsdoctor fix` prints its commands as a manual step.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from jsdoctor.model.finding import Subject
from jsdoctor.model.rule import Risk
from jsdoctor.remedy.operation import Operation
from jsdoctor.remedy.planning import Planner
from jsdoctor.remedy.preconditions import Judge
from jsdoctor.remedy.proof import Improvement

Commands = Callable[[Subject, Mapping[str, Any]], tuple[str, ...]]


class Action(msgspec.Struct, frozen=True):
    """One action: its name, its risk, and how to write its commands for a subject and the values of a finding.

    `planner` makes the steps that `jsdoctor fix` can take itself. `improvement` is what must show before such a step is
    verified; without one the rule alone proves it, as the setting itself was the fault. `look` says what to look for in
    what the commands show.
    """

    name: str
    risk: Risk
    commands: Commands
    planner: Planner | None = None
    improvement: Improvement | None = None
    look: str = ""


class Family(msgspec.Struct, frozen=True):
    """Remedies that change one kind of thing. `judges` are preconditions that only its steps have, by name."""

    name: str
    actions: tuple[Action, ...]
    operations: tuple[Operation, ...] = ()
    judges: Mapping[str, Judge] = {}


def command(*words: str) -> str:
    """One shell command from its words, quoted where a shell would need it."""
    return shlex.join(words)
