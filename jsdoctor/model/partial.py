"""Values of which only a part is known: reading a field without evidence raises instead of returning a default."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any, NoReturn, TypeVar

import msgspec

from jsdoctor.model.finding import Subject

Shape = TypeVar("Shape", bound=msgspec.Struct)
Value = TypeVar("Value")


class NotShownError(Exception):
    """A check read a field that the evidence does not show. `subject` is what it belongs to, `field` its path."""

    def __init__(self, subject: Subject, field: str, how_to_get: str) -> None:
        super().__init__(f"{field} of {subject.label} is not shown in what was given")
        self.subject = subject
        self.field = field
        self.how_to_get = how_to_get


def hide(value: Shape, fields: Collection[str], subject: Subject, how_to_get: str, prefix: str = "") -> Shape:
    """The value with some fields unknown: reading one of them raises `NotShownError`."""
    hidden = tuple(name for name in fields if name in value.__struct_fields__)
    if not hidden:
        return value
    partial = _partial_class(type(value), hidden, subject, how_to_get, prefix)
    made: Shape = partial(**{name: getattr(value, name) for name in value.__struct_fields__})
    return made


@lru_cache(maxsize=100_000)
def _partial_class(shape: type[Any], hidden: tuple[str, ...], subject: Subject, how_to_get: str, prefix: str) -> Any:
    """A class takes longer to make than a value, and the readings of an asset over days lack the same fields."""
    namespace = {name: _unknown(subject, f"{prefix}{name}", how_to_get) for name in hidden}
    return type(shape.__name__, (shape,), {"__module__": __name__, **namespace})


def shown_or(read: Callable[[], Value], otherwise: Value) -> Value:
    """The result of `read`, or `otherwise` if it needs a field without evidence.

    Only for values that do not decide whether there is a fault: a text on its cause, or a bound that is known
    otherwise.
    """
    try:
        return read()
    except NotShownError:
        return otherwise


def raw_field(value: msgspec.Struct, field: str) -> Any:
    """A field of a value that may be partial, for code that only compares identities: the default if it is hidden."""
    for shape in type(value).__mro__:
        candidate = shape.__dict__.get(field)
        if candidate is not None and not isinstance(candidate, property):
            return candidate.__get__(value)
    raise AttributeError(field)


def _unknown(subject: Subject, field: str, how_to_get: str) -> property:
    def read(_: object) -> NoReturn:
        raise NotShownError(subject, field, how_to_get)

    return property(read)
