"""Any value that was read somewhere as plain JSON types: whatever a server sent, a report can carry it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime

import msgspec

from jsdoctor.render.escape import without_lone_surrogates
from jsdoctor.render.wording import rfc3339

_JSON_SCALARS = frozenset((bool, int, type(None)))
_MAX_COMPACT = 200


def plain(value: object) -> object:
    """The value as JSON types. A number that is not finite becomes null, anything unknown its text."""
    kind = type(value)
    if kind in _JSON_SCALARS or (isinstance(value, str) and value.isascii()):
        return value
    if kind is dict:  # before the classes below, whose instances take long to tell
        return {key if _is_plain_key(key) else str(plain(key)): plain(member) for key, member in value.items()}  # type: ignore[attr-defined]
    if kind is list or kind is tuple:
        return [plain(member) for member in value]  # type: ignore[attr-defined]
    match value:
        case Mapping():
            return {str(plain(key)): plain(member) for key, member in value.items()}
        case list() | tuple():
            return [plain(member) for member in value]
        case AbstractSet():
            return [plain(member) for member in sorted(value, key=repr)]
        case msgspec.Struct():
            names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
            return {key: plain(getattr(value, name)) for key, name in names}
    return _scalar(value)


def _is_plain_key(key: object) -> bool:
    return type(key) is str and key.isascii()


def _scalar(value: object) -> object:
    match value:
        case str():
            return without_lone_surrogates(value)
        case float():
            return value if math.isfinite(value) else None
        case datetime():
            return rfc3339(value)
        case bytes():
            return value.decode("utf-8", "backslashreplace")
        case int():
            return int(value)
    return without_lone_surrogates(str(value))


def compact(value: object) -> str:
    """The value on one short line, for a person: text as it is, everything else as JSON."""
    if isinstance(value, str):
        return value
    text = json.dumps(plain(value), ensure_ascii=False)
    return text if len(text) <= _MAX_COMPACT else text[: _MAX_COMPACT - 1] + "…"
