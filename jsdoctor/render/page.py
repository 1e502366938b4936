"""A page of text for a person: wrapped, indented, coloured and free of anything that could upset a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

from rich.console import Console
from rich.text import Text

from jsdoctor.model.finding import Severity
from jsdoctor.render.escape import ascii_only, printable, shortened
from jsdoctor.render.options import RenderOptions

Part = str | tuple[str, str]
"""Text, or text with a rich style."""

SEVERITY_STYLES = {
    Severity.CRITICAL: "bold reverse red",
    Severity.ERROR: "bold red",
    Severity.WARNING: "bold yellow",
    Severity.INFO: "bold cyan",
}
_MIN_WIDTH = 30
_HANG = 2
_SHOWN_BEFORE_CARET = 12
"""Characters of a long line that are shown before its caret."""


def console_for(options: RenderOptions, written: StringIO) -> Console:
    """A console that writes to memory, knows nothing of the environment and reads no markup."""
    return Console(
        file=written,
        width=max(options.width, _MIN_WIDTH),
        color_system="standard" if options.color else None,
        force_terminal=options.color,
        force_jupyter=False,
        force_interactive=False,
        no_color=not options.color,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
        _environ={},
    )


class Page:
    """Lines go in, a string comes out. Every part of every line is made printable here and nowhere else."""

    def __init__(self, options: RenderOptions) -> None:
        self._ascii_only = options.ascii_only
        self._written = StringIO()
        self._console = console_for(options, self._written)

    def line(self, *parts: Part, indent: int = 0, hang: int = _HANG) -> None:
        """One line; what does not fit the width goes on below, `hang` columns further in."""
        text = Text.assemble(*(self._clean(part) for part in parts))
        width = self._console.width - indent
        if text.cell_len <= width:
            self._write(text, indent)
            return
        for number, line in enumerate(text.wrap(self._console, width - hang, overflow="fold")):
            line.rstrip()
            self._write(line, indent + hang if number else indent)

    def fits(self, *parts: Part, indent: int = 0) -> bool:
        """Whether these parts take no more than one line."""
        return Text.assemble(*(self._clean(part) for part in parts)).cell_len <= self._console.width - indent

    def unwrapped(self, *parts: Part) -> None:
        """One line, however long: for output that is read line by line."""
        self._write(Text.assemble(*(self._clean(part) for part in parts)), 0)

    def cut(self, *parts: Part) -> None:
        """One line, cut where it is wider than the page."""
        self._write(self._cut(parts, self._console.width), 0)

    def beside(self, left: Sequence[Part], right: Sequence[Part], width: int) -> None:
        """One line in two columns, both cut: the left one is `width` columns wide."""
        text = self._cut(left, width)
        text.pad_right(width - text.cell_len)
        self._write(text.append_text(self._cut(right, self._console.width - width)), 0)

    def _cut(self, parts: Sequence[Part], width: int) -> Text:
        text = Text.assemble(*(self._clean(part) for part in parts))
        text.rstrip()
        if text.cell_len > width:
            end = "..." if self._ascii_only else "…"
            text.truncate(width - len(end))
            text.append(end)
        return text

    def source(self, lead: str, line: str, at: int | None) -> None:
        """A line of a file, cut to the width, and a caret under its character `at`."""
        line = line.replace("\t", " ")
        if at is not None and len(lead) + at > self._console.width * 3 // 4:  # the caret would be near the edge or cut
            line, at = "…" + line[at - _SHOWN_BEFORE_CARET :], _SHOWN_BEFORE_CARET + 1
        self.cut((lead, "dim"), line)
        if at is not None:
            before = Text.assemble(self._clean(line[:at])).cell_len
            self.cut(" " * (len(lead) + before), ("^", "bold red"))

    def verbatim(self, lead: str, text: str, otherwise: str, indent: int = 0) -> None:
        """One line that is never wrapped or altered, for copying. Text that cannot be shown as it is: `otherwise`."""
        if not text.isprintable() or (self._ascii_only and not text.isascii()):
            self.line(lead, (otherwise, "dim"), indent=indent)
        else:
            self._write(Text.assemble(self._clean(lead), (text, "bold")), indent)

    def blank(self) -> None:
        """An empty line."""
        self._write(Text(), 0)

    def text(self) -> str:
        """Everything written so far."""
        return self._written.getvalue()

    def _write(self, text: Text, indent: int) -> None:
        self._console.print(Text.assemble(" " * indent, text), soft_wrap=True)

    def _clean(self, part: Part) -> Part:
        text, style = (part, "") if isinstance(part, str) else part
        harmless = printable(shortened(text))
        return (ascii_only(harmless) if self._ascii_only else harmless, style)
