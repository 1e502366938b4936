"""The `[[policies]]` of a configuration file: what an operator requires of streams and consumers, or its mistakes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jsdoctor.model.duration import parse_duration
from jsdoctor.model.finding import Severity
from jsdoctor.model.nearest import did_you_mean
from jsdoctor.model.policy import METADATA, Condition, Policy, policy_fields
from jsdoctor.model.rule import RESERVED_PREFIX
from jsdoctor.model.setting import FieldKind

_CODE = re.compile(r"[A-Z]{2,8}\d{3,4}")
_ASSETS = ("stream", "consumer")
_POLICY_KEYS = ("code", "title", "on", "fields", "severity", "match", "url")
_MATCH = {"stream": ("name", "account", "metadata"), "consumer": ("name", "account", "stream", "metadata")}
_CONDITIONS = ("required", "min", "max", "one-of", "pattern")
_SIZE_UNITS = {"": 1, "B": 1, "K": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4}
_SIZE_UNITS |= {"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}
_SIZE_UNITS |= {"KB": 1000, "MB": 1000**2, "GB": 1000**3, "TB": 1000**4}
_SIZE = re.compile(r"(\d+) ?([A-Za-z]*)")
_ORDERED = (FieldKind.NUMBER, FieldKind.BYTES, FieldKind.DURATION)
_TEXTUAL = (FieldKind.TEXT, FieldKind.TEXTS)


def parse_policies(origin: str, tables: Any, lines: list[int], problems: list[str]) -> Iterator[Policy]:
    """The policies without mistakes. `lines` are those of the tables. Mistakes are appended to `problems`."""
    line = lines[0] if lines else 1
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        problems.append(f"{origin}:{line}: 'policies' must hold tables: [[policies]]")
        return
    codes: set[str] = set()
    for number, table in enumerate(tables):
        line = lines[number] if len(lines) == len(tables) else line
        try:
            policy = _policy(table, origin, line)
            if policy.code in codes:
                raise ValueError(f"the code {policy.code} is used twice")
        except ValueError as error:
            problems.append(f"{origin}:{line}: 'policies': {error}")
        else:
            codes.add(policy.code)
            yield policy


def _policy(table: Mapping[str, Any], origin: str, line: int) -> Policy:
    """The policy of a table. Raises ValueError with the first mistake."""
    _refuse_unknown(table, _POLICY_KEYS, "key")
    code, title, on = (_policy_text(table, key, required=True) for key in ("code", "title", "on"))
    if not _CODE.fullmatch(code) or code.startswith(RESERVED_PREFIX):
        raise ValueError(f"the code {code!r} must be capital letters, other than JSD, and three digits, as in ORD001")
    if on not in _ASSETS:
        raise ValueError(f"'on' is {on!r}, not one of {', '.join(_ASSETS)}{did_you_mean(on, _ASSETS)}")
    severity = table.get("severity", Severity.WARNING.value)
    if severity not in [choice.value for choice in Severity]:
        raise ValueError(f"'severity' is {severity!r}, not one of {', '.join(choice.value for choice in Severity)}")
    fields = table.get("fields")
    if not isinstance(fields, Mapping) or not fields:
        raise ValueError("'fields' is missing: fields = { num_replicas = { min = 3 } }")
    match = table.get("match", {})
    if not isinstance(match, Mapping):
        raise ValueError("'match' must be a table: match = { name = \"ORDERS*\" }")
    _refuse_unknown(match, _MATCH[on], "key of 'match'")
    metadata = match.get("metadata", {})
    if not isinstance(metadata, Mapping) or not all(isinstance(value, str) for value in metadata.values()):
        raise ValueError("'match.metadata' must be a table of texts")
    return Policy(
        code=code,
        title=title,
        on=on,
        conditions=dict(_conditions(on, fields)),
        severity=Severity(severity),
        **{key: _policy_text(match, key) or "*" for key in ("name", "account", "stream")},
        metadata=dict(metadata),
        url=_policy_text(table, "url"),
        origin=origin,
        line=line,
    )


def _conditions(on: str, fields: Mapping[str, Any]) -> Iterator[tuple[str, Condition]]:
    known = policy_fields(on)
    flat = {name: table for name, table in fields.items() if name != "metadata"}
    metadata = fields.get("metadata", {})
    if not isinstance(metadata, Mapping):
        raise ValueError("'fields.metadata' must be a table of keys")
    flat |= {f"{METADATA}{key}": table for key, table in metadata.items()}
    for name, table in flat.items():
        kind = FieldKind.TEXT if name.startswith(METADATA) else known.get(name)
        if kind is None:
            raise ValueError(f"a {on} has no field {name!r} that a policy can judge{did_you_mean(name, known)}")
        if not isinstance(table, Mapping) or not table:
            raise ValueError(f"{name!r} needs a condition: {name} = {{ required = true }}")
        _refuse_unknown(table, _CONDITIONS, f"condition of {name!r}")
        yield name, _condition(name, kind, table)


def _condition(name: str, kind: FieldKind, table: Mapping[str, Any]) -> Condition:
    if not isinstance(table.get("required", False), bool):
        raise ValueError(f"{name}.required must be true or false")
    bounds = {key: table[key] for key in ("min", "max") if key in table}
    if bounds and kind not in _ORDERED:
        raise ValueError(f"{name} is a {kind.value}: it has no 'min' and no 'max'")
    pattern = table.get("pattern", "")
    if pattern and kind not in _TEXTUAL:
        raise ValueError(f"{name} is a {kind.value}: it has no 'pattern'")
    try:
        re.compile(pattern)
    except (re.error, TypeError) as error:
        raise ValueError(f"{name}.pattern is no regular expression: {error}") from None
    one_of = table.get("one-of")
    if one_of is not None and (not isinstance(one_of, list) or not one_of):
        raise ValueError(f"{name}.one-of must be a list of values")
    values = {key: _value(name, kind, value) for key, value in bounds.items()}
    return Condition(
        required=table.get("required", False),
        min=values.get("min"),
        max=values.get("max"),
        one_of=None if one_of is None else tuple(_value(name, kind, value) for value in one_of),
        pattern=pattern,
    )


def _value(name: str, kind: FieldKind, value: Any) -> Any:
    """The value of a condition in the unit of its field. Raises ValueError if its type does not fit."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if kind is FieldKind.DURATION and isinstance(value, str):
        return parse_duration(value)
    if kind is FieldKind.BYTES and isinstance(value, str):
        match = _SIZE.fullmatch(value.strip())
        if match is None or match[2].upper() not in _SIZE_UNITS:
            raise ValueError(f'{name}: {value!r} is no size; write it as "100GiB" or in bytes')
        return int(match[1]) * _SIZE_UNITS[match[2].upper()]
    fits = {
        FieldKind.TEXT: isinstance(value, str),
        FieldKind.TEXTS: isinstance(value, str),
        FieldKind.FLAG: isinstance(value, bool),
        FieldKind.NUMBER: whole,
        FieldKind.BYTES: whole,
        FieldKind.DURATION: False,
    }
    if not fits[kind]:
        example = ' such as "72h"' if kind is FieldKind.DURATION else ""
        raise ValueError(f"{name}: {value!r} is no {kind.value.removesuffix('s')}{example}")
    return value


def _policy_text(table: Mapping[str, Any], key: str, required: bool = False) -> str:
    value = table.get(key, "")
    if not isinstance(value, str) or (required and not value.strip()):
        raise ValueError(f"{key!r} must be a text" if key in table else f"{key!r} is missing")
    return value.strip()


def _refuse_unknown(table: Mapping[str, Any], keys: Iterable[str], what: str) -> None:
    for key in table:
        if key not in keys:
            raise ValueError(f"unknown {what} {key!r}{did_you_mean(key, keys)}")
