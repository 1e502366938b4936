"""Replies as nats.py programs print them: the `repr` of its dataclasses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from jsdoctor.parse.pasted.documents import MAX, Document

_MAX_OBJECTS = 1_000
_MAX_CUT = 50
_START = re.compile(r"\b(?:ConsumerInfo|StreamInfo|AccountInfo)\((?=\w+=)")
# A string without an end goes to the end of the text: else each \" in it would begin another search.
_TOKEN = re.compile(r"""'(?:[^'\\]++|\\.)*+(?:'|\\?\Z)|"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[()\[\]{}]""", re.DOTALL)
_OPENING = frozenset("([{")
_ENUM = re.compile(r"<\w+\.\w+: ('[^'\n]*')>")
_IN_SECONDS = frozenset(
    {"ack_wait", "idle_heartbeat", "inactive_threshold", "max_age", "duplicate_window", "subject_delete_marker_ttl"}
    | {"backoff"}
)
"""Fields that nats.py turns from nanoseconds into seconds."""


def python_objects(text: str) -> Iterator[Document]:
    """Every whole `ConsumerInfo(…)`, `StreamInfo(…)` and `AccountInfo(…)` in a text, with the fields of the API.

    `None` is what the reply left out.
    """
    text = text[:MAX]
    at, cut = 0, 0
    for _ in range(_MAX_OBJECTS):
        start = _START.search(text, at)
        if start is None or cut >= _MAX_CUT:
            return
        at = start.end()
        end = _end(text, start.end() - 1)
        if end is None:
            cut += 1
            continue
        try:
            tree = ast.parse(_ENUM.sub(r"\1", text[start.start() : end]), mode="eval")
            value = _value(tree.body)
        except (SyntaxError, ValueError, TypeError, OverflowError, RecursionError, MemoryError):
            cut += 1
            continue
        at = end
        yield Document(value)


def _end(text: str, at: int) -> int | None:
    """Where the bracket that opens at *at* is closed."""
    depth = 0
    for token in _TOKEN.finditer(text, at):
        if token[0] in _OPENING:
            depth += 1
        elif token[0] in ")]}":
            depth -= 1
            if depth == 0:
                return token.end()
    return None


def _value(node: ast.expr) -> Any:
    """The value of an expression of constants and calls with keywords. Raises ValueError for anything else."""
    match node:
        case ast.Call(func=ast.Attribute(attr="datetime")):
            return _moment([int(ast.literal_eval(part)) for part in node.args])
        case ast.Call(func=ast.Name(), args=[]):
            fields = {keyword.arg: _value(keyword.value) for keyword in node.keywords if keyword.arg}
            return {name: _in_nanoseconds(name, value) for name, value in fields.items() if value is not None}
        case ast.List() | ast.Tuple():
            return [_value(element) for element in node.elts]
        case ast.Dict():
            return {
                ast.literal_eval(key): _value(value) for key, value in zip(node.keys, node.values, strict=True) if key
            }
        case _:
            return ast.literal_eval(node)


def _moment(parts: list[int]) -> str:
    """A time as the API writes it: nats.py has all of them in UTC."""
    year, month, day, *clock = parts
    hour, minute, second, microsecond = (*clock, 0, 0, 0, 0)[:4]
    moment = datetime(year, month, day, hour, minute, second, microsecond, tzinfo=UTC)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _in_nanoseconds(name: str, value: Any) -> Any:
    if name not in _IN_SECONDS:
        return value
    if isinstance(value, list):
        return [round(seconds * 1_000_000_000) for seconds in value]
    return round(value * 1_000_000_000)
