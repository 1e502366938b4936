"""What one source brought in from one sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from jsdoctor.model.exchange import Exchange
from jsdoctor.model.gap import Gap

Progress = Callable[[str], None]
"""Takes the text of the phase that begins."""


def no_progress(_: str) -> None:
    """For callers that show none."""


@dataclass(slots=True)
class CollectionResult:
    """Replies, what could not be had, and when the last round of readings was begun (loop time)."""

    exchanges: list[Exchange] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    begun_at: float = 0.0


class LiveSource(Protocol):
    """One way to see a deployment. A source that has learnt who does not answer asks them no more."""

    @property
    def exhausted(self) -> bool:
        """Whether another sample would bring nothing: nothing answers, or nothing that changes was asked for."""

    async def sample(self, progress: Progress) -> CollectionResult:
        """Look once. Never raises for anything that the other side does or does not do."""
        ...

    async def repeat(self, progress: Progress) -> CollectionResult:
        """Ask again for the assets that only the last sample could not see whole. Never raises either."""
        ...
