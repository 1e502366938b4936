"""The catalogue of rules as a table for people. It loads neither rules nor rich, so that it is printed at once."""

from __future__ import annotations

from collections.abc import Sequence

from jsdoctor.model.wording import counted
from jsdoctor.render.escape import ascii_only, printable

TYPE_CHECKING = False  # the module `typing` takes longer to load than Python
if TYPE_CHECKING:
    from jsdoctor.render.appearance import Appearance

Row = tuple[str, str, str, str, str]
"""Code, severity, slug, status and title of a rule."""

_TITLE_MIN_WIDTH = 30
_BOLD, _DIM = "1", "2"
_SEVERITY_CODES = {"critical": "1;7;31", "error": "1;31", "warning": "1;33", "info": "1;36"}


def rule_table(rows: Sequence[Row], options: Appearance) -> str:
    """One line per rule, by code: code, severity, slug, and the title where the width has room for it."""
    code_width, severity_width, slug_width = (max((len(row[n]) for row in rows), default=0) for n in range(3))
    room = options.width - code_width - severity_width - 4
    has_titles = room - slug_width - 2 >= _TITLE_MIN_WIDTH
    lines = []
    for code, severity, slug, status, title in sorted(rows):
        state = "" if status == "stable" else f"({status}) "
        rest = _cut(f"{slug.ljust(slug_width)}  {state}{title if has_titles else ''}".rstrip(), room, options)
        shown = _colored(severity.ljust(severity_width), _SEVERITY_CODES[severity], options)
        lines.append(f"{_colored(code.ljust(code_width), _BOLD, options)}  {shown}  {rest}\n")
    return "".join(lines) + _colored(f"{counted(len(rows), 'rule')}; see jsdoctor explain CODE", _DIM, options) + "\n"


def _cut(text: str, columns: int, options: Appearance) -> str:
    text = ascii_only(printable(text)) if options.ascii_only else printable(text)
    end = "..." if options.ascii_only else "…"
    return text if len(text) <= columns else text[: columns - len(end)] + end


def _colored(text: str, codes: str, options: Appearance) -> str:
    return f"\x1b[{codes}m{text}\x1b[0m" if options.color else text
