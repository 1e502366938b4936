"""Dates as Go writes them, to the nanosecond."""

from __future__ import annotations

from datetime import datetime


def date_ns(text: str) -> int:
    """Nanoseconds since 1970 of a date as Go writes it (RFC 3339, up to nine decimals). Raises ValueError."""
    whole, _, rest = text.partition(".")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    zone = rest[len(digits) :] if rest else ""
    seconds = datetime.fromisoformat(whole + zone)
    return round(seconds.timestamp()) * 1_000_000_000 + int(digits.ljust(9, "0")[:9] or "0")


def same_moment(first: str, second: str) -> bool:
    """Whether two dates are the same to the microsecond: Python's own keep no more, and msgspec rounds to it.

    Texts that are no dates are the same only where they are equal.
    """
    try:
        return abs(date_ns(first) - date_ns(second)) <= 1_000
    except (ValueError, OverflowError):
        return first == second
