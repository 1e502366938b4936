"""Small wordings that several parts of a report share: bounded lists, times, quantities with units."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache

from jsdoctor.model.finding import Subject
from jsdoctor.model.wording import EXACT_BELOW, Number, count, counted, span, trimmed


def subjects(items: Sequence[Subject]) -> str:
    """How many of what: `3 consumers`, or `3 subjects` where the kinds differ."""
    kinds = {subject.kind for subject in items}
    return counted(len(items), kinds.pop() if len(kinds) == 1 else "subject")


def with_login(logins: Mapping[str, str], command: str) -> str:
    """` (with a login of account APP)` for a command that needs it. `logins` has those that are needed, by command."""
    return f" (with {logins[command]})" if command in logins else ""


def to_the_second(moment: datetime) -> str:
    """The moment in UTC as people read it: `2025-03-09 03:04:05Z`."""
    return rfc3339(moment.replace(microsecond=0)).replace("T", " ")


def on_the_day(moment: datetime, day: datetime) -> str:
    """The same without its date where that is the date of `day`: `03:04:05Z`."""
    return to_the_second(moment).removeprefix(f"{to_the_second(day)[:10]} ")


def to_the_second_us(us: int) -> str:
    """Microseconds since 1970 as people read them."""
    return to_the_second(datetime.fromtimestamp(us / 1e6, UTC))


@lru_cache(maxsize=4096)
def rfc3339(moment: datetime) -> str:
    """The moment in UTC as RFC 3339 with `Z`. A moment without a zone is taken as UTC."""
    try:
        utc = moment.astimezone(UTC) if moment.tzinfo else moment
    except OverflowError:  # the first or last day that a datetime can hold, in another zone
        utc = moment
    return utc.replace(tzinfo=None).isoformat() + "Z"


_MAX_EXTRA_DIGITS = 3
_MAX_DECIMALS = 6
_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


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
    format_value = _FORMATS.get(unit or "count")
    return format_value(value, digits) if format_value else f"{count(value, digits)} {unit}"


def distinguishable(measured: Number | str, threshold: Number | str, unit: str | None) -> tuple[str, str]:
    """Both values with enough digits to show that they differ, if they do: 79.6 % and 80 %, not 80 % twice."""
    pair = quantity(measured, unit), quantity(threshold, unit)
    for digits in range(1, _MAX_EXTRA_DIGITS + 1):
        if measured == threshold or pair[0] != pair[1]:
            return pair
        pair = quantity(measured, unit, digits), quantity(threshold, unit, digits)
    if measured == threshold or pair[0] != pair[1]:
        return pair
    return f"{measured} {unit or ''}".rstrip(), f"{threshold} {unit or ''}".rstrip()


def size(value: Number, digits: int = 0) -> str:
    """Bytes in binary units with one decimal: `512 B`, `1.5 GiB`."""
    sign, rest = ("-", float(-value)) if value < 0 else ("", float(value))
    for unit in _BYTE_UNITS:
        decimals = 0 if unit == "B" and rest.is_integer() else 1 + digits
        if round(rest, decimals) < 1024 or unit == _BYTE_UNITS[-1]:
            return f"{sign}{trimmed(f'{rest:,.{decimals}f}') if rest < EXACT_BELOW else count(rest)} {unit}"
        rest /= 1024
    raise AssertionError("the last unit takes everything")


def share(value: Number, digits: int = 0) -> str:
    """A ratio in percent, with enough decimals that only exactly 1 reads 100 % and only exactly 0 reads 0 %."""
    percent = float(value) * 100
    if abs(percent) >= EXACT_BELOW:
        return f"{count(percent)} %"
    decimals = digits
    while decimals < _MAX_DECIMALS and round(percent, decimals) in (0, 100) and percent not in (0, 100):
        decimals += 1
    return f"{trimmed(f'{percent:,.{decimals}f}')} %"


def rate(value: Number, digits: int = 0) -> str:
    """Events per second."""
    return f"{count(value, digits)}/s"


_FORMATS: dict[str, Callable[[Number, int], str]] = {
    "duration": span,
    "ns": span,
    "us": lambda value, digits: span(value * 1_000, digits),
    "ms": lambda value, digits: span(value * 1_000_000, digits),
    "s": lambda value, digits: span(value * 1_000_000_000, digits),
    "bytes": size,
    "bytes_per_second": lambda value, digits: f"{size(value, digits)}/s",
    "ratio": share,
    "count": count,
    "per_second": rate,
}
