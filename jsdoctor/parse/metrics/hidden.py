"""Which fields of a reply nobody showed, where only some of its fields became metrics."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec


def hidden_fields(shape: type[Any], shown: Mapping[str, Any], parts: Collection[str]) -> frozenset[str]:
    """The fields of a shape, by the names of its attributes, that are not among those shown.

    `parts` are fields with fields of their own of which only some may be shown: `config.max_bytes`.
    """
    hidden: set[str] = set()
    for field in msgspec.structs.fields(shape):
        inner = shown.get(field.encode_name)
        if field.encode_name not in shown:
            hidden.add(field.name)
        elif field.name in parts and isinstance(inner, Mapping):
            below = msgspec.structs.fields(_struct_of(field.type))
            hidden |= {f"{field.name}.{one.name}" for one in below if one.encode_name not in inner}
    return frozenset(hidden)


def _struct_of(kind: Any) -> Any:
    """The struct of a field's type, be it optional."""
    return next(one for one in getattr(kind, "__args__", (kind,)) if isinstance(one, type) and one is not type(None))
