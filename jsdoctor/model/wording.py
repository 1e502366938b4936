"""Words that findings and reports share: counts with their noun, lengths of time."""

from __future__ import annotations

from collections.abc import Iterable

_UNITS = (
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("µs", 1_000),
    ("ns", 1),
)


def span(duration_ns: int) -> str:
    """A length of time as people say it, its two largest units: `1m30s`, `3d`, `250ms`."""
    rest = abs(duration_ns)
    parts: list[str] = []
    for name, size in _UNITS:
        whole, rest = divmod(rest, size)
        if whole or parts:
            parts.append(f"{whole}{name}" if whole else "")
        if len(parts) == 2:
            break
    return ("-" if duration_ns < 0 else "") + ("".join(parts) or "0s")


def compared(measured: int, limit: int) -> str:
    """How a measured value compares with a limit that it may reach."""
    if measured == limit:
        return "as much as"
    return "more than" if measured > limit else "against"


def counted(number: int, noun: str) -> str:
    """A count with its noun: `1 message`, `4,200 messages`. For nouns that take an s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(names: Iterable[str], limit: int) -> str:
    """The names, separated by commas; after `limit` of them how many more there are. A limit of 0 lists all."""
    every = list(names)
    shown = every[:limit] if limit else every
    more = len(every) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")
