"""Where output goes, and its colour, width and progress. Reports go to stdout, everything else to stderr."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import TextIO

from jsdoctor.app.messages import Messages
from jsdoctor.app.outputs import Color
from jsdoctor.render.escape import printable

_DEFAULT_WIDTH, _MIN_WIDTH = 80, 40


def use_color(choice: Color, stream: TextIO) -> bool:
    """Whether to use colours: `--color` decides; else the environment and the stream."""
    return has_color(stream) if choice is Color.AUTO else choice is Color.ALWAYS


def has_color(stream: TextIO) -> bool:
    """Whether colours fit: NO_COLOR and FORCE_COLOR decide (no-color.org); else whether the stream is a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def width_of(stream: TextIO) -> int:
    """Columns to fill: COLUMNS, else the terminal's, else 80 if the stream is no terminal."""
    if os.environ.get("COLUMNS", "").isdigit():
        return max(int(os.environ["COLUMNS"]), _MIN_WIDTH)
    return max(_terminal_columns(stream) or _DEFAULT_WIDTH, _MIN_WIDTH) if stream.isatty() else _DEFAULT_WIDTH


def ascii_only(stream: TextIO) -> bool:
    """Whether the output cannot show Unicode."""
    return not (stream.encoding or "ascii").lower().replace("-", "").startswith("utf")


def _terminal_columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):  # a terminal without a size, or a stream without a file
        return 0


def say(message: str, hint: str = "") -> None:
    """Write a message to stderr, with the hint below it, without anything that has the shape of a secret."""
    from jsdoctor.redaction.redact import scrub_line

    sys.stderr.write(f"jsdoctor: {printable(scrub_line(message))}\n")
    for line in scrub_line(hint).splitlines():  # a PEM block has several lines
        sys.stderr.write(f"  {printable(line)}\n")


@contextlib.contextmanager
def progress(quiet: bool) -> Iterator[Callable[[str], None]]:
    """A spinner on stderr that shows what is being done; silent where stderr is not a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True, no_color=not use_color(Color.AUTO, sys.stderr))
    with console.status("starting") as status:
        yield lambda phase: status.update(escape(printable(phase)))


MESSAGES = Messages(progress=progress, notice=say)
"""What a command shows while it collects."""
