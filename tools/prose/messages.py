"""Texts for people in the code: string literals with a space, without docstrings.

Values that are put into a message are an ellipsis, as only the words around them are prose.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

_LITERALS = (ast.Constant, ast.JoinedStr)


def messages(file: Path) -> Iterator[tuple[int, str]]:
    """Line and text of each message in a Python file."""
    tree = ast.parse(file.read_text("utf-8"))
    left_out = {id(inner) for node in ast.walk(tree) for inner in _parts(node)}
    for node in ast.walk(tree):
        if id(node) in left_out or not isinstance(node, _LITERALS):
            continue
        text = _text(node)
        if " " in text.strip():
            yield node.lineno, text


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """A docstring, and what belongs to a literal that is read as a whole."""
    if isinstance(node, ast.Expr) and isinstance(node.value, _LITERALS):
        yield from ast.walk(node.value)
    elif isinstance(node, ast.JoinedStr):
        for value in node.values:
            if isinstance(value, ast.Constant):
                yield value


def _text(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(value) if isinstance(value, ast.Constant) else "…" for value in node.values)
    return node.value if isinstance(node.value, str) else ""
