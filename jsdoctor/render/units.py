"""Formats quantities for people: 90000000000 ns is 1m30s, 0.83 is 83 %, 1610612736 bytes are 1.5 GiB."""

from __future__ import annotations

import math
from collections.abc import Callable

Number = float | int

_MAX_EXTRA_DIGITS = 3
_MAX_DECIMALS = 6
_EXACT_BELOW = 1e15  # a float holds every whole number up to here, and more digits are not readable
_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
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


def quantity(value: Number | str, unit: str | None, digits: int = 0) -> str:
    """A value with its unit. `digits` requests that many digits (or parts of a duration) more than usual.

    Known units: `duration` and `ns`, `us`, `ms`, `s` (all times), `bytes`, `bytes_per_second`, `ratio`, `count`,
    `per_second`; any other unit is printed after the number. Text is returned unchanged.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and not math.isfinite(value):
        return "unknown" if math.isnan(value) else ("infinite" if value > 0 else "minus infinite")
    known = _KNOWN.get(unit or "count")
    return known(value, digits) if known else f"{count(value, digits)} {unit}"


def distinguishable(measured: Number | str, threshold: Number | str, unit: str | None) -> tuple[str, str]:
    """Both values with just as many digits as it takes to see that they differ, if they do: 79.6 % is not 80 %."""
    pair = quantity(measured, unit), quantity(threshold, unit)
    for digits in range(1, _MAX_EXTRA_DIGITS + 1):
        if measured == threshold or pair[0] != pair[1]:
            return pair
        pair = quantity(measured, unit, digits), quantity(threshold, unit, digits)
    if measured == threshold or pair[0] != pair[1]:
        return pair
    return f"{measured} {unit or ''}".rstrip(), f"{threshold} {unit or ''}".rstrip()


def count(value: Number, digits: int = 0) -> str:
    """A plain number with thousands separators; fractions keep three significant digits."""
    if isinstance(value, int):
        return f"{value:,}"
    size = abs(value)
    if size >= _EXACT_BELOW or 0 < size < 1e-4:
        return f"{value:.{3 + digits}g}"
    if value.is_integer():
        return f"{int(value):,}"
    decimals = max(0, 2 - math.floor(math.log10(size))) + digits
    return _trimmed(f"{value:,.{decimals}f}")


def duration(value_ns: Number, digits: int = 0) -> str:
    """Nanoseconds to three significant digits below a minute, else to two parts: `250ms`, `2.4s`, `1m30s`, `3d4h`."""
    sign, size_ns = ("-", -value_ns) if value_ns < 0 else ("", value_ns)
    if size_ns >= _EXACT_BELOW * _NS_PER["d"]:
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


def size(value: Number, digits: int = 0) -> str:
    """Bytes in binary units with one decimal: `512 B`, `1.5 GiB`."""
    sign, rest = ("-", float(-value)) if value < 0 else ("", float(value))
    for unit in _BYTE_UNITS:
        decimals = 0 if unit == "B" and rest.is_integer() else 1 + digits
        if round(rest, decimals) < 1024 or unit == _BYTE_UNITS[-1]:
            return f"{sign}{_trimmed(f'{rest:,.{decimals}f}') if rest < _EXACT_BELOW else count(rest)} {unit}"
        rest /= 1024
    raise AssertionError("the last unit takes everything")


def share(value: Number, digits: int = 0) -> str:
    """A ratio in percent. What is short of the whole does not read 100 %, what is more than nothing not 0 %."""
    percent = float(value) * 100
    if abs(percent) >= _EXACT_BELOW:
        return f"{count(percent)} %"
    decimals = digits
    while decimals < _MAX_DECIMALS and round(percent, decimals) in (0, 100) and percent not in (0, 100):
        decimals += 1
    return f"{_trimmed(f'{percent:,.{decimals}f}')} %"


def rate(value: Number, digits: int = 0) -> str:
    """Events per second."""
    return f"{count(value, digits)}/s"


def _parts(whole_ns: int, wanted: int) -> str:
    """The largest `wanted` units that the duration reaches, rounded to the last of them, zeros left out."""
    first = next(index for index, (_, scale) in enumerate(_UNITS) if whole_ns >= scale)
    last = min(first + wanted, len(_UNITS)) - 1
    smallest = _UNITS[last][1]
    rest = (whole_ns + smallest // 2) // smallest * smallest
    parts = []
    for unit, scale in _UNITS[: last + 1]:
        number, rest = divmod(rest, scale)
        if number:
            parts.append(f"{number:,}{unit}")
    return "".join(parts)


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


_KNOWN: dict[str, Callable[[Number, int], str]] = {
    "duration": duration,
    "ns": duration,
    "us": lambda value, digits: duration(value * 1_000, digits),
    "ms": lambda value, digits: duration(value * 1_000_000, digits),
    "s": lambda value, digits: duration(value * 1_000_000_000, digits),
    "bytes": size,
    "bytes_per_second": lambda value, digits: f"{size(value, digits)}/s",
    "ratio": share,
    "count": count,
    "per_second": rate,
}
