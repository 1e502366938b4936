"""JSON documents in a text: one, several, pretty-printed, among other lines, or cut short."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

MAX = 64 << 20
"""Number of characters of a text that are read."""

UNKNOWN_NAME = "(unnamed)"
"""Stands for a stream, consumer or leader whose name is not in what was copied."""

_MAX_DOCUMENTS = 10_000
_MAX_CUT = 50
_DECODER = json.JSONDecoder(strict=False)
_START = re.compile(r'[{\[](?=\s{0,20}(?:["{}\[\]]|$))')
_MIDDLE = re.compile(r'[\s,\]}]*(?="\w{1,40}"\s*:\s)')
"""How a text begins, or goes on after an object, that was copied from the middle of an object."""


class Document(msgspec.Struct, frozen=True):
    """One document. `open` holds the paths of the containers that the text leaves open; empty: it is whole.

    A path joins keys by dots, with `*` for the elements of a list; the outermost container has the path "".
    """

    value: Any
    open: frozenset[str] = frozenset()


def documents(text: str) -> Iterator[Document]:
    """Every outermost object and list of objects in a text. What is no JSON is passed over."""
    text = text[:MAX]
    at, count, cut = 0, 0, 0
    while count < _MAX_DOCUMENTS and cut < _MAX_CUT:
        if middle := _MIDDLE.match(text, at):
            text, at = "{" + text[middle.end() :], 0
        # Where the next document may begin: a brace or bracket before a text, another one, or the end.
        match = _START.search(text, at)
        start = match.start() if match else -1
        if start < 0:
            return
        opened = frozenset[str]()
        try:
            value, end = _DECODER.raw_decode(text, start)
        except RecursionError:
            return
        except ValueError:
            edited = read_edited(text, start)
            if edited is None:
                at = start + 1
                cut += 1
                continue
            value, end, opened = edited
        if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict) for item in value)):
            count += 1
            yield Document(value, opened)
        at = end


_DEEPEST = 64
_TOKEN = re.compile(
    r'\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<mark>[{}\[\],:])|(?P<plain>-?\d[\d.eE+-]*|true|false|null)'
    r"|(?P<dots>(?:(?://|#|/\*)[ \t]*)?(?:\.{3,}|…)[^\n\",{}\[\]]*)|(?P<end>[\s`]*\Z|\"))",
    re.DOTALL,
)
_MISSING = object()


EditedJson = tuple[Any, int, frozenset[str]]
"""A value, where it ends in the text, and the paths of its containers that lack something."""


class _Container:
    """An object or list that is being read. `key` is that of a member whose value is still to come."""

    def __init__(self, value: Any, path: str) -> None:
        self.value, self.path, self.key = value, path, _MISSING
        self.last_is_open = False

    def put(self, value: Any, opened: set[str]) -> bool:
        """Add a key, an element or the value of a member. False if a key is no text."""
        if isinstance(self.value, list):
            if self.last_is_open:  # only the last element of a list may lack something: this one is left out
                self.value.pop()
                opened.add(self.path)
            self.value.append(value)
            self.last_is_open = False
        elif self.key is _MISSING:
            self.key = value
            return isinstance(value, str)
        else:
            self.value[self.key], self.key = value, _MISSING
        return True

    def below(self) -> str:
        """The path of the value that comes next."""
        name = "*" if isinstance(self.value, list) else str(self.key)
        return f"{self.path}.{name}" if self.path else name


def read_edited(text: str, start: int) -> EditedJson | None:
    """The object or list that begins at `start`, even if it was cut or shortened with dots; None if it is no JSON."""
    with suppress(ValueError):  # what looks like a number or text, but is not
        return _read_tokens(text, start)
    return None


def _read_tokens(text: str, start: int) -> EditedJson | None:
    stack: list[_Container] = []
    root: Any = None
    opened: set[str] = set()
    at, plain = start, False
    while token := _TOKEN.match(text, at):
        at, kind = token.end(), token.lastgroup
        if kind == "end":
            return root, len(text), frozenset(opened | _left_open(stack, plain))
        mark, plain = token["mark"], kind == "plain"
        if kind == "dots":
            opened.add(stack[-1].path)
            stack[-1].key = _MISSING
        elif mark in ("{", "["):
            container = _Container({} if mark == "{" else [], stack[-1].below() if stack else "")
            if len(stack) >= _DEEPEST or (stack and not stack[-1].put(container.value, opened)):
                return None
            root = root if stack else container.value
            stack.append(container)
        elif mark in ("}", "]"):
            done = stack.pop()
            whole = isinstance(done.value, dict) == (mark == "}")
            if not stack or not whole:
                return (root, at, frozenset(opened)) if whole else None
            stack[-1].last_is_open = any(f"{path}.".startswith(f"{done.path}.") for path in opened)
        elif not mark and not stack[-1].put(json.loads(token[token.lastgroup or ""], strict=False), opened):
            return None
    return None


def _left_open(stack: list[_Container], in_number: bool) -> set[str]:
    """The paths of the containers that the end of a text leaves open.

    `in_number`: the text ends in a number. It may have been cut, so it is removed from its container.
    """
    if in_number:
        last = stack[-1].value
        last.popitem() if isinstance(last, dict) else last.pop()
    return {container.path for container in stack}
