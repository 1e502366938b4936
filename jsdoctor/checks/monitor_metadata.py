"""Thresholds that operators write into an asset's own metadata, as `nats audit` and `nats server check` read them.

Keys begin with `io.nats.monitor.`. Nothing counts unless `io.nats.monitor.enabled` is true; a threshold of zero or
below is off (jsm.go monitor/stream.go, monitor/consumer.go, audit/jetstream_checks.go).

A parameter that is set for this run, on the command line or in a configuration file, goes before the metadata; the
metadata goes before the default of the rule's page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from enum import Enum
from typing import Self

import msgspec

from jsdoctor.model.params import Params

PREFIX = "io.nats.monitor."
ENABLED = PREFIX + "enabled"

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_COUNT = re.compile(r"[+-]?\d+", re.ASCII)
_HOUR_NS = 3_600_000_000_000
_UNITS_NS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": _HOUR_NS,
    "d": 24 * _HOUR_NS,
    "D": 24 * _HOUR_NS,
    "w": 7 * 24 * _HOUR_NS,
    "W": 7 * 24 * _HOUR_NS,
    "M": 30 * 24 * _HOUR_NS,
    "y": 365 * 24 * _HOUR_NS,
    "Y": 365 * 24 * _HOUR_NS,
}
_MAX_NS = (1 << 63) - 1
_MAX_TEXT_LENGTH = 64
_PART = re.compile(r"(\d+\.?\d*|\.\d+)([a-zA-Zµ]+)", re.ASCII)


class ValueKind(Enum):
    """What the value of a key is."""

    COUNT = "a whole number"
    DURATION = "a duration such as 30s, 5m or 1d"
    FLAG = "true or false"


class Thresholds(msgspec.Struct, frozen=True):
    """The thresholds that are on, by key without the prefix; of unreadable ones, the kind of value they should have.

    `own`: the keys whose value is from the asset's metadata. The others are for every asset.
    """

    counts: dict[str, int] = {}
    durations_ns: dict[str, int] = {}
    flags: frozenset[str] = frozenset()
    unreadable: dict[str, str] = {}
    own: frozenset[str] = frozenset()


class Presets(msgspec.Struct, frozen=True):
    """Thresholds from a rule's parameters, by key: `given` for this run, and `defaults` of the rule's page."""

    given: dict[str, int] = {}
    defaults: dict[str, int] = {}

    @classmethod
    def of(cls, params: Params, keys: Iterable[str]) -> Self:
        """The parameter of a key has its name with underscores. That of a flag is a number: zero is off."""
        values = {key: params.optional(name) for key in keys if (name := key.replace("-", "_")) in params}
        known = {key: int(value) for key, value in values.items() if value is not None}
        return cls(
            given={key: value for key, value in known.items() if key.replace("-", "_") in params.given},
            defaults={key: value for key, value in known.items() if key.replace("-", "_") not in params.given},
        )


def read_thresholds(
    metadata: Mapping[str, str], keys: Mapping[str, ValueKind], presets: Presets | None = None
) -> Thresholds | None:
    """The thresholds that count for an asset; None when none is set for it. `keys` come without the prefix."""
    given, defaults = (presets.given, presets.defaults) if presets else ({}, {})
    enabled = metadata.get(ENABLED)
    own: dict[str, int] = {}
    unreadable = {} if enabled is None or enabled in _TRUE | _FALSE else {"enabled": ValueKind.FLAG.value}
    for key in keys if enabled in _TRUE else ():
        if key not in given and (text := metadata.get(PREFIX + key)) is not None:
            try:
                own[key] = _value(text, keys[key])
            except ValueError:
                unreadable[key] = keys[key].value
    if enabled not in _TRUE and not unreadable and not given and not defaults:
        return None
    on = {key: value for key, value in (defaults | own | given).items() if value > 0 and key not in unreadable}
    return Thresholds(
        counts={key: value for key, value in on.items() if keys[key] is ValueKind.COUNT},
        durations_ns={key: value for key, value in on.items() if keys[key] is ValueKind.DURATION},
        flags=frozenset(key for key in on if keys[key] is ValueKind.FLAG),
        unreadable=unreadable,
        own=frozenset(on.keys() & own.keys()),
    )


def own_count(params: Params, name: str, metadata: Mapping[str, str], key: str) -> int:
    """Parameter *name* of a rule, for an asset that may have its own threshold for the same thing under *key*.

    The asset's own comes before the default of the rule page, and a value given for this run before both.
    """
    return _own_or_parameter(params, name, metadata, key, ValueKind.COUNT)


def own_duration_ns(params: Params, name: str, metadata: Mapping[str, str], key: str) -> int:
    """The same for a duration, in nanoseconds."""
    return _own_or_parameter(params, name, metadata, key, ValueKind.DURATION)


def _own_or_parameter(params: Params, name: str, metadata: Mapping[str, str], key: str, kind: ValueKind) -> int:
    """The parameter if it is set for this run, else the value under the key, else the default of the page."""
    if name in params.given or ENABLED not in metadata:
        return params.integer(name)
    own = read_thresholds(metadata, {key: kind})
    thresholds = {**own.counts, **own.durations_ns} if own else {}
    return thresholds[key] if key in thresholds else params.integer(name)


def _value(text: str, kind: ValueKind) -> int:
    if kind is ValueKind.DURATION:
        return parse_monitor_duration(text)
    if kind is ValueKind.COUNT:
        if len(text) > _MAX_TEXT_LENGTH or not _COUNT.fullmatch(text):
            raise ValueError(text)
        return int(text)
    if text not in _TRUE | _FALSE:
        raise ValueError(text)
    return int(text in _TRUE)


def parse_monitor_duration(text: str) -> int:
    """Nanoseconds of a Go duration that may also use `d`, `w`, `M` (30 days) and `y` (365 days); `m` is minutes.

    Raises `ValueError` when it is none (jsm.go ParseDuration).
    """
    stripped = text.strip()
    if stripped in ("0", "+0", "-0"):
        return 0
    sign, rest = (-1, stripped[1:]) if stripped.startswith("-") else (1, stripped.removeprefix("+"))
    parts = list(_PART.finditer(rest)) if len(rest) <= _MAX_TEXT_LENGTH else []
    if not parts or "".join(part.group() for part in parts) != rest:
        raise ValueError(f"{text!r} is not a duration")
    if unknown := [part[2] for part in parts if part[2] not in _UNITS_NS]:
        raise ValueError(f"{text!r}: there is no unit {unknown[0]!r}")
    duration_ns = sign * round(sum(Decimal(part[1]) * _UNITS_NS[part[2]] for part in parts))
    if abs(duration_ns) > _MAX_NS:
        raise ValueError(f"{text!r} is too long for a duration")
    return duration_ns
