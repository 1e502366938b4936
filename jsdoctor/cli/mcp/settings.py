"""What the person who starts the server decides; a client cannot change any of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from jsdoctor.model.duration import parse_positive_seconds
from jsdoctor.model.option import option


def parse_directory(text: str) -> Path:
    """A directory that exists, without links. Raises ValueError."""
    path = Path(text)
    if not path.is_dir():
        raise ValueError(f"{text} is no directory")
    return path.resolve()


@dataclass(frozen=True, kw_only=True)
class McpRequest:
    """What tools may read, and the maximum size of a result."""

    roots: Annotated[
        tuple[Path, ...],
        option("--root", metavar="DIR", help="Tools may read files below this directory.", parse=parse_directory),
    ] = ()
    seconds: Annotated[
        float,
        option(
            "--max-time",
            metavar="DURATION",
            help="Most time for one call.",
            parse=parse_positive_seconds,
            default="60s",
        ),
    ] = 60.0
    answer_bytes: Annotated[
        int,
        option("--max-bytes", metavar="N", help="Size limit of the reply to one call.", least=2_000, default="50000"),
    ] = 50_000


@dataclass(frozen=True, kw_only=True)
class McpSettings(McpRequest):
    """The same, and the options of the commands that the tools start."""

    connection: tuple[str, ...] = ()
    """Options of the connection, as `jsdoctor check` takes them."""
    loki: tuple[str, ...] = ()
    """Options of Loki, as `jsdoctor check` takes them. None: no lines of Loki."""
    loki_token: str = field(default="", repr=False)
    """Its bearer token, which commands get in their environment: arguments are visible to others."""
    configuration: tuple[str, ...] = ()
    """Options that choose the configuration file."""
