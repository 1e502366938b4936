"""What an output can show. Modules that must load quickly name it in annotations only."""

from __future__ import annotations

from typing import Protocol


class Appearance(Protocol):
    """The part of `RenderOptions` that every text for people needs."""

    @property
    def width(self) -> int:
        """In columns."""

    @property
    def color(self) -> bool:
        """Whether there are colours."""

    @property
    def ascii_only(self) -> bool:
        """Whether Unicode cannot be shown."""
