"""Docstrings and comments in the code, as paragraphs with the lines on which they begin."""

from __future__ import annotations

import ast
import inspect
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path


def comments(file: Path) -> Iterator[tuple[int, str]]:
    """Line and text of each docstring, and of each block of comments on lines of their own or behind code."""
    source = file.read_text("utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, inspect.cleandoc(node.value.value)
    yield from _blocks(source)


def _blocks(source: str) -> Iterator[tuple[int, str]]:
    block: list[str] = []
    began = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        line, column = token.start
        alone = not token.line[:column].strip()
        if block and (not alone or line != began + len(block)):
            yield began, "\n".join(block)
            block = []
        if not block:
            began = line
        block.append(token.string.removeprefix("#").removeprefix(" "))
        if not alone:
            yield began, "\n".join(block)
            block = []
    if block:
        yield began, "\n".join(block)
