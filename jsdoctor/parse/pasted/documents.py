"""JSON documents in a text: one, several, pretty-printed, among other lines, or cut short."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from jsdoctor.parse.pasted.tidied import tidied, without_marks

MAX = 8 << 20
"""Number of characters of a text that are read."""

UNKNOWN_NAME = "(unnamed)"
"""Stands for a stream, consumer or leader whose name is not in what was copied."""

_MAX_DOCUMENTS = 10_000
_MAX_CUT = 50
_DEEPEST = 64
_DECODER = json.JSONDecoder(strict=False)
_START = re.compile(r'[{\[](?=\s{0,20}(?:["{}\[\]]|$))')
_MIDDLE = re.compile(r'[\s,\]}]*(?="\w{1,40}"\s*:\s)')
"""How a text begins, or goes on after an object, that was copied from the middle of an object."""
_CLOSING = {"{": "}", "[": "]"}


class Document(msgspec.Struct, frozen=True):
    """One document. `open` holds the paths of the containers that the text leaves open; empty: it is whole.

    A path joins keys by dots, with `*` for the elements of a list; the outermost container has the path "".
    """

    value: Any
    open: frozenset[str] = frozenset()


def documents(text: str) -> Iterator[Document]:
    """Every object and list of objects in a text, from the outside. What is no JSON is passed over."""
    text = text[:MAX]
    at, count, cut = 0, 0, 0
    while count < _MAX_DOCUMENTS and cut < _MAX_CUT:
        if middle := _MIDDLE.match(text, at):
            text, at = "{" + text[middle.end() :], 0
        start = _next_start(text, at)
        if start < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, start)
        except RecursionError:
            return
        except ValueError as error:
            edited = tidied(text, start, error.pos) if isinstance(error, json.JSONDecodeError) else None
            whole = _whole(edited) if edited is not None else None
            if edited is not None and whole is not None:
                yield whole[0]
                text, at, count = edited, whole[1], count + 1
                continue
            repaired = _repaired(text, start) if _ends_early(error, text) else None
            if repaired is None:
                at = start + 1
                cut += 1
                continue
            yield repaired
            return
        if _is_wanted(value):
            count += 1
            yield Document(value)
        at = end


def _whole(text: str) -> tuple[Document, int] | None:
    """The document at the begin of an edited text, and where it ends; None where it is none."""
    try:
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return Document(value, frozenset(without_marks(value))), end


def _next_start(text: str, at: int) -> int:
    """Where the next document may begin: a brace or bracket before a text, another one, or the end."""
    match = _START.search(text, at)
    return match.start() if match else -1


def _is_wanted(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict) for item in value))


def _ends_early(error: Exception, text: str) -> bool:
    """Whether the text ended before the document did; an ellipsis of who cut it counts as the end."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    rest = text[error.pos :].strip().strip("`").strip()
    return len(rest) == 0 or rest.startswith(("…", "...")) or "Unterminated string" in error.msg


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],]|"', re.DOTALL)


def _repaired(text: str, start: int) -> Document | None:
    """The part of a document before its cut, closed after its last whole value."""
    stack: list[str] = []
    safe, safe_stack = start, [""]
    for token in _TOKEN.finditer(text, start):
        mark = token[0]
        if mark in _CLOSING:
            stack.append(mark)
            if len(stack) > _DEEPEST:
                return None
        elif mark in "}]" and (not stack or _CLOSING[stack.pop()] != mark):
            return None
        if mark in "{[}]":
            safe, safe_stack = token.end(), stack.copy()
        elif mark == ",":
            safe, safe_stack = token.start(), stack.copy()
        elif mark == '"':
            break  # a text that does not end
    closed = text[start:safe] + "".join(_CLOSING[text] for text in reversed(safe_stack) if text)
    try:
        value = json.loads(closed, strict=False)
    except (ValueError, RecursionError):
        return None
    return Document(value, frozenset(_open_paths(value, len(safe_stack)))) if _is_wanted(value) else None


def _open_paths(value: object, depth: int) -> Iterator[str]:
    """The paths of the containers at the end of a value, as many as were open."""
    path: list[str] = []
    for _ in range(depth):
        yield ".".join(path)
        if isinstance(value, dict) and value:
            key = next(reversed(value))
            value = value[key]
            path.append(str(key))
        elif isinstance(value, list) and value:
            value = value[-1]
            path.append("*")
        else:
            return
