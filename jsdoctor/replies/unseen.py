"""Fields that a reply does not show: it was cut, or lacks what servers always send."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import msgspec

from jsdoctor.model.reported import Reported, Sent
from jsdoctor.model.setting import struct_of


class _ReplyField(NamedTuple):
    name: str
    key: str
    below: Any
    is_sent: bool


def unseen_fields(value: Mapping[str, Any], shape: Any, cut: frozenset[str], path: str = "") -> frozenset[str]:
    """The fields of a shape, as paths of attributes, that a cut reply does not show. `cut`: paths of cut containers.

    In a container that is not cut, a missing field has its default, unless servers always send it.
    """
    unseen: set[str] = set()
    for name, key, shape_below, is_sent in reply_fields(shape):
        inner = value.get(key)
        if key not in value:
            unseen.update({f"{path}.{name}" if path else name} if is_sent or path in cut else ())
        elif isinstance(inner, list | dict):
            below = f"{path}.{key}" if path else key
            if shape_below is not None and isinstance(inner, dict):
                unseen |= unseen_fields(inner, shape_below, cut, below)
            elif any(text == below or text.startswith(f"{below}.") for text in cut):
                unseen.add(below)
    return frozenset(unseen)


def with_lacking(value: Any, plain: Any) -> tuple[Any, set[str]]:
    """The decoded value, in which each `Reported` object names the fields that it lacks; and other lacking fields.

    `plain` is the same JSON without types.
    """
    if isinstance(value, tuple | dict):
        keys = range(len(value)) if isinstance(value, tuple) else value
        results = {key: with_lacking(value[key], plain[key]) for key in keys}
        items = {key: item for key, (item, _) in results.items()}
        return tuple(items.values()) if isinstance(value, tuple) else items, set().union(
            *(u for _, u in results.values())
        )
    if not isinstance(value, msgspec.Struct):
        return value, set()
    parts: dict[str, Any] = {}
    lacking: set[str] = set()
    for name, key, _, is_sent in reply_fields(type(value)):
        if key in plain:
            parts[name], below = with_lacking(getattr(value, name), plain[key])
            lacking |= {f"{name}.{path}" for path in below}
        elif is_sent:
            lacking.add(name)
    if isinstance(value, Reported):
        return msgspec.structs.replace(value, **parts, unseen=frozenset(lacking)), set()
    return msgspec.structs.replace(value, **parts), lacking


@cache
def reply_fields(shape: Any) -> tuple[_ReplyField, ...]:
    """The fields of a struct, worked out once. `below`: the struct that a field holds."""
    return tuple(
        _ReplyField(field.name, field.encode_name, struct_of(field.type), isinstance(field.default_factory, Sent))
        for field in msgspec.structs.fields(shape)
        if field.name != "unseen"
    )
