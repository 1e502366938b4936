"""What the person who starts the server decides; a client cannot change any of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class McpSettings:
    """Where tools may look, and how much an answer may cost."""

    connection: tuple[str, ...] = ()
    """Options of the connection, as `jsdoctor check` takes them."""
    configuration: tuple[str, ...] = ()
    """Options that choose the configuration file."""
    roots: tuple[Path, ...] = ()
    """Files may be read below these directories. None: no files."""
    seconds: float = 60.0
    """Most time for one call."""
    answer_bytes: int = 50_000
    """Longest answer to one call."""
