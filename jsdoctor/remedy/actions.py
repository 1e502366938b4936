"""The closed set of remedy actions. A rule page names one; this is where the name gets its commands and its steps.

Every command that an action prints is accepted by the real `nats` CLI; a test proves it. An action without a planner
is a person's: `jsdoctor fix` prints its commands as a manual step.
"""

from __future__ import annotations

import importlib
import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from jsdoctor.model.finding import Subject
from jsdoctor.model.rule import Risk

if TYPE_CHECKING:
    from jsdoctor.remedy.planning import Planner

Commands = Callable[[Subject, Mapping[str, Any]], tuple[str, ...]]


class Action(msgspec.Struct, frozen=True):
    """One action: its name, its risk, and how to write its commands for a subject and the values of a finding.

    `planner` makes the steps that `jsdoctor fix` can take itself.
    """

    name: str
    risk: Risk
    commands: Commands
    planner: Planner | None = None


_registry: dict[str, Action] = {}
_planners: dict[str, Planner] = {}
_MODULES = (
    *("commands.consumer", "commands.stream", "commands.cluster", "commands.server"),
    *("steps.stream", "steps.consumer", "steps.leader", "steps.backup"),
    *("steps.messages", "steps.position", "steps.origins", "steps.peers"),
)


def action(name: str, risk: Risk) -> Callable[[Commands], Commands]:
    """Register a function that writes the commands of the action `name`."""

    def register(commands: Commands) -> Commands:
        _registry[name] = Action(name, risk, commands)
        return commands

    return register


def plans(*names: str) -> Callable[[Planner], Planner]:
    """Register a function that makes the steps of these actions (see `jsdoctor.remedy.planning`)."""

    def register(planner: Planner) -> Planner:
        for name in names:
            _planners[name] = planner
        return planner

    return register


def load_actions() -> dict[str, Action]:
    """All actions by name."""
    for module in _MODULES:
        importlib.import_module(f"jsdoctor.remedy.{module}")
    return {name: msgspec.structs.replace(found, planner=_planners.get(name)) for name, found in _registry.items()}


def command(*words: str) -> str:
    """One shell command from its words, quoted where a shell would need it."""
    return shlex.join(words)


@action("none", Risk.MANUAL)
def _nothing(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """There is nothing to type: the page tells what to do."""
    del subject, values
    return ()
