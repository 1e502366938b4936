"""From CommonMark, which GitHub shows, to the Markdown dialect of the site's generator.

Its parser takes nested blocks only at an indentation of four spaces, and a list only after an empty line.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection
from typing import NamedTuple

from markdown_it import MarkdownIt

_PARSER = MarkdownIt("commonmark").enable("table")
_FENCE = re.compile(r"^( *`{3,}\w+)[ \t][^`\n]*$", re.MULTILINE)
_MARKER = re.compile(r" *(?:[-*+]|\d+[.)]) +")
_CODE = r"(?P<code>^ *```[\s\S]*?^ *```$|`[^`]+`)"
_LINK = r"(?<!!)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^()\s]+)\)"


class _Item(NamedTuple):
    """A list item: its first line, the line after its last one, and the column at which its content starts."""

    first: int
    end: int
    column: int
    outer_column: int


def indented(text: str) -> str:
    """The page with nested blocks at four spaces, an empty line before each list, and one word after a fence."""
    text = _FENCE.sub(r"\1", text)
    lines = text.split("\n")
    items, lists = _structure(text, lines)
    written = []
    for number, line in enumerate(lines):
        around = [item for item in items if item.first <= number < item.end]
        if number in lists and len(around) == 1 and number and lines[number - 1].strip():
            written.append("")
        if not around or not line.strip():
            written.append(line)
        elif around[-1].first == number:
            marker = _MARKER.match(line[around[-1].outer_column :])
            assert marker is not None
            rest = line[around[-1].outer_column :][marker.end() :]
            written.append("    " * (len(around) - 1) + f"{marker[0].strip():<4}" + rest)
        else:
            column = around[-1].column
            kept = line[column:] if not line[:column].strip() else line.lstrip()
            written.append("    " * len(around) + kept)
    return "\n".join(written)


def _structure(text: str, lines: list[str]) -> tuple[list[_Item], set[int]]:
    items: list[_Item] = []
    lists: set[int] = set()
    columns = [0]
    for token in _PARSER.parse(text):
        if token.type in {"bullet_list_open", "ordered_list_open"} and token.map:
            lists.add(token.map[0])
        elif token.type == "list_item_open" and token.map:
            marker = _MARKER.match(lines[token.map[0]][columns[-1] :])
            column = columns[-1] + (marker.end() if marker else 2)
            items.append(_Item(token.map[0], token.map[1], column, columns[-1]))
            columns.append(column)
        elif token.type == "list_item_close":
            columns.pop()
    return items, lists


def relinked(text: str, target: Callable[[str], str | None]) -> str:
    """The page with the target of each link replaced; a link whose target is None becomes its text."""

    def change(match: re.Match[str]) -> str:
        if match["code"]:
            return match[0]
        new = target(match["target"])
        return match["text"] if new is None else f"[{match['text']}]({new})"

    return re.sub(f"{_CODE}|{_LINK}", change, text, flags=re.MULTILINE)


def with_links(text: str, names: Collection[str], address: Callable[[str], str]) -> str:
    """The page with each of *names* in its prose made a link, but for code, headings and texts of links."""
    if not names:
        return text
    name = "|".join(map(re.escape, sorted(names)))

    def change(match: re.Match[str]) -> str:
        return f"[{match['name']}]({address(match['name'])})" if match["name"] else match[0]

    kept = rf"{_CODE}|{_LINK}|^\#[^\n]*$"
    return re.sub(rf"{kept}|(?<![\w/.-])(?P<name>{name})(?![\w-])", change, text, flags=re.MULTILINE)


def between(page: str, other: str) -> str:
    """The way from one source file to another, as a link has it."""
    return posixpath.relpath(other, posixpath.dirname(page) or ".")
