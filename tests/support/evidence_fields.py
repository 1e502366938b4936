"""Every field of some evidence, and the evidence with another value in one of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from jsdoctor.model.evidence import Evidence, EvidenceSet
from jsdoctor.model.evidence_kinds import KINDS
from jsdoctor.model.finding import Subject

_FIRST_YEAR = 1970
"""Times before it stand for none, and are not moved."""
_Container = (msgspec.Struct, tuple, list, Mapping)


class Field(msgspec.Struct, frozen=True):
    """A field of all values of a type, or of the first or last of those that a fault is about."""

    shape: str
    name: str
    which: str = "all"

    def __str__(self) -> str:
        return f"{self.shape}.{self.name} of {self.which}"


class Fields:
    """The fields of some kinds of one evidence. What several kinds share is changed in all of them.

    `subjects` are those of the faults.
    """

    def __init__(self, evidence: EvidenceSet, kinds: Iterable[type[Evidence]], subjects: Collection[Subject]) -> None:
        self._evidence, self._subjects = evidence, subjects
        self._streams = {
            (subject.account, subject.stream or subject.name)
            for subject in subjects
            if subject.kind in ("consumer", "stream")
        }
        self._roots = [value for kind in KINDS if kind in set(kinds) and (value := evidence.get(kind)) is not None]
        self._parents: dict[int, set[int]] = {}
        self._values: dict[str, list[Any]] = {}
        self._nearness: dict[int, int] = {}
        for root in self._roots:
            self._index(root, 0)
        for values in self._values.values():
            values.sort(key=lambda value: -self._nearness[id(value)])

    def __iter__(self) -> Iterator[Field]:
        """Fields with a default, of all, and numbers and times, of the first and of the last."""
        for shape, values in sorted(self._values.items()):
            for field in msgspec.structs.fields(type(values[0])):
                if any(default_of(field) != getattr(value, field.name) for value in values) and _may_be_absent(field):
                    yield Field(shape, field.name)
                kinds = {type(getattr(value, field.name)) for value in values}
                if not kinds.isdisjoint((int, float, datetime)):
                    yield Field(shape, field.name, "first")
                    if len(self._near(shape)) > 1:
                        yield Field(shape, field.name, "last")

    def value(self, field: Field) -> Any:
        """The value there."""
        return getattr(self._targets(field)[0], field.name)

    def default(self, field: Field) -> Any:
        """What the field is if it is left out."""
        shape = type(self._values[field.shape][0])
        return next(default_of(known) for known in msgspec.structs.fields(shape) if known.name == field.name)

    def changed(self, field: Field, value: object) -> EvidenceSet:
        """The evidence with this value. A time is moved by so many microseconds."""
        targets = self._targets(field)
        affected = self._ancestors(id(target) for target in targets)
        ids = {id(target) for target in targets}
        made: dict[int, Any] = {}

        def rebuilt(node: Any) -> Any:
            if id(node) not in affected:
                return node
            if id(node) not in made:
                made[id(node)] = _with_children(node, rebuilt)
                if id(node) in ids:
                    new = _moved(getattr(node, field.name), value)
                    made[id(node)] = msgspec.structs.replace(made[id(node)], **{field.name: new})
            return made[id(node)]

        evidence = self._evidence
        for root in self._roots:
            if id(root) in affected:
                evidence = evidence.joined(rebuilt(root))
        return evidence

    def _targets(self, field: Field) -> list[Any]:
        if field.which == "all":
            return self._values[field.shape]
        near = self._near(field.shape)
        return [near[0] if field.which == "first" else near[-1]]

    def _near(self, shape: str) -> list[Any]:
        """The values of a type that are nearest to the subject of a fault."""
        values = self._values[shape]
        nearest = self._nearness[id(values[0])]
        return [value for value in values if self._nearness[id(value)] == nearest]

    def _ancestors(self, ids: Iterable[int]) -> set[int]:
        ancestors: set[int] = set()
        waiting = list(ids)
        while waiting:
            address = waiting.pop()
            if address not in ancestors:
                ancestors.add(address)
                waiting.extend(self._parents.get(address, ()))
        return ancestors

    def _index(self, node: Any, nearness: int) -> None:
        """`nearness`: 2 inside of the subject of a fault, 1 inside of its stream, else 0."""
        if isinstance(node, msgspec.Struct):
            nearness = max(nearness, self._near_by(node))
            self._nearness[id(node)] = nearness
            self._values.setdefault(type(node).__name__, []).append(node)
        for child in _children(node):
            if isinstance(child, _Container):
                is_new = id(child) not in self._parents
                self._parents.setdefault(id(child), set()).add(id(node))
                if is_new:
                    self._index(child, nearness)

    def _near_by(self, node: msgspec.Struct) -> int:
        subject = getattr(node, "subject", None)
        if not isinstance(subject, Subject):
            return 0
        if subject in self._subjects:
            return 2
        return 1 if subject.kind == "stream" and (subject.account, subject.name) in self._streams else 0


def _children(node: Any) -> Iterable[Any]:
    if isinstance(node, msgspec.Struct):
        return [getattr(node, name) for name in node.__struct_fields__]
    return list(node.values()) if isinstance(node, Mapping) else node


def _with_children(node: Any, made: Callable[[Any], Any]) -> Any:
    if isinstance(node, msgspec.Struct):
        former = {name: getattr(node, name) for name in node.__struct_fields__}
        new = {name: fresh for name, value in former.items() if (fresh := made(value)) is not value}
        return msgspec.structs.replace(node, **new)
    if isinstance(node, Mapping):
        return {key: made(value) for key, value in node.items()}
    return type(node)(map(made, node))


def _moved(former: object, value: object) -> object:
    if isinstance(former, datetime) and isinstance(value, int):
        return former + timedelta(microseconds=value) if former.year > _FIRST_YEAR else former
    return value


def _may_be_absent(field: msgspec.structs.FieldInfo) -> bool:
    return not field.required


def default_of(field: msgspec.structs.FieldInfo) -> Any:
    """The default of a field of a struct."""
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default
