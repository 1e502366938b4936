"""Servers and their links over hours and days, as metrics or bundles show them: what was there and is gone."""

from __future__ import annotations

from datetime import datetime
from typing import Self

import msgspec

from jsdoctor.model.evidence import Evidence, EvidenceSource, not_offered
from jsdoctor.model.finding import Subject
from jsdoctor.model.links import ServerLinks
from jsdoctor.model.server import Server


class PastSample(msgspec.Struct, frozen=True):
    """The servers that ran at one time, and the links that they showed then."""

    at: datetime
    servers: tuple[Server, ...]
    links: tuple[ServerLinks, ...]

    def without(self, subject: Subject) -> PastSample:
        """The same without that server and its links."""
        servers = tuple(server for server in self.servers if server.name != subject.name)
        return PastSample(self.at, servers, tuple(link for link in self.links if link.server != subject.name))


class ServerPast(Evidence, frozen=True):
    """Three or more samples, oldest first. The last two are of the present: what both lack is gone, not missed once."""

    source = EvidenceSource.HISTORY
    unavailable = not_offered(
        "neither metrics of servers over hours nor two earlier bundles of this deployment from the last 7 days were"
        " read",
        "give the Prometheus that keeps their metrics, --prometheus URL, or the directory of bundles, --history DIR",
        kind="history",
    )

    samples: tuple[PastSample, ...]

    @property
    def earlier(self) -> tuple[PastSample, ...]:
        """The samples before the present."""
        return self.samples[:-2]

    @property
    def present(self) -> tuple[PastSample, PastSample]:
        """The last two samples."""
        return self.samples[-2], self.samples[-1]

    def without(self, subject: Subject) -> Self:
        """The same without that server and its links."""
        return msgspec.structs.replace(self, samples=tuple(sample.without(subject) for sample in self.samples))
