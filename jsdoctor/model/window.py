"""The time window of a run."""

from __future__ import annotations

from datetime import datetime

import msgspec


class Window(msgspec.Struct, frozen=True):
    """From `since` to `until`, both aware; None: open to that side. `local_zone` names this machine's zone.

    Log times without a zone are taken as times of `local_zone` (an IANA name or a fixed offset) unless `--timezone`
    gives their zone.
    """

    since: datetime | None = None
    until: datetime | None = None
    local_zone: str = "UTC"

    @property
    def words(self) -> str:
        """`from 2026-11-21 10:00:00Z to 2026-11-21 12:00:00Z`."""
        parts = (("from", self.since), ("to", self.until))
        return " ".join(f"{word} {at:%Y-%m-%d %H:%M:%S}Z" for word, at in parts if at is not None)

    def holds(self, at: datetime) -> bool:
        """Whether a moment lies within."""
        return not (self.since and at < self.since) and not (self.until and at > self.until)
