"""Servers and their links over hours and days, as metrics show them: what was there and is gone."""

from __future__ import annotations

from datetime import datetime

import msgspec

from jsdoctor.model.links import ServerLinks
from jsdoctor.model.server import Server


class PastLook(msgspec.Struct, frozen=True):
    """The servers that ran at one time, and the links that they showed then."""

    at: datetime
    servers: tuple[Server, ...]
    links: tuple[ServerLinks, ...]


class ServerPast(msgspec.Struct, frozen=True):
    """Three or more looks, oldest first. The last two are of the present: what both lack is gone, not missed once."""

    looks: tuple[PastLook, ...]

    @property
    def earlier(self) -> tuple[PastLook, ...]:
        """The looks before the present."""
        return self.looks[:-2]

    @property
    def present(self) -> tuple[PastLook, PastLook]:
        """The last two looks."""
        return self.looks[-2], self.looks[-1]
