"""What a stream can show: its width, colours and characters. It loads nothing, for the commands of `quick`."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # the module `typing` takes longer to load than Python
if TYPE_CHECKING:
    from typing import TextIO


def has_color(stream: TextIO) -> bool:
    """NO_COLOR and FORCE_COLOR (no-color.org, force-color.org) decide; else whether a terminal listens."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def width_of(stream: TextIO) -> int:
    """Columns to fill: COLUMNS, else the terminal's, else 80 if the stream is no terminal."""
    if os.environ.get("COLUMNS", "").isdigit():
        return max(int(os.environ["COLUMNS"]), 40)
    return max(_columns(stream) or 80, 40) if stream.isatty() else 80


def ascii_only(stream: TextIO) -> bool:
    """Whether the output cannot show Unicode."""
    return not (stream.encoding or "ascii").lower().replace("-", "").startswith("utf")


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):  # a terminal without a size, or a stream without a file
        return 0
