"""Thresholds that operators write into an asset's own metadata, as `nats audit` and `nats server check` read them.

Keys begin with `io.nats.monitor.`. Nothing counts unless `io.nats.monitor.enabled` is true; a threshold of zero or
below is off (jsm.go monitor/stream.go, monitor/consumer.go, audit/jetstream_checks.go).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum

import msgspec

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
_PART = re.compile(r"(\d+\.?\d*|\.\d+)([a-zA-Zµ]+)", re.ASCII)


class Kind(Enum):
    """What the value of a key is."""

    COUNT = "a whole number"
    DURATION = "a duration such as 30s, 5m or 1d"
    FLAG = "true or false"


class Thresholds(msgspec.Struct, frozen=True):
    """The thresholds that are on, by key without the prefix, and what could not be read: key to what it should be."""

    counts: dict[str, int] = {}
    durations_ns: dict[str, int] = {}
    flags: frozenset[str] = frozenset()
    unreadable: dict[str, str] = {}


def read_thresholds(metadata: Mapping[str, str], keys: Mapping[str, Kind]) -> Thresholds | None:
    """The thresholds in an asset's metadata; None when it asks for no monitoring. `keys` come without the prefix."""
    if (wanted := metadata.get(ENABLED)) is None or wanted in _FALSE:
        return None
    if wanted not in _TRUE:
        return Thresholds(unreadable={"enabled": Kind.FLAG.value})
    counts: dict[str, int] = {}
    durations: dict[str, int] = {}
    flags: set[str] = set()
    unreadable: dict[str, str] = {}
    for key, kind in keys.items():
        if (text := metadata.get(PREFIX + key)) is None:
            continue
        try:
            value = _value(text, kind)
        except ValueError:
            unreadable[key] = kind.value
            continue
        if kind is Kind.FLAG and value:
            flags.add(key)
        elif kind is Kind.COUNT and value > 0:
            counts[key] = value
        elif kind is Kind.DURATION and value > 0:
            durations[key] = value
    return Thresholds(counts, durations, frozenset(flags), unreadable)


def _value(text: str, kind: Kind) -> int:
    if kind is Kind.DURATION:
        return parse_monitor_duration(text)
    if kind is Kind.COUNT:
        if not _COUNT.fullmatch(text):
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
    parts = list(_PART.finditer(rest))
    if not parts or "".join(part.group() for part in parts) != rest:
        raise ValueError(f"{text!r} is not a duration")
    if unknown := [part[2] for part in parts if part[2] not in _UNITS_NS]:
        raise ValueError(f"{text!r}: there is no unit {unknown[0]!r}")
    return sign * round(sum(float(part[1]) * _UNITS_NS[part[2]] for part in parts))
