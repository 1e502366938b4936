"""Typed fields of a mapping by a table: what a format calls a setting, what the server calls it, how it is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from jsdoctor.manifests.tree import Tree
from jsdoctor.model.duration import parse_duration
from jsdoctor.model.jetstream import (
    ConsumerLimits,
    ExternalStream,
    Placement,
    Republish,
    SourceConfig,
    SubjectTransform,
)
from jsdoctor.model.manifest import FilePosition, Mistake
from jsdoctor.model.nearest import did_you_mean
from jsdoctor.model.setting import Alias, FieldKind, FieldRow, rows

Read = Callable[[Tree], Any]
Config = TypeVar("Config", bound=msgspec.Struct)

NS_PER_S = 1_000_000_000
_GO_DURATION = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h)", re.ASCII)
_DAYS = re.compile(r"(\d+)([dw])", re.ASCII)
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.(\d+))?(?:[Zz]|[-+]\d\d:\d\d)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Field:
    """`attribute` is of the model's struct, `name` of the server's configuration. `read` reads the value.

    If `attribute` is empty, the name is used for both. Without `read`, the field is known but not read.
    """

    attribute: str
    name: str
    read: Read | None


@dataclass(slots=True)
class Fields:
    """What was read of one mapping: values by attribute, places by the server's name, and mistakes.

    `unread` are ignored fields that are stated, by the server's name.
    """

    values: dict[str, Any] = field(default_factory=dict)
    places: dict[str, FilePosition] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)


def read_fields(
    tree: Tree, table: Mapping[str, Field], ignored: Collection[str], what: str, ignore_case: bool = False
) -> Fields:
    """Read one mapping. An unknown key becomes a mistake with `ignored`: what applies the manifest drops it silently.

    `ignore_case`: keys are compared as Go's JSON decoder does, whatever their case.
    """
    fields = Fields()
    known = {*table, *ignored}
    for key, child in tree.entries():
        name = key.lower() if ignore_case else key
        if child.value is None:
            continue
        entry = table.get(name)
        if entry is not None and entry.read is not None:
            try:
                fields.values[entry.attribute or name] = entry.read(child)
                fields.places[entry.name] = child.place
            except ValueError as error:
                fields.mistakes.append(Mistake(child.place, f"{key}: {error}"))
        elif name in known:
            fields.unread.add(entry.name if entry is not None else name)
        else:
            near = did_you_mean(key, known)
            text = f"{what} has no field {key!r}, so it is not applied{near or '; a newer version may know it'}"
            fields.mistakes.append(Mistake(child.place, text, ignored=True, unsure=not near))
    fields.values.pop("", None)
    return fields


@dataclass(frozen=True)
class Notation:
    """How one kind of manifest calls the fields of a configuration, and how it writes values.

    `key`: what it calls a field; empty: it has no such field. `reader`: what reads a field whose values are not written
    alike in all manifests. `ignored`: keys of structs that are not read. `is_json`: the server decodes it, as Go does,
    whatever the case of a key; unknown keys within a field are no mistake then.
    """

    key: Callable[[FieldRow], Alias | str]
    reader: Callable[[FieldRow, Alias], Read]
    ignored: Mapping[type[msgspec.Struct], Collection[str]] = field(default_factory=dict)
    is_json: bool = False

    def table(self, shape: type[msgspec.Struct], within: str = "", name: str = "") -> dict[str, Field]:
        """The fields of a struct by key. `within`, `name`: attribute and name of the field that has it, with `*`."""
        table: dict[str, Field] = {}
        for row in rows(shape):
            written = self.key(row)
            key = written if isinstance(written, Alias) else Alias(written)
            if key.name == "*" and row.shape is not None:
                table |= self.table(row.shape, f"{row.attribute}.", row.name)
            elif key.name:
                known_as = Field(within + row.attribute, name or row.name, self._read(row, key))
                table[key.name.removeprefix("!")] = known_as
        return table

    def _read(self, row: FieldRow, key: Alias) -> Read | None:
        if not key.is_read:
            return None
        if row.shape is not None:
            read = self.mapping(row.shape)
            return listed(read) if row.kind is FieldKind.STRUCTS else read
        choices = row.setting.choices if key.choices is None else key.choices
        plain = _PLAIN.get(row.kind) if key.least is None else None
        reads = one_of(*choices) if choices else plain or self.reader(row, key)
        return (lambda tree: not reads(tree)) if key.name.startswith("!") else reads

    def mapping(self, shape: type[msgspec.Struct]) -> Read:
        """A function that reads a struct within a field. It raises the struct's first mistake as `ValueError`."""
        table = self.table(shape)

        def read(tree: Tree) -> Any:
            if not isinstance(tree.value, dict):
                raise ValueError("a mapping is expected")
            fields = read_fields(tree, table, self.ignored.get(shape, ()), _STRUCT_NAMES[shape], self.is_json)
            if wrong := [mistake for mistake in fields.mistakes if not (mistake.ignored and self.is_json)]:
                raise ValueError(wrong[0].says)
            return made(shape, fields.values)

        return read


_STRUCT_NAMES: dict[type[msgspec.Struct], str] = {
    SubjectTransform: "a subject transform",
    SourceConfig: "a source",
    ExternalStream: "an external stream",
    Placement: "a placement",
    Republish: "a republish",
    ConsumerLimits: "consumer_limits",
}


