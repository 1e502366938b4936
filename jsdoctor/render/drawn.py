"""Markdown drawn on a terminal. The parser of Markdown takes longer to load than most pages to print."""

from __future__ import annotations

from io import StringIO
from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Markdown, MarkdownElement
from rich.text import Text

from jsdoctor.render.escape import ascii_only
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.page import console_for


def drawn(markdown: str, options: RenderOptions) -> str:
    """Markdown drawn for a terminal of that width."""
    output = StringIO()
    console_for(options, output).print(_DrawnMarkdown(markdown, hyperlinks=False), crop=False)
    text = "\n".join(line.rstrip() for line in output.getvalue().splitlines()) + "\n"
    return ascii_only(text) if options.ascii_only else text


class _Command(CodeBlock):
    """A code block that is not wrapped, so that a command can be copied from it."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in str(self.text).rstrip().splitlines():
            yield Text(f"    {line}", style="bold", no_wrap=True, overflow="ignore")


class _DrawnMarkdown(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "fence": _Command,
        "code_block": _Command,
    }
