"""JSON documents in a text: one, several, pretty-printed, among other lines, or cut short."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from jsdoctor.parse.pasted.edited import read_edited

MAX = 8 << 20
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
    """Every object and list of objects in a text, from the outside. What is no JSON is passed over."""
    text = text[:MAX]
    at, count, cut = 0, 0, 0
    while count < _MAX_DOCUMENTS and cut < _MAX_CUT:
        if middle := _MIDDLE.match(text, at):
            text, at = "{" + text[middle.end() :], 0
        start = _next_start(text, at)
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
        if _is_wanted(value):
            count += 1
            yield Document(value, opened)
        at = end


def _next_start(text: str, at: int) -> int:
    """Where the next document may begin: a brace or bracket before a text, another one, or the end."""
    match = _START.search(text, at)
    return match.start() if match else -1


def _is_wanted(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict) for item in value))