def made(shape: type[Config], values: Mapping[str, Any]) -> Config:
    """The struct with these values. A name with a dot is of a struct within: `consumer_limits.max_ack_pending`."""
    own: dict[str, Any] = {}
    within: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        outer, _, inner = name.rpartition(".")
        (within.setdefault(outer, {}) if outer else own)[inner] = value
    for row in rows(shape):
        if row.shape is not None and any(within.get(row.attribute, {}).values()):
            own[row.attribute] = row.shape(**within[row.attribute])
    return shape(**own)


def text(tree: Tree) -> str:
    """A text."""
    if not isinstance(tree.value, str):
        raise ValueError("a text is expected")
    return tree.value


def one_of(*allowed: str) -> Read:
    """A reader of one of these words."""

    def read(tree: Tree) -> str:
        if tree.value not in allowed:
            raise ValueError(f"one of {', '.join(filter(None, allowed))} is expected")
        return str(tree.value)

    return read


def number(tree: Tree) -> int:
    """A whole number."""
    if isinstance(tree.value, float) and tree.value.is_integer():
        return int(tree.value)
    if not isinstance(tree.value, int) or isinstance(tree.value, bool):
        raise ValueError("a whole number is expected" + (", without quotes" if isinstance(tree.value, str) else ""))
    return tree.value


def integer(bits: int = 64, signed: bool = True) -> Read:
    """A reader of a whole number as Go decodes JSON: no fraction, no exponent, within the size of its type."""
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)

    def read(tree: Tree) -> int:
        if isinstance(tree.value, float):
            raise ValueError("a whole number is expected, without a fraction or an exponent")
        if not least <= (value := number(tree)) <= most:
            raise ValueError(f"{value} is not from {least} to {most}")
        return value

    return read


def listed(read: Read) -> Read:
    """A reader of a list of values, each read by `read`."""

    def read_all(tree: Tree) -> tuple[Any, ...]:
        return tuple(read(item) for item in _list(tree))

    return read_all


def at_least(least: int) -> Read:
    """A reader of a whole number that is not below a bound."""

    def read(tree: Tree) -> int:
        if (value := number(tree)) < least:
            raise ValueError(f"{value} is below {least}, the least that is allowed")
        return value

    return read


def between(least: int, most: int) -> Read:
    """A reader of a whole number within bounds."""

    def read(tree: Tree) -> int:
        if not least <= (value := number(tree)) <= most:
            raise ValueError(f"{value} is not from {least} to {most}")
        return value

    return read


def boolean(tree: Tree) -> bool:
    """True or false."""
    if not isinstance(tree.value, bool):
        raise ValueError("true or false is expected")
    return tree.value


def go_duration(tree: Tree) -> int:
    """Nanoseconds of a duration as Go's `time.ParseDuration` takes it: hours are its largest unit."""
    written = text(tree)
    if written in ("0", "+0", "-0", ""):
        return 0
    parts = list(_GO_DURATION.finditer(written.lstrip("+-")))
    if not parts or "".join(part.group() for part in parts) != written.lstrip("+-") or written[:2] in ("--", "++"):
        if days := _DAYS.fullmatch(written):
            hours = int(days[1]) * (24 if days[2] == "d" else 168) if len(days[1]) < 8 else 0
            raise ValueError(f"{written!r} is no duration in Go, whose largest unit is the hour; write {hours}h")
        raise ValueError(f"{written[:40]!r} is no duration in Go; write it as 250ms, 30s, 5m or 72h")
    magnitude = parse_duration(re.sub(r"(?<!\d)\.", "0.", re.sub(r"\.(?=[a-zµ])", "", written.lstrip("+-"))))
    return -magnitude if written[0] == "-" else magnitude


def seconds(tree: Tree) -> int:
    """Nanoseconds of a number of seconds."""
    return number(tree) * NS_PER_S


def texts(tree: Tree) -> tuple[str, ...]:
    """A list of texts."""
    return tuple(text(item) for item in _list(tree))


def labels(tree: Tree) -> dict[str, str]:
    """A mapping of texts."""
    if not isinstance(tree.value, dict):
        raise ValueError("a mapping is expected")
    return {key: text(child) for key, child in tree.entries()}


def moment(tree: Tree) -> datetime:
    """A time with its zone, as RFC 3339 writes it."""
    written = text(tree)
    match = _RFC3339.fullmatch(written)
    if match is None:
        raise ValueError("a time as 2026-11-21T10:00:00Z is expected")
    fraction = match[1]
    if fraction and len(fraction) > 6:
        written = written.replace(fraction, fraction[:6], 1)
    return datetime.fromisoformat(written.upper()).astimezone(UTC)


def anything(tree: Tree) -> object:
    """Whether there is a value, of any type."""
    return tree.value is not None


def _list(tree: Tree) -> list[Tree]:
    if not isinstance(tree.value, list):
        raise ValueError("a list is expected")
    return tree.value


_PLAIN = {
    FieldKind.TEXT: text,
    FieldKind.TEXTS: texts,
    FieldKind.FLAG: boolean,
    FieldKind.MOMENT: moment,
    FieldKind.LABELS: labels,
}
