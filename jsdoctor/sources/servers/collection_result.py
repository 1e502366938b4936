"""The result of one source for one sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from jsdoctor.model.exchange import Exchange
from jsdoctor.model.gap import Gap

Progress = Callable[[str], None]
"""Takes the name of the phase that begins."""


def no_progress(_: str) -> None:
    """For callers that show no progress."""


@dataclass(slots=True)
class CollectionResult:
    """Replies, gaps, and when the last round of readings began (loop time)."""

    exchanges: list[Exchange] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    begun_at: float = 0.0


class LiveSource(Protocol):
    """One kind of access to a deployment. After a sample, it sends no requests to servers that did not respond."""

    @property
    def exhausted(self) -> bool:
        """Whether another sample would add nothing: no server responds, or nothing that changes was requested."""

    async def sample(self, progress: Progress) -> CollectionResult:
        """Take one sample. Never raises for anything that the other side does or does not do."""
        ...

    async def repeat(self, progress: Progress) -> CollectionResult:
        """Request again the assets that the last sample could not collect completely. Never raises either."""
        ...
