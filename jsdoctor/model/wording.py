"""Words that findings and reports share: counts with their noun, lengths of time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

Number = float | int

EXACT_BELOW = 1e15  # a float holds every whole number up to here, and more digits are not readable
_MINUTE_NS = 60_000_000_000
_NS_PER = {
    "d": 1440 * _MINUTE_NS,
    "h": 60 * _MINUTE_NS,
    "m": _MINUTE_NS,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "µs": 1_000,
    "ns": 1,
}
_UNITS = tuple(_NS_PER.items())


def span(value_ns: Number, digits: int = 0) -> str:
    """Nanoseconds to three significant digits below a minute, else to two parts: `250ms`, `2.4s`, `1m30s`, `3d4h`."""
    sign, size_ns = ("-", -value_ns) if value_ns < 0 else ("", value_ns)
    if size_ns >= EXACT_BELOW * _NS_PER["d"]:
        return f"{sign}{count(float(size_ns) / _NS_PER['d'])}d"
    whole = round(size_ns)
    if whole == 0:
        return "0s" if size_ns == 0 else f"{sign}{count(float(size_ns), digits)}ns"
    if whole < _MINUTE_NS:
        whole = round(whole, min(0, 3 + digits - len(str(whole))))
    if whole < _MINUTE_NS:
        unit = next(unit for unit, scale in _NS_PER.items() if scale < _MINUTE_NS and whole >= scale)
        return f"{sign}{count(whole / _NS_PER[unit], digits)}{unit}"
    return sign + _parts(whole, 2 + digits)


def elapsed(value_ns: Number) -> str:
    """The time that something has lasted so far; below a minute to two digits."""
    return span(value_ns, -1 if abs(value_ns) < _MINUTE_NS else 0)


def count(value: Number, digits: int = 0) -> str:
    """A plain number with thousands separators; fractions keep three significant digits."""
    if isinstance(value, int):
        return f"{value:,}"
    size = abs(value)
    if size >= EXACT_BELOW or 0 < size < 1e-4:
        return f"{value:.{3 + digits}g}"
    if value.is_integer():
        return f"{int(value):,}"
    decimals = max(0, 2 - math.floor(math.log10(size))) + digits
    return trimmed(f"{value:,.{decimals}f}")


def trimmed(text: str) -> str:
    """A decimal number without trailing zeros."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def _parts(whole_ns: int, max_units: int) -> str:
    """The largest `wanted` units that the duration reaches, rounded to the last of them, zeros left out."""
    first = next(index for index, (_, scale) in enumerate(_UNITS) if whole_ns >= scale)
    last = min(first + max_units, len(_UNITS)) - 1
    smallest = _UNITS[last][1]
    rest = (whole_ns + smallest // 2) // smallest * smallest
    parts = []
    for unit, scale in _UNITS[: last + 1]:
        number, rest = divmod(rest, scale)
        if number:
            parts.append(f"{number:,}{unit}")
    return "".join(parts)


def compared(measured: int, limit: int) -> str:
    """The words between a value and its limit: `as much as`, `more than`, or `against` if it is below."""
    if measured == limit:
        return "as much as"
    return "more than" if measured > limit else "against"


def counted(number: int, noun: str) -> str:
    """A count with its noun: `1 message`, `4,200 messages`. For nouns that take an s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def joined(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`; empty for none."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""


def listed(names: Iterable[str], limit: int) -> str:
    """The names, separated by commas; after `limit` of them how many more there are. A limit of 0 lists all."""
    every = list(names)
    shown = every[:limit] if limit else every
    more = len(every) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")
