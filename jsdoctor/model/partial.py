"""Values of which only a part is known.

A hidden field has a default that nobody reported: reading it raises. An unread field is None or empty because no reply
with it came: reading it returns that, and is noted for the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn, TypeVar

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


class UnreadReply(NamedTuple):
    """A reply that a check needed and that was not read: which, about what, and how to get it."""

    subject: Subject
    name: str
    how_to_get: str


_noted_replies: ContextVar[list[UnreadReply] | None] = ContextVar("unread replies that checks needed", default=None)


@contextmanager
def noting_unread() -> Iterator[list[UnreadReply]]:
    """Collect the unread replies of which a field is read within the `with` block."""
    replies: list[UnreadReply] = []
    token = _noted_replies.set(replies)
    try:
        yield replies
    finally:
        _noted_replies.reset(token)


def mark_unread(value: Shape, fields: Mapping[str, str], subject: Subject, how_to_get: str) -> Shape:
    """The value with some fields unread, each with the name of what was not read."""
    if not fields:
        return value
    marked: Shape = _unread_class(type(value), tuple(fields.items()), subject, how_to_get)(
        **msgspec.structs.asdict(value)
    )
    return marked


@lru_cache(maxsize=100_000)
def _unread_class(shape: type[Any], fields: tuple[tuple[str, str], ...], subject: Subject, how_to_get: str) -> Any:
    namespace = {
        field: _noting_property(shape, field, UnreadReply(subject, name, how_to_get)) for field, name in fields
    }
    return type(shape.__name__, (shape,), {"__module__": __name__, **namespace})


def _noting_property(shape: type[Any], field: str, reply: UnreadReply) -> property:
    stored = getattr(shape, field)

    def read(value: Any) -> Any:
        if (noted := _noted_replies.get()) is not None:
            noted.append(reply)
        return stored.__get__(value)

    return property(read)


def hide(value: Shape, fields: Collection[str], subject: Subject, how_to_get: str, prefix: str = "") -> Shape:
    """The value with some fields unknown: reading one of them raises `NotShownError`."""
    hidden = tuple(name for name in fields if name in value.__struct_fields__)
    if not hidden:
        return value
    partial = _partial_class(type(value), hidden, subject, how_to_get, prefix)
    partial_value: Shape = partial(**msgspec.structs.asdict(value))
    return partial_value


@lru_cache(maxsize=100_000)
def _partial_class(shape: type[Any], hidden: tuple[str, ...], subject: Subject, how_to_get: str, prefix: str) -> Any:
    """A subclass whose `hidden` fields and comparisons raise; cached, as many readings lack the same fields."""
    namespace: dict[str, Any] = {name: _hidden_property(subject, f"{prefix}{name}", how_to_get) for name in hidden}

    def compared(*_: object) -> NoReturn:
        """Whether it equals another value is not known either."""
        raise NotShownError(subject, f"{prefix}{hidden[0]}", how_to_get)

    namespace |= {"__eq__": compared, "__ne__": compared, "__hash__": shape.__hash__}
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
    """A field as stored in a value that may be partial, without raising or noting: its default if it is hidden."""
    for shape in type(value).__mro__:
        candidate = shape.__dict__.get(field)
        if candidate is not None and not isinstance(candidate, property):
            return candidate.__get__(value)
    raise AttributeError(field)


def _hidden_property(subject: Subject, field: str, how_to_get: str) -> property:
    def read(_: object) -> NoReturn:
        raise NotShownError(subject, field, how_to_get)

    return property(read)
