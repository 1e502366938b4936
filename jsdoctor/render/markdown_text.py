"""What every Markdown output shares: text without markup, names in the font of code, tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from jsdoctor.render.escape import printable, shortened
from jsdoctor.render.options import RenderOptions

_SPECIAL = str.maketrans(
    {
        **{character: f"\\{character}" for character in "*_[]~$#`!"},
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        "|": "&#124;",
        "\\": "&#92;",
    }
)
_AUTOLINKS = ((re.compile("://"), "&#58;//"), (re.compile(r"(?i)(www)\."), r"\1&#46;"), (re.compile("@"), "@<!-- -->"))


def plain_text(text: str) -> str:
    """Text that no Markdown reader takes for markup, a link, a mention, a formula or the end of a table cell."""
    escaped = printable(shortened(text)).translate(_SPECIAL)
    for pattern, replacement in _AUTOLINKS:
        escaped = pattern.sub(replacement, escaped)
    return escaped


def code_text(text: str) -> str:
    """A name or a command in the font of code, as HTML: between backticks, a bar would end the table cell."""
    return f"<code>{plain_text(text)}</code>" if text else ""


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table. The cells are Markdown already."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cell or ' ' for cell in line)} |" for line in lines)


def bounded(heads: Sequence[str], rows: Sequence[Sequence[str]], options: RenderOptions) -> Iterator[str]:
    """A table of at most `--max-examples` rows, and how many more there are."""
    shown = rows[: options.max_examples or None]
    yield table(heads, shown)
    if len(shown) < len(rows):
        yield f"and {len(rows) - len(shown):,} more"
