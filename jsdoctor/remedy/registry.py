"""All actions and operations, by name."""

from __future__ import annotations

from functools import cache

from jsdoctor.remedy.families import backup, delivery, inspections, leader, messages, peers, position, settings
from jsdoctor.remedy.operation import Action, Operation

_FAMILIES = (inspections, settings, delivery, position, leader, peers, messages, backup)


@cache
def load_actions() -> dict[str, Action]:
    """All actions by the name that rule pages give them."""
    return {action.name: action for family in _FAMILIES for action in family.ACTIONS}


@cache
def load_operations() -> dict[str, Operation]:
    """All operations by the name that steps carry in `operation`: of those that share one, the first."""
    operations = [action for action in load_actions().values() if isinstance(action, Operation)]
    return {operation.operation: operation for operation in reversed(operations)}
