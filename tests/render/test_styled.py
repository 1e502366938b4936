"""Lines of styled text are those of rich, which is not loaded for them: widths, wrapping, cuts and escape sequences."""

from __future__ import annotations

from io import StringIO

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from jsdoctor.render.escape import printable
from jsdoctor.render.options import RenderOptions
from jsdoctor.render.page import Page
from jsdoctor.render.styled import Part, cut, stripped, wrapped

_STYLES = ("", "bold", "dim", "red", "bold reverse red", "bold magenta", "bold green", "bold yellow", "bold cyan")
_WORDS = st.sampled_from(("JSD101", "stream ", " of", "ORDERS", "日本語", "é", "  ", "x" * 50, "日" * 40, "…", "👩‍🔬"))
_TEXTS = st.lists(_WORDS | st.text(st.characters(exclude_categories=()), max_size=12), max_size=8).map("".join)
_PARTS = st.lists(st.tuples(_TEXTS.map(printable), st.sampled_from(_STYLES)), max_size=5)
_WIDTHS = st.integers(8, 60)


def written(text: Text, color: bool) -> str:
    out = StringIO()
    console = Console(
        file=out,
        width=200,
        color_system="standard" if color else None,
        force_terminal=color,
        no_color=not color,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
        _environ={},
    )
    console.print(text, soft_wrap=True)
    return out.getvalue()


@given(_PARTS, st.booleans())
def test_escape_sequences(parts: list[Part], color: bool) -> None:
    page = Page(RenderOptions(color=color))
    page.unwrapped(*parts)
    assert page.text() == written(Text.assemble(*parts), color)


@given(_PARTS, _WIDTHS)
def test_lines_break_where_rich_breaks_them(parts: list[Part], columns: int) -> None:
    lines = Text.assemble(*parts).wrap(Console(width=200), columns, overflow="fold")
    for line in lines:
        line.rstrip()
    ours = [Text.assemble(*line) for line in wrapped(parts, columns)]
    assert [written(line, color=True) for line in ours] == [written(line, color=True) for line in lines]


@given(_PARTS, _WIDTHS)
def test_lines_are_cut_as_rich_cuts_them(parts: list[Part], columns: int) -> None:
    text = Text.assemble(*parts)
    text.rstrip()
    if text.cell_len > columns:
        text.truncate(columns)
        assert written(Text.assemble(*cut(stripped(parts), columns)), color=True) == written(text, color=True)
