"""How servers changed between samples: evidence for every rule that judges a server's counters."""

from __future__ import annotations

import msgspec

from jsdoctor.model.server import Server


class ServerHistory(msgspec.Struct, frozen=True):
    """Two or more readings of one server by name, oldest first. Counters start at 0 again if `restarted`."""

    readings: tuple[Server, ...]

    @property
    def first(self) -> Server:
        """The oldest reading."""
        return self.readings[0]

    @property
    def last(self) -> Server:
        """The newest reading."""
        return self.readings[-1]

    @property
    def restarted(self) -> bool:
        """Whether it is another process than in the oldest reading: each start makes a new id."""
        return len({reading.server_id for reading in self.readings}) > 1

    @property
    def elapsed_s(self) -> float:
        """Seconds between first and last reading by the server's own clock; never zero or below."""
        return max((self.last.at - self.first.at).total_seconds(), 1e-3)


class ServerTrend(msgspec.Struct, frozen=True):
    """Every server that reported its general variables in all samples, by name."""

    servers: tuple[ServerHistory, ...]
