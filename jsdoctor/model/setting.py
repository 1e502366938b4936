"""Fields of the configuration of streams and consumers: the rows of one table, and how to read them.

The table is `StreamConfig` and `ConsumerConfig` in `model.jetstream`, with the structs in them. A row is an attribute:
its type, its default, and a `Setting` with what other formats call it. The key in the server's JSON is the attribute's
name, without the `_ns` of durations. Readers of manifests and pasted text, remedies and policies are made from rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import msgspec

from jsdoctor.model.reported import Sent

Release = tuple[int, ...]

OLDEST: Release = (2, 10)
"""The oldest release that is supported."""


class Alias(NamedTuple):
    """What a kind of manifest calls a field, and the values that it takes. `choices` None: those of the server."""

    name: str
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] | None = None
    is_read: bool = True


def unread(name: str) -> Alias:
    """The key of a field whose value such manifests may state, and that is not read."""
    return Alias(name, is_read=False)


class Setting(NamedTuple):
    """What a field is called outside of the server's JSON, and what servers do with it. Empty: it has no such name.

    `nack`, `terraform`: its key in a resource of NACK and of the provider nats-io/jetstream; `*`: the fields of its
    struct are keys of the resource. `labels`: its label in the text of `nats stream info` and `nats consumer info`, or
    several of which versions print one; with `?` it is printed only if it is set. `flag`: that of `nats stream edit`
    and `nats consumer edit`, of a boolean those for true and for false. A `!` before a key or label: it has the
    opposite value.

    `choices`: the texts that a server takes. `bits` and `signed`: the size of a number. `limit`: the number that means
    that nothing is limited. `negative`: what servers from 2.11 on make of a negative number, that of `limit` unless
    given. `since`: the first release that has it. `fixed_since`: the first release that refuses to change it.
    `lasting`: once set, it cannot be taken back.
    """

    nack: Alias | str = ""
    terraform: Alias | str = ""
    labels: tuple[str, ...] | str = ""
    flag: tuple[str, str] | str = ""
    choices: tuple[str, ...] = ()
    bits: int = 64
    signed: bool = True
    limit: int | None = None
    negative: int | None = None
    since: Release = OLDEST
    fixed_since: Release | None = None
    lasting: bool = False


class FieldKind(StrEnum):
    """How the values of a field are written and compared."""

    TEXT = "text"
    TEXTS = "list of texts"
    FLAG = "flag"
    NUMBER = "number"
    BYTES = "bytes"
    DURATION = "duration"
    DURATIONS = "list of durations"
    MOMENT = "time"
    LABELS = "mapping of texts"
    STRUCT = "mapping"
    STRUCTS = "list of mappings"


class FieldRow(NamedTuple):
    """One field: `name` is its key in the server's JSON, `shape` the struct that it holds, if it does."""

    attribute: str
    name: str
    kind: FieldKind
    default: Any
    shape: type[msgspec.Struct] | None
    setting: Setting

    @property
    def negative(self) -> int | None:
        """What servers from 2.11 on make of a negative number; None: they refuse or keep it."""
        return self.setting.limit if self.setting.negative is None else self.setting.negative


_BYTES = ("max_bytes", "max_msg_size")
_KINDS: dict[Any, FieldKind] = {
    str: FieldKind.TEXT,
    bool: FieldKind.FLAG,
    int: FieldKind.NUMBER,
    datetime | None: FieldKind.MOMENT,
    tuple[str, ...]: FieldKind.TEXTS,
    dict[str, str]: FieldKind.LABELS,
}


def without_unit(attribute: str) -> str:
    """The key in the server's JSON of an attribute."""
    return attribute.removesuffix("_ns")


@cache
def rows(shape: type[msgspec.Struct]) -> tuple[FieldRow, ...]:
    """The fields of a configuration, or of a struct in one."""
    return tuple(_rows(shape))


@cache
def row(shape: type[msgspec.Struct], name: str) -> FieldRow:
    """The field with this key in the server's JSON."""
    return next(row for row in rows(shape) if row.name == name)


def _rows(shape: type[msgspec.Struct]) -> Iterator[FieldRow]:
    for field in msgspec.structs.fields(shape):
        kind, setting = field.type, Setting()
        if get_origin(kind) is Annotated:
            kind, setting = get_args(kind)
        make = field.default_factory
        default = field.default if make is msgspec.NODEFAULT else make.default if isinstance(make, Sent) else make()
        yield FieldRow(field.name, field.encode_name, _kind(field.name, kind), default, struct_of(kind), setting)


def _kind(attribute: str, kind: Any) -> FieldKind:
    is_list = get_origin(kind) is tuple
    if attribute.endswith("_ns"):
        return FieldKind.DURATIONS if is_list else FieldKind.DURATION
    if attribute in _BYTES:
        return FieldKind.BYTES
    return _KINDS.get(kind) or (FieldKind.STRUCTS if is_list else FieldKind.STRUCT)


def struct_of(kind: Any) -> type[msgspec.Struct] | None:
    """The struct of a field's type, be it optional or in a list; None where it is something else."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    return next(filter(None, map(struct_of, get_args(kind))), None)
