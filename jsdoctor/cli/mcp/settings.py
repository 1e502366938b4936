"""What the person who starts the server decides; a client cannot change any of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class McpSettings:
    """Where tools may look, and how much an answer may cost."""

    connection: tuple[str, ...] = ()
    """Options of the connection, as `jsdoctor check` takes them."""
    loki: tuple[str, ...] = ()
    """Options of Loki, as `jsdoctor check` takes them. None: no lines of Loki."""
    loki_token: str = field(default="", repr=False)
    """Its bearer token, which commands get in their environment: arguments are visible to others."""
    configuration: tuple[str, ...] = ()
    """Options that choose the configuration file."""
    roots: tuple[Path, ...] = ()
    """Files may be read below these directories. None: no files."""
    seconds: float = 60.0
    """Most time for one call."""
    answer_bytes: int = 50_000
    """Longest answer to one call."""
