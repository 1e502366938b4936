"""What servers report: the fields that they always send, and which of them a reply lacks.

A field that a reply lacks has its default, which nobody reported: `replies.unread` hides it from checks.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from datetime import datetime
from typing import Annotated, Any, TypeVar, cast

import msgspec

Value = TypeVar("Value")

Instant = Annotated[datetime, msgspec.Meta(tz=True)]
"""A time with its zone: one without could not be compared with any other."""


class Reported(msgspec.Struct, frozen=True, kw_only=True):
    """An object of a reply. `unseen` are fields of it, by path, that servers always send and that the reply lacks."""

    unseen: frozenset[str] = msgspec.field(name="(unseen)", default=frozenset())  # a key that no server sends


class Sent:
    """Makes the default of a field that servers always send, and notes that it was needed."""

    def __init__(self, default: object) -> None:
        self.default = default

    def __call__(self) -> object:
        """The default. Notes in this context that a field was lacking."""
        _default_needed.set(True)
        return self.default


_default_needed: ContextVar[bool] = ContextVar("a field that servers always send was lacking", default=False)


def sent(default: Value, name: str | None = None) -> Value:
    """A field that each supported server sends (`json` without `omitempty`, or a struct, in its Go source)."""
    field: Any = msgspec.field(default_factory=Sent(default), name=name)
    return cast("Value", field)


def read_noting_defaults(read: Callable[[], Value]) -> tuple[Value, bool]:
    """What `read` decodes, and whether it lacks a field that servers always send."""
    _default_needed.set(False)
    return read(), _default_needed.get()
