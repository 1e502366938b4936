"""Values of repeatable options that may be comma-separated lists."""

from __future__ import annotations

from collections.abc import Iterable


def split(values: Iterable[str] | None) -> tuple[str, ...]:
    """Values of a repeatable option, each of which may be a comma-separated list."""
    return tuple(part.strip() for value in values or () for part in value.split(",") if part.strip())
