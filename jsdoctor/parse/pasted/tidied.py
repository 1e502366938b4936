"""JSON that a hand edited: surplus commas, and dots for what was left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_STRING = r'"(?:[^"\\]|\\.)*"'
_DOTS = r"(?:(?://|#|/\*)[ \t]*)?(?:\.{3,}|…)[^\n\",{}\[\]]*"
_EDITED = re.compile(rf"[\s,]*(?:[}}\]]|{_DOTS})")
_TOKEN = re.compile(rf"{_STRING}|[{{}}\[\]]|{_DOTS}", re.DOTALL)
_SURPLUS = re.compile(rf"({_STRING})|([{{\[])[\s,]*,|,(?:\s*,)*(\s*[}}\]])|,(?:\s*,)+", re.DOTALL)
_LEFT_OUT = "…"


def tidied(text: str, start: int, at: int) -> str | None:
    """The text from `start` on without what is no JSON, if an edit is what fails at `at`; else None.

    What was left out becomes a member or an element that `without_marks` takes out again.
    """
    if not _EDITED.match(text, at):
        return None
    stack: list[str] = []

    def marked(match: re.Match[str]) -> str:
        token = match[0]
        if token in "{[":
            stack.append(token)
        elif token in "}]":
            del stack[-1:]
        elif not token.startswith('"'):
            return f',"{_LEFT_OUT}":0,' if stack[-1:] == ["{"] else f',"{_LEFT_OUT}",'
        return token

    whole = _TOKEN.sub(marked, text[start:])
    return _SURPLUS.sub(lambda match: match[1] or match[2] or match[3] or ",", whole)


def without_marks(value: Any, path: str = "") -> Iterator[str]:
    """The paths of the containers of which something was left out; the marks are taken out of the value.

    Of a list only the last element may have such paths: any other is left out as a whole.
    """
    if _LEFT_OUT in value:
        yield path
        value.pop(_LEFT_OUT) if isinstance(value, dict) else value.remove(_LEFT_OUT)
    for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
        if not isinstance(item, dict | list):
            continue
        name = key if isinstance(value, dict) else "*"
        paths = list(without_marks(item, f"{path}.{name}" if path else name))
        if paths and isinstance(value, list) and item is not value[-1]:
            value.remove(item)
            paths = [path]
        yield from paths
