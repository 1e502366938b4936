"""Clocks: by how much those of the servers, and true time, are ahead of ours, with the bounds of the measurement."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import msgspec

from jsdoctor.model.evidence import CollectionFacts, Evidence, EvidenceSource, not_offered
from jsdoctor.model.exchange import Endpoint
from jsdoctor.model.finding import Observation, Subject
from jsdoctor.model.gap import Gap

CERTAINTY = 3
"""A clock is reported as wrong only if its offset exceeds this multiple of the bound of the measurement."""


class Offset(msgspec.Struct, frozen=True):
    """By how much one clock is ahead of another: between `low_ns` and `high_ns`. Negative: it is behind."""

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


OWN_CLOCK = Offset(0, 0)
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


class Clocks(Evidence, frozen=True):
    """The clock of every server that could be read, by name, against ours.

    `complete`: all servers were queried, which requires the system account.
    """

    parts = ("clocks",)
    unavailable = not_offered(
        "no server reported its time",
        'allow this login to ask "$SYS.REQ.USER.INFO"; of captured evidence, capture it again',
    )

    servers: tuple[ServerClock, ...]
    complete: bool = False

    def servers_seen(self) -> Iterator[str]:
        """The names of the servers of which this has a report."""
        return (clock.name for clock in self.servers)


_NTP_UNUSABLE = not_offered(
    "no NTP server that was queried gave a reliable time", "see the message about each of them", kind="ntp"
)


class NtpTime(Evidence, frozen=True):
    """True time against our clock, as NTP servers report it. `sources` agree on it; `outvoted` were left out."""

    source = EvidenceSource.NTP
    parts = ("ntp",)
    unavailable = not_offered(
        "no NTP server was queried, so it is not known which clock is right",
        "name one that this machine can reach, better three: --ntp HOST, or ntp = [...] in the configuration",
        kind="ntp",
    )
    endpoints = (Endpoint.NTP,)

    offset: Offset
    sources: tuple[str, ...]
    outvoted: tuple[str, ...] = ()

    @property
    def observed(self) -> tuple[Observation, ...]:
        """The measurement as evidence."""
        name = ", ".join(self.sources)
        values = {"ntp.offset_ns": self.offset.middle_ns, "ntp.bound_ns": self.offset.bound_ns}
        return tuple(Observation(name, path, value) for path, value in values.items())

    @classmethod
    def absent(cls, facts: CollectionFacts) -> Gap:
        """No NTP server was named, or none that was named is of use."""
        return _NTP_UNUSABLE if facts.asked_ntp else cls.unavailable
