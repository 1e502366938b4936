"""The catalogue of rules as a table for people. It needs no rules, so that it can be written without loading them."""

from __future__ import annotations

from collections.abc import Sequence

from jsdoctor.model.wording import counted
from jsdoctor.render.page import SEVERITY_STYLES, Page

TYPE_CHECKING = False  # see `page`
if TYPE_CHECKING:
    from jsdoctor.render.page import Appearance

Row = tuple[str, str, str, str, str]
"""Code, severity, slug, status and title of a rule."""

_TITLE_MIN_WIDTH = 30


def rule_table(rows: Sequence[Row], options: Appearance) -> str:
    """One line per rule, by code: code, severity, slug, and the title where the width has room for it."""
    page = Page(options)
    code_width, severity_width, slug_width = (max((len(row[n]) for row in rows), default=0) for n in range(3))
    room = options.width - code_width - severity_width - slug_width - 6
    for code, severity, slug, status, title in sorted(rows):
        state = "" if status == "stable" else f"({status}) "
        page.cut(
            (code.ljust(code_width), "bold"),
            "  ",
            (severity.ljust(severity_width), SEVERITY_STYLES[severity]),
            f"  {slug.ljust(slug_width)}  {state}{title if room >= _TITLE_MIN_WIDTH else ''}",
        )
    page.line((f"{counted(len(rows), 'rule')}; jsdoctor explain CODE shows one", "dim"))
    return page.text()
