"""A page of text for a person: wrapped, indented, coloured and free of anything that could upset a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from jsdoctor.render.escape import ascii_only, printable, shortened
from jsdoctor.render.styled import cut, sequences, stripped, width, wrapped

TYPE_CHECKING = False  # the module `typing` takes longer to load than Python, and the table of rules is printed without
if TYPE_CHECKING:
    from typing import Protocol

    class Appearance(Protocol):
        """What a page must know of the options of a report."""

        @property
        def width(self) -> int:
            """In columns."""

        @property
        def color(self) -> bool:
            """Whether there are colours."""

        @property
        def ascii_only(self) -> bool:
            """Whether Unicode cannot be shown."""


Part = str | tuple[str, str]
"""Text, or text with a style."""

SEVERITY_STYLES = {
    "critical": "bold reverse red",
    "error": "bold red",
    "warning": "bold yellow",
    "info": "bold cyan",
}
MIN_WIDTH = 30
_HANG = 2


class Page:
    """Lines go in, a string comes out. Every part of every line is made printable here and nowhere else."""

    def __init__(self, options: Appearance) -> None:
        self._ascii_only = options.ascii_only
        self._color = options.color
        self._width = max(options.width, MIN_WIDTH)
        self._lines: list[str] = []

    def line(self, *parts: Part, indent: int = 0) -> None:
        """One line; what does not fit the width goes on below, two columns further in."""
        cleaned, columns = self._cleaned(parts), self._width - indent
        if width(cleaned) <= columns:
            self._write(cleaned, indent)
            return
        for number, line in enumerate(wrapped(cleaned, columns - _HANG)):
            self._write(line, indent + _HANG if number else indent)

    def fits(self, *parts: Part, indent: int = 0) -> bool:
        """Whether these parts take no more than one line."""
        return width(self._cleaned(parts)) <= self._width - indent

    def unwrapped(self, *parts: Part) -> None:
        """One line, however long: for output that is read line by line."""
        self._write(self._cleaned(parts))

    def cut(self, *parts: Part) -> None:
        """One line, cut where it is wider than the page."""
        cleaned = stripped(self._cleaned(parts))
        if width(cleaned) > self._width:
            end = "..." if self._ascii_only else "…"
            cleaned = [*cut(cleaned, self._width - len(end)), (end, "")]
        self._write(cleaned)

    def verbatim(self, lead: str, text: str, otherwise: str, indent: int = 0) -> None:
        """One line that is never wrapped or altered, for copying. Text that cannot be shown as it is: `otherwise`."""
        if not text.isprintable() or (self._ascii_only and not text.isascii()):
            self.line(lead, (otherwise, "dim"), indent=indent)
        else:
            self._write([*self._cleaned([lead]), (text, "bold")], indent)

    def blank(self) -> None:
        """An empty line."""
        self._write([])

    def text(self) -> str:
        """Everything written so far."""
        return "".join(f"{line}\n" for line in self._lines)

    @property
    def height(self) -> int:
        """How many lines were written so far."""
        return len(self._lines)

    def _write(self, parts: list[tuple[str, str]], indent: int = 0) -> None:
        shown = sequences(parts) if self._color else "".join(text for text, _ in parts)
        self._lines.append(" " * indent + shown)

    def _cleaned(self, parts: Iterable[Part]) -> list[tuple[str, str]]:
        return [self._clean(*((part, "") if isinstance(part, str) else part)) for part in parts]

    def _clean(self, text: str, style: str) -> tuple[str, str]:
        harmless = printable(shortened(text))
        return (ascii_only(harmless) if self._ascii_only else harmless, style)
