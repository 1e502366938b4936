"""Durations as Go and the `nats` CLI write them (`250ms`, `1m30s`, `72h`, `7d`), to nanoseconds and back."""

from __future__ import annotations

import re
from decimal import Decimal

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
    "d": 86_400_000_000_000,
    "w": 604_800_000_000_000,
}
MAX_NS = (1 << 63) - 1
"""Go counts nanoseconds in 64 bits, one of them for the sign: 292 years."""
_MAX_TEXT_LENGTH = 64
_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h|d|w)", re.ASCII)


def parse_duration(text: str) -> int:
    """Nanoseconds of a duration such as `1h30m`. Raises `ValueError` with an example when it is not one."""
    stripped = text.strip()
    if stripped == "0":
        return 0
    if len(stripped) > _MAX_TEXT_LENGTH:
        raise ValueError(
            f"{text[:_MAX_TEXT_LENGTH]!r}… is too long for a duration; write it as 250ms, 5s, 2m, 1h30m or 7d"
        )
    parts = list(_PART.finditer(stripped))
    if not parts or "".join(part.group() for part in parts) != stripped:
        raise ValueError(f"{text!r} is not a duration; write it as 250ms, 5s, 2m, 1h30m or 7d")
    duration_ns = round(sum(Decimal(part[1]) * _UNITS[part[2]] for part in parts))
    if duration_ns > MAX_NS:
        raise ValueError(f"{text!r} is longer than {format_duration(MAX_NS)}, the longest duration there is")
    return duration_ns


def format_duration(duration_ns: int) -> str:
    """The shortest exact Go spelling of a whole number of nanoseconds: `90s` is `1m30s`, 0 is `0s`."""
    if duration_ns == 0:
        return "0s"
    sign, rest = ("-", -duration_ns) if duration_ns < 0 else ("", duration_ns)
    parts = []
    for unit in ("h", "m", "s", "ms", "us", "ns"):
        count, rest = divmod(rest, _UNITS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return sign + "".join(parts)


def parse_positive_seconds(text: str) -> float:
    """Seconds of a duration that is longer than zero. Raises `ValueError` for another text."""
    seconds = parse_duration(text) / 1e9
    if seconds <= 0:
        raise ValueError("it must be longer than zero")
    return seconds
