"""Servers and their links over hours and days, as metrics or bundles show them: what was there and is gone."""

from __future__ import annotations

from datetime import datetime

import msgspec

from jsdoctor.model.links import ServerLinks
from jsdoctor.model.server import Server


class PastSample(msgspec.Struct, frozen=True):
    """The servers that ran at one time, and the links that they showed then."""

    at: datetime
    servers: tuple[Server, ...]
    links: tuple[ServerLinks, ...]


class ServerPast(msgspec.Struct, frozen=True):
    """Three or more samples, oldest first. The last two are of the present: what both lack is gone, not missed once."""

    samples: tuple[PastSample, ...]

    @property
    def earlier(self) -> tuple[PastSample, ...]:
        """The samples before the present."""
        return self.samples[:-2]

    @property
    def present(self) -> tuple[PastSample, PastSample]:
        """The last two samples."""
        return self.samples[-2], self.samples[-1]
