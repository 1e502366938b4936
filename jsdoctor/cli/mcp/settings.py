"""Settings that the user who starts the server decides; a client cannot change any of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class McpSettings:
    """What tools may read, and the maximum size of a result."""

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
    """Maximum time for one call, in seconds."""
    answer_bytes: int = 50_000
    """Maximum size of the result of one call, in bytes."""
