"""Reading objects of the Kubernetes API as JSON: parts that are missing or of another kind are empty."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from jsdoctor.parse.quantity import quantity_bytes

Json = Mapping[str, Any]


def inner(value: Json, *keys: str) -> Json:
    """The object under this path of keys."""
    for key in keys:
        member = value.get(key)
        value = member if isinstance(member, dict) else {}
    return value


def elements(value: Json, key: str) -> Iterator[Json]:
    """The objects of a list."""
    member = value.get(key)
    return (item for item in (member if isinstance(member, list) else ()) if isinstance(item, dict))


def text(value: Json, key: str) -> str:
    """A text or number as text."""
    member = value.get(key)
    return "" if member is None or isinstance(member, dict | list) else str(member)


def whole(value: object, default: int = 0) -> int:
    """A whole number, else the default."""
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def size(value: object) -> int:
    """Bytes of a quantity."""
    return (quantity_bytes(str(value)) or 0) if isinstance(value, str | int) else 0


def moment(value: object) -> datetime | None:
    """A time."""
    try:
        return msgspec.convert(value, datetime) if isinstance(value, str) else None
    except msgspec.ValidationError:
        return None
