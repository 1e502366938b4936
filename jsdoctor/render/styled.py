"""Lines of styled text for a terminal: how wide they are, where they wrap, and their escape sequences.

rich does the same and more, but it takes a tenth of the time of a small check to load: here it counts the columns of
what is not ASCII.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

Part = tuple[str, str]
"""Text and its style: attributes and a colour, such as `bold red`; empty for none."""

_CODES = {
    "bold": "1",
    "dim": "2",
    "reverse": "7",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "magenta": "35",
    "cyan": "36",
}
_WORD = r"\s*\S+\s*"


def width(parts: Iterable[Part]) -> int:
    """The columns that they take."""
    return _columns(_text(parts))


def sequences(parts: Iterable[Part]) -> str:
    """The parts in the escape sequences of their styles."""
    return "".join(f"\x1b[{_codes(style)}m{text}\x1b[0m" if style and text else text for text, style in parts)


def cut(parts: Iterable[Part], columns: int) -> Iterator[Part]:
    """Parts that are wider, cut to so many columns."""
    parts = list(parts)
    left = _cut(_text(parts), columns)
    for text, style in parts:
        yield left[: len(text)], style
        left = left[len(text) :]


def stripped(parts: Iterable[Part]) -> list[Part]:
    """The parts without white space at their end."""
    kept = list(parts)
    while kept:
        text, style = kept.pop()
        if text := text.rstrip():
            return [*kept, (text, style)]
    return kept


def wrapped(parts: Iterable[Part], columns: int) -> Iterator[list[Part]]:
    """Lines of at most so many columns, broken between words; a word that is longer is broken anywhere."""
    parts = list(parts)
    begin = 0
    for end in _breaks(_text(parts), columns):
        yield stripped(_slice(parts, begin, end))
        begin = end


def _breaks(text: str, columns: int) -> Iterator[int]:
    """Where each line ends, in characters."""
    used = 0
    for match in re.finditer(_WORD, text):
        start, word = match.start(), match[0]
        needed = _columns(word.rstrip())
        if used + needed <= columns:
            used += _columns(word)
        elif needed <= columns:
            yield start
            used = _columns(word)
        else:
            if used:
                yield start
            *full, last = _chopped(word, columns)
            for piece in full:
                start += len(piece)
                yield start
            used = _columns(last)
    yield len(text)


def _columns(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _cut(text: str, columns: int) -> str:
    if text.isascii():
        return text[:columns]
    from rich.cells import set_cell_size

    return set_cell_size(text, columns)


def _chopped(word: str, columns: int) -> list[str]:
    if word.isascii():
        return [word[at : at + columns] for at in range(0, len(word), columns)]
    from rich.cells import chop_cells

    return chop_cells(word, columns)


def _slice(parts: Iterable[Part], begin: int, end: int) -> Iterator[Part]:
    for text, style in parts:
        if piece := text[max(begin, 0) : max(end, 0)]:
            yield piece, style
        begin, end = begin - len(text), end - len(text)


def _text(parts: Iterable[Part]) -> str:
    return "".join(text for text, _ in parts)


def _codes(style: str) -> str:
    return ";".join(_CODES[word] for word in style.split())
