"""Times as log lines write them, to microseconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from jsdoctor.model.log import CLOCK_US

NATIVE = rb"(\d{4}/\d\d/\d\d \d\d:\d\d:\d\d)\.(\d{6})"
"""What nats-server writes: local time, microseconds, no zone (logger/log.go)."""

STAMP_BYTES = 28
"""Length of such a stamp and the bracket of the level behind it."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_US, _QUARTER_US = 86_400_000_000, 900_000_000
_MAX_OFFSETS = 100_000
_MONTHS = (b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec")
_ISO = (
    rb"(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
    rb" ?(Z\b|UTC\b|GMT\b|[+-]\d\d:?\d\d(?!\d))?"
)
_BSD = rb"\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?"
_ANY = re.compile(rb"(?:" + _ISO + rb")|(?:" + _BSD + rb")")
_CLOCK = re.compile(rb"[\s\[]*(\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(?![\d:])[\]|]?\s*")
_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")


class Stamp(NamedTuple):
    """A time read from a line: microseconds since 1970, in UTC when `zoned`, else of the wall clock there."""

    us: int
    zoned: bool


@lru_cache(maxsize=4096)
def _minute_us(text: bytes) -> int | None:
    try:
        year, month, day, hour = int(text[0:4]), int(text[5:7]), int(text[8:10]), int(text[11:13])
        minute = datetime(year, month, day, hour, int(text[14:16]), tzinfo=UTC)
    except ValueError:
        return None
    return (minute - _EPOCH) // timedelta(microseconds=1)


def native_second_us(text: bytes) -> int | None:
    """Microseconds of `YYYY/MM/DD hh:mm:ss`, or None when there is no such time."""
    minute, seconds = _minute_us(text[:16]), int(text[17:19])
    if minute is None or seconds > 59:
        return None
    return minute + seconds * 1_000_000


class LogYear(NamedTuple):
    """The year and `month` in which a log was written last: its times in a later month are of the year before."""

    year: int
    month: int = 12

    def of(self, month: int) -> int:
        """The year of a time in that month."""
        return self.year - (month > self.month)


ANY_YEAR = LogYear(2000)
"""For lines whose times play no part; a leap year, so that each day is one."""


def find_stamp(text: bytes, year: LogYear) -> Stamp | None:
    """The first time in this text, of any of the usual forms. `year` is for those that have none (RFC 3164)."""
    match = _ANY.search(text)
    if match is None:
        return None
    if match[1] is not None:
        fields = [int(match[index]) for index in range(1, 7)]
        return _stamp(fields, match[7], _offset_us(match[8]))
    month = _MONTHS.index(match[9]) + 1
    fields = [year.of(month), month, *(int(match[index]) for index in range(10, 14))]
    return _stamp(fields, match[14], None)


def clock_us(text: bytes, fraction: bytes | None) -> int | None:
    """A time of day (`hh:mm:ss`) without a date, counted from `CLOCK_US`; None when there is no such time."""
    hours, minutes, seconds = int(text[:2]), int(text[3:5]), int(text[6:8])
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    return CLOCK_US + ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + int(((fraction or b"") + b"000000")[:6])


def find_clock(text: bytes) -> tuple[Stamp, int] | None:
    """The time of day that a line begins with, where it has no date, and where the text behind it begins."""
    match = _CLOCK.match(text)
    us = clock_us(match[1], match[2]) if match else None
    return None if match is None or us is None else (Stamp(us, zoned=False), match.end())


def _stamp(fields: list[int], fraction: bytes | None, offset_us: int | None) -> Stamp | None:
    try:
        moment = datetime(*fields, tzinfo=UTC)  # type: ignore[arg-type,misc]  # six whole numbers
    except ValueError:
        return None
    us = (moment - _EPOCH) // timedelta(microseconds=1) + int(((fraction or b"") + b"000000")[:6])
    return Stamp(us - (offset_us or 0), offset_us is not None)


def _offset_us(zone: bytes | None) -> int | None:
    if zone is None:
        return None
    if not zone.startswith((b"+", b"-")):
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return (-minutes if zone.startswith(b"-") else minutes) * 60_000_000


_TOO_LARGE = 1e20
"""Larger than a time until 2286 in any unit; an integer of hundreds of digits would not fit into a float."""


def epoch_us(value: object, year: LogYear) -> Stamp | None:
    """A time as JSON logs write it: RFC 3339 text, or seconds, milli-, micro- or nanoseconds since 1970."""
    if isinstance(value, str):
        if value.replace(".", "", 1).isdigit() and value.isascii() and len(value) <= 25:
            return _number_us(float(value))
        return find_stamp(value.encode(errors="replace")[:64], year)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return _number_us(value)


def _number_us(value: float) -> Stamp | None:
    if not 0 < value < _TOO_LARGE:
        return None
    for scale in (1_000_000, 1_000, 1, 0.001):  # seconds, milliseconds, microseconds, nanoseconds
        if 2e14 < value * scale < 1e16:  # 1976 to 2286
            return Stamp(int(value * scale), zoned=True)
    return None


def year_of(mtime_us: int) -> LogYear:
    """The year of times without one: that in which the file was last written."""
    written = _EPOCH + timedelta(microseconds=mtime_us)
    return LogYear(written.year, written.month)


class DayCount:
    """Days of a log whose lines have a time and no date: it goes on after midnight."""

    def __init__(self) -> None:
        self._days = 0
        self._last_us = CLOCK_US

    def counted(self, us: int) -> int:
        """The time of the next line, with the days that have passed. Less than half a day back is no midnight."""
        if us < self._last_us - _DAY_US // 2:
            self._days += 1
        self._last_us = us
        return us + self._days * _DAY_US


class Zone:
    """A zone as the user names it, applied to local times. Raises `ValueError` for a name that is none."""

    def __init__(self, name: str) -> None:
        fixed = _OFFSET.fullmatch(name)
        try:
            if name.upper() in ("UTC", "Z"):
                self._zone: timezone | ZoneInfo = UTC
            elif fixed:
                delta = timedelta(hours=int(fixed[2]), minutes=int(fixed[3]))
                self._zone = timezone(-delta if fixed[1] == "-" else delta)
            else:
                self._zone = ZoneInfo(name)
        except (ValueError, OSError, ZoneInfoNotFoundError) as error:
            raise ValueError(f"{name!r} is not a time zone; write it as Europe/Berlin, +02:00 or UTC") from error
        self._offsets: dict[int, int] = {}

    def utc_us(self, local_us: int) -> int:
        """Local wall-clock microseconds to UTC. Of an hour that comes twice, the first is meant."""
        quarter = local_us // _QUARTER_US
        offset = self._offsets.get(quarter)
        if offset is None:
            local = (_EPOCH + timedelta(microseconds=quarter * _QUARTER_US)).replace(tzinfo=self._zone)
            offset = (local.utcoffset() or timedelta(0)) // timedelta(microseconds=1)
            if len(self._offsets) > _MAX_OFFSETS:
                self._offsets.clear()
            self._offsets[quarter] = offset
        return local_us - offset
