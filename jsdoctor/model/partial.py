"""Values of which only a part is known: reading a field that nobody showed raises instead of giving a default."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NoReturn, TypeVar

import msgspec

from jsdoctor.model.finding import Subject

Shape = TypeVar("Shape", bound=msgspec.Struct)


class NotShownError(Exception):
    """A check read a field that the evidence does not show. `subject` is what it belongs to, `field` its path."""

    def __init__(self, subject: Subject, field: str, how_to_get: str) -> None:
        super().__init__(f"{field} of {subject.label} is not shown in what was given")
        self.subject = subject
        self.field = field
        self.how_to_get = how_to_get


def hide(value: Shape, fields: Collection[str], subject: Subject, how_to_get: str, prefix: str = "") -> Shape:
    """The value with some fields unknown: whoever reads one of them gets a `NotShownError`."""
    hidden = [name for name in fields if name in value.__struct_fields__]
    if not hidden:
        return value
    namespace: dict[str, Any] = {name: _unknown(subject, f"{prefix}{name}", how_to_get) for name in hidden}
    partial = type(type(value).__name__, (type(value),), {"__module__": __name__, **namespace})
    made: Shape = partial(**{name: getattr(value, name) for name in value.__struct_fields__})
    return made


def _unknown(subject: Subject, field: str, how_to_get: str) -> property:
    def read(_: object) -> NoReturn:
        raise NotShownError(subject, field, how_to_get)

    return property(read)
