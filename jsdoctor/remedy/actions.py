"""The closed set of remedy actions. A rule page names one; this is where the name gets its commands.

Every command that an action prints is accepted by the real `nats` CLI; a test proves it.
"""

from __future__ import annotations

import importlib
import shlex
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from jsdoctor.model.finding import Subject
from jsdoctor.model.rule import Risk

Commands = Callable[[Subject, Mapping[str, Any]], tuple[str, ...]]


class Action(msgspec.Struct, frozen=True):
    """One action: its name, its risk, and how to write its commands for a subject and the values of a finding."""

    name: str
    risk: Risk
    commands: Commands


_registry: dict[str, Action] = {}


def action(name: str, risk: Risk) -> Callable[[Commands], Commands]:
    """Register a function that writes the commands of the action `name`."""

    def register(commands: Commands) -> Commands:
        _registry[name] = Action(name, risk, commands)
        return commands

    return register


def load_actions() -> dict[str, Action]:
    """All actions by name."""
    for module in ("consumer", "stream", "cluster", "server"):
        importlib.import_module(f"jsdoctor.remedy.{module}")
    return dict(_registry)


def command(*words: str) -> str:
    """One shell command from its words, quoted where a shell would need it."""
    return shlex.join(words)


@action("none", Risk.MANUAL)
def _nothing(subject: Subject, values: Mapping[str, Any]) -> tuple[str, ...]:
    """There is nothing to type: the page tells what to do."""
    del subject, values
    return ()
