"""Clocks: by how much those of the servers, and true time, are ahead of ours, with the bounds of the measurement."""

from __future__ import annotations

from datetime import datetime

import msgspec

from jsdoctor.model.finding import Observation, Subject

CERTAINTY = 3
"""A clock is reported as wrong only if its offset exceeds this multiple of the bound of the measurement."""


class Offset(msgspec.Struct, frozen=True):
    """By how many nanoseconds one clock is ahead of another: between the two. Negative: it is behind."""

    low_ns: int
    high_ns: int

    @property
    def middle_ns(self) -> int:
        """The best estimate."""
        return (self.low_ns + self.high_ns) // 2

    @property
    def bound_ns(self) -> int:
        """Maximum deviation of the true offset from the best estimate, to either side."""
        return -(-(self.high_ns - self.low_ns) // 2)

    def against(self, other: Offset) -> Offset:
        """The offset of this clock from another one.

        Both must have been compared with the same third clock; the bounds add up.
        """
        return Offset(self.low_ns - other.high_ns, self.high_ns - other.low_ns)

    def exceeds(self, tolerance_ns: int) -> bool:
        """Whether the offset exceeds both `tolerance_ns` and `CERTAINTY` times the bound."""
        return abs(self.middle_ns) > max(tolerance_ns, CERTAINTY * self.bound_ns)

    def may_exceed(self, tolerance_ns: int) -> bool:
        """Whether the offset may exceed `tolerance_ns`: the bound itself or the least possible offset exceeds it."""
        return self.bound_ns > tolerance_ns or abs(self.middle_ns) - self.bound_ns > tolerance_ns


OURS = Offset(0, 0)
"""Our own clock against itself."""


class ServerClock(msgspec.Struct, frozen=True, kw_only=True):
    """One server's clock against ours. `at` is that clock at the best of the `readings`.

    `steady` is False if the readings contradict each other because one of the two clocks was set meanwhile; `offset`
    then spans them. `source` names the request that was sent.
    """

    name: str
    cluster: str = ""
    version: str = ""
    offset: Offset
    at: datetime
    readings: int = 1
    steady: bool = True
    source: str = ""

    @property
    def subject(self) -> Subject:
        """This server as the subject of a finding."""
        return Subject(kind="server", name=self.name)

    @property
    def observed(self) -> tuple[Observation, ...]:
        """The measurement as evidence."""
        values = {"clock.offset_ns": self.offset.middle_ns, "clock.bound_ns": self.offset.bound_ns}
        return tuple(Observation(self.name, path, value, self.at) for path, value in values.items())


class Clocks(msgspec.Struct, frozen=True):
    """The clock of every server that could be read, by name, against ours.

    `complete`: all servers were queried, which requires the system account.
    """

    servers: tuple[ServerClock, ...]
    complete: bool = False


class NtpTime(msgspec.Struct, frozen=True):
    """True time against our clock, as NTP servers report it. `sources` agree on it; `outvoted` were left out."""

    offset: Offset
    sources: tuple[str, ...]
    outvoted: tuple[str, ...] = ()

    @property
    def observed(self) -> tuple[Observation, ...]:
        """The measurement as evidence."""
        name = ", ".join(self.sources)
        values = {"ntp.offset_ns": self.offset.middle_ns, "ntp.bound_ns": self.offset.bound_ns}
        return tuple(Observation(name, path, value) for path, value in values.items())
