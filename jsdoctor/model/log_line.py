"""One line of a log: when it was written, where it stands, what it says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from jsdoctor.model.finding import Observation

MINUTE_US = 60_000_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ORDER_US = (datetime(1000, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
"""Lines without any time are ordered from here on: one microsecond for each byte of the text before them."""

CLOCK_US = (datetime(1100, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
"""Times of day without a date are counted from this midnight on."""

DATED_US = (datetime(1200, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
"""No line with a date is older than this."""


class LogTime(msgspec.Struct, frozen=True, order=True, gc=False):
    """A time in a log, in microseconds since 1970.

    `zoned` True: UTC. `zoned` False: local wall-clock time of an unknown zone, counted as if it were UTC; such times of
    one server may be compared with each other, those of two servers only where `LogEvidence.offset` measured both.

    Lines without a date have a place in the order of their file instead: see `ORDER_US` and `CLOCK_US`.
    """

    us: int
    zoned: bool = False

    @property
    def dated(self) -> bool:
        """Whether the line has a date and a time."""
        return self.us >= DATED_US

    @property
    def timed(self) -> bool:
        """Whether durations mean anything: the line has at least a time of day."""
        return self.us >= CLOCK_US

    @property
    def at(self) -> datetime:
        """As a datetime: aware (UTC) when the zone is known, else naive."""
        known = _EPOCH + timedelta(microseconds=self.us)
        return known if self.zoned else known.replace(tzinfo=None)

    def __str__(self) -> str:
        if not self.timed:
            return "a line without a time"
        if not self.dated:
            return self.at.strftime("%H:%M:%S") + " (no date)"
        return self.at.strftime("%Y-%m-%d %H:%M:%S") + ("Z" if self.zoned else " (local time)")


class Exemplar(msgspec.Struct, frozen=True, gc=False):
    """One line as evidence: file as the report names it, line from 1, byte offset of the line in its text, excerpt."""

    file: str
    line: int
    offset: int
    text: str
    at: LogTime | None = None
    fields: tuple[tuple[str, str], ...] = ()

    @property
    def observed(self) -> Observation:
        """This line as evidence of a finding."""
        known = self.at.at if self.at is not None and self.at.zoned else None
        return Observation(source=self.file, path=f"line {self.line}, byte {self.offset}", value=self.text, at=known)
