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
        found = value.get(key)
        value = found if isinstance(found, dict) else {}
    return value


def elements(value: Json, key: str) -> Iterator[Json]:
    """The objects of a list."""
    found = value.get(key)
    return (one for one in (found if isinstance(found, list) else ()) if isinstance(one, dict))


def text(value: Json, key: str) -> str:
    """A text or number as text."""
    found = value.get(key)
    return "" if found is None or isinstance(found, dict | list) else str(found)


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
