"""Fields of a reply that no metric shows, if only some of its fields became metrics."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

import msgspec


def hidden_fields(shape: Any, shown: Mapping[str, Any], parts: Collection[str]) -> frozenset[str]:
    """The fields of a shape, by the names of its attributes, that are not among those shown.

    `parts` are fields with fields of their own of which only some may be shown: `config.max_bytes`.
    """
    hidden: set[str] = set()
    for name, key, kind in _fields(shape):
        inner = shown.get(key)
        if key not in shown:
            hidden.add(name)
        elif name in parts and isinstance(inner, Mapping):
            hidden |= {f"{name}.{below}" for below, key_below, _ in _fields(_struct_of(kind)) if key_below not in inner}
    return frozenset(hidden)


@cache
def _fields(shape: Any) -> tuple[tuple[str, str, Any], ...]:
    """Name, key in JSON and type of each field. msgspec evaluates all annotations again at each call."""
    return tuple((field.name, field.encode_name, field.type) for field in msgspec.structs.fields(shape))


def _struct_of(kind: Any) -> Any:
    """The struct of a field's type, be it optional."""
    return next(
        item for item in getattr(kind, "__args__", (kind,)) if isinstance(item, type) and item is not type(None)
    )
