"""`--since` and `--until`: the time window of a run, in the zone of this machine where none is given."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from jsdoctor.model.duration import parse_duration
from jsdoctor.model.problems import UsageProblem
from jsdoctor.model.window import Window


def window_of(since: str | None, until: str | None, now: datetime | None = None) -> Window | None:
    """The window; None where neither end is given. Raises `UsageProblem` for a moment that is none."""
    if since is None and until is None:
        return None
    now = now or datetime.now(UTC)
    name, zone = _local_zone(now)
    begin, end = _moment("--since", since, now, zone), _moment("--until", until, now, zone)
    if begin and end and begin > end:
        raise UsageProblem(f"--since {since} is after --until {until}", "give the earlier moment to --since")
    return Window(begin and begin.astimezone(UTC), end and end.astimezone(UTC), name)


def _moment(option: str, text: str | None, now: datetime, zone: tzinfo) -> datetime | None:
    if text is None:
        return None
    try:
        return parse_moment(text, now, zone)
    except ValueError as error:
        raise UsageProblem(f"{option}: {error}", "times without a zone are of this machine's zone") from error


def _local_zone(now: datetime) -> tuple[str, tzinfo]:
    """The machine's zone by name where it has one, so that summer time is known; else its present offset."""
    link = Path("/etc/localtime")
    name = str(link.resolve()).partition("zoneinfo/")[2] if link.is_symlink() else ""
    local = now.astimezone()
    if name:
        try:
            zone = ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            zone = None
        if zone is not None and now.astimezone(zone).utcoffset() == local.utcoffset():
            return name, zone
    offset = local.strftime("%z")
    return ("UTC" if offset in ("", "+0000") else f"{offset[:3]}:{offset[3:]}"), local.tzinfo or UTC


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
