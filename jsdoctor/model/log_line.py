"""One line of a log: when it was written, where it stands, what it says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from jsdoctor.model.finding import Observation

MINUTE_US = 60_000_000


class LogTime(msgspec.Struct, frozen=True, order=True, gc=False):
    """A time in a log, in microseconds since 1970.

    `zoned` True: UTC. `zoned` False: local wall-clock time of an unknown zone, counted as if it were UTC; such times of
    one server may be compared with each other, those of two servers only where `LogEvidence.offset` measured both.
    """

    us: int
    zoned: bool = False

    @property
    def at(self) -> datetime:
        """As a datetime: aware (UTC) when the zone is known, else naive."""
        known = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=self.us)
        return known if self.zoned else known.replace(tzinfo=None)

    def __str__(self) -> str:
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
