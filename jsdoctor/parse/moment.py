"""Moments as people write them on a command line: `2h` ago, or an ISO time."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo

from jsdoctor.parse.duration import parse_duration

_EXAMPLES = "write it as 2h (ago), 2026-11-21T10:00:00Z, or 2026-11-21 10:00"


def parse_moment(text: str, now: datetime, local: tzinfo) -> datetime:
    """An aware moment. A duration is counted back from `now`; a time without a zone is one of `local`.

    Raises `ValueError` with examples for anything else.
    """
    stripped = text.strip()
    try:
        return now - timedelta(microseconds=parse_duration(stripped) / 1000)
    except (ValueError, OverflowError):
        pass
    try:
        moment = datetime.fromisoformat(stripped.replace("/", "-"))
    except ValueError as error:
        raise ValueError(f"{text[:80]!r} is no moment; {_EXAMPLES}") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=local)
