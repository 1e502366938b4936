"""JSON that a hand cut or edited: an end that is missing, surplus commas, and dots for what was left out."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

_DEEPEST = 64
_TOKEN = re.compile(
    r'\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<mark>[{}\[\],:])|(?P<plain>-?\d[\d.eE+-]*|true|false|null)'
    r"|(?P<dots>(?:(?://|#|/\*)[ \t]*)?(?:\.{3,}|…)[^\n\",{}\[\]]*)|(?P<end>[\s`]*\Z|\"))",
    re.DOTALL,
)
_MISSING = object()


EditedJson = tuple[Any, int, frozenset[str]]
"""A value, where it ends, and the paths of its containers of which something is not there."""


class _Container:
    """An object or list that is being read. `key` is that of a member whose value is still to come."""

    def __init__(self, value: Any, path: str) -> None:
        self.value, self.path, self.key = value, path, _MISSING
        self.last_is_open = False

    def put(self, value: Any, opened: set[str]) -> bool:
        """Add a text, number or container. False where none can stand."""
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
        name = "*" if isinstance(self.value, list) else str(self.key)
        return f"{self.path}.{name}" if self.path else name


def read_edited(text: str, start: int) -> EditedJson | None:
    """The object or list that begins at `start`; None where something else than an edit fails."""
    with suppress(ValueError):  # a number or a text that is none
        return _read(text, start)
    return None


def _read(text: str, start: int) -> EditedJson | None:
    stack: list[_Container] = []
    root: Any = None
    opened: set[str] = set()
    at, plain = start, False
    while token := _TOKEN.match(text, at):
        at, kind = token.end(), token.lastgroup
        if kind == "end":
            return root, len(text), frozenset(opened | _cut(stack, plain))
        mark, plain = token["mark"], kind == "plain"
        if kind == "dots":
            opened.add(stack[-1].path)
            stack[-1].key = _MISSING
        elif mark in ("{", "["):
            made = _Container({} if mark == "{" else [], stack[-1].below() if stack else "")
            if len(stack) >= _DEEPEST or (stack and not stack[-1].put(made.value, opened)):
                return None
            root = root if stack else made.value
            stack.append(made)
        elif mark in ("}", "]"):
            done = stack.pop()
            whole = isinstance(done.value, dict) == (mark == "}")
            if not stack or not whole:
                return (root, at, frozenset(opened)) if whole else None
            stack[-1].last_is_open = any(f"{path}.".startswith(f"{done.path}.") for path in opened)
        elif not mark and not stack[-1].put(json.loads(token[token.lastgroup or ""], strict=False), opened):
            return None
    return None


def _cut(stack: list[_Container], within: bool) -> set[str]:
    """The containers that the end of a text leaves open. `within`: it ends in a number, which may go on."""
    if within:
        last = stack[-1].value
        last.popitem() if isinstance(last, dict) else last.pop()
    return {container.path for container in stack}
