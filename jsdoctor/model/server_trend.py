"""How servers changed between samples: evidence for every rule that judges a server's counters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

import msgspec

from jsdoctor.model.evidence import NO_SERVERS, CollectionFacts, Evidence, EvidenceSource, too_few_samples
from jsdoctor.model.finding import Subject
from jsdoctor.model.gap import Gap
from jsdoctor.model.server import Server, Servers
from jsdoctor.model.trend import Readings


class ServerHistory(Readings[Server], frozen=True):
    """Readings of one server by name. Counters start at 0 again if `restarted`."""

    @property
    def restarted(self) -> bool:
        """Whether it is another process than in the oldest reading: each start makes a new id."""
        return len({reading.server_id for reading in self.readings}) > 1


class ServerTrend(Evidence, frozen=True):
    """Every server that reported its general variables in all samples, by name."""

    source = EvidenceSource.SYSTEM
    parts = ("servers", "server_rates")
    repeated = True
    unavailable = NO_SERVERS
    said_by = ("samples", "server_samples", "servers")
    of_deployment = True
    single = Servers

    servers: tuple[ServerHistory, ...]

    @classmethod
    def absent(cls, facts: CollectionFacts) -> Gap:
        """Too few samples, or a login that cannot see servers."""
        return super().absent(facts) if facts.plain else too_few_samples(facts)

    def servers_seen(self) -> Iterator[str]:
        """The names of the servers of which this has a report."""
        return (server.last.name for server in self.servers)

    def without(self, subject: Subject) -> Self:
        """The same without that server."""
        kept = tuple(server for server in self.servers if server.last.name != subject.name)
        return self if len(kept) == len(self.servers) else msgspec.structs.replace(self, servers=kept)
