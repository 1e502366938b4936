"""A document as a tree of values, each with its place: what YAML, JSON and server configuration share; and JSON."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from json import decoder

from jsdoctor.model.manifest import FilePosition

MAX_DEPTH = 100
"""Deeper documents are not read: no manifest is, and what reads them calls itself for each level."""


class ManifestError(ValueError):
    """A document that cannot be read, and where. Its text never quotes values: they may be secrets."""

    def __init__(self, text: str, place: FilePosition | None = None) -> None:
        super().__init__(text)
        self.says, self.place = text, place


@dataclass(frozen=True, slots=True)
class Variable:
    """The value of an environment variable, which files do not show."""

    name: str


Value = "str | int | float | bool | None | Variable | list[Tree] | dict[str, Tree]"


@dataclass(slots=True)
class Tree:
    """A value and its place. A value in a mapping has the place of its key, which is where people look."""

    value: str | int | float | bool | Variable | list[Tree] | dict[str, Tree] | None
    place: FilePosition

    def plain(self) -> object:
        """The value as JSON has it. A node that is referred to several times is one object."""
        converted: dict[int, object] = {}

        def convert(node: Tree) -> object:
            if id(node) not in converted:
                value: object = node.value
                if isinstance(node.value, dict):
                    value = {key: convert(entry) for key, entry in node.value.items()}
                elif isinstance(node.value, list):
                    value = [convert(element) for element in node.value]
                converted[id(node)] = value
            return converted[id(node)]

        return convert(self)

    def get(self, *keys: str) -> Tree | None:
        """The value under this path of keys; None if there is none, or null."""
        node = self
        for key in keys:
            if not isinstance(node.value, dict) or key not in node.value:
                return None
            node = node.value[key]
        return None if node.value is None else node

    def entries(self) -> Iterator[tuple[str, Tree]]:
        """The entries of a mapping; none of anything else."""
        return iter(self.value.items() if isinstance(self.value, dict) else ())

    def items(self) -> Iterator[Tree]:
        """The elements of a list; none of anything else."""
        return iter(self.value if isinstance(self.value, list) else ())

    @property
    def integer(self) -> int | None:
        """The value if it is a whole number."""
        return self.value if isinstance(self.value, int) and not isinstance(self.value, bool) else None

    def text(self, *keys: str) -> str:
        """The text under this path; empty where there is none."""
        node = self.get(*keys)
        return node.value if node is not None and isinstance(node.value, str) else ""


_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", re.ASCII)
_MAX_DIGITS = 400
_LITERALS: tuple[tuple[str, bool | None], ...] = (("true", True), ("false", False), ("null", None))


def json_document(file: str, text: str) -> Tree:
    """The one document. Raises `ManifestError` at the first mistake."""
    reader = _JsonReader(file, text.removeprefix("\ufeff"))
    tree, end = reader.value(reader.skip(0), 0)
    if (rest := reader.skip(end)) < len(reader.text):
        raise reader.error("something follows the end of the document", rest)
    return tree


class _JsonReader:
    def __init__(self, file: str, text: str) -> None:
        self.text = text
        self._file = file
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(self, index: int) -> FilePosition:
        line = bisect_right(self._lines, index)
        return FilePosition(self._file, line, index - self._lines[line - 1] + 1)

    def error(self, text: str, index: int) -> ManifestError:
        return ManifestError(f"not JSON: {text}", self.place(index))

    def skip(self, index: int) -> int:
        match = _SPACE.match(self.text, index)
        return match.end() if match else index

    def value(self, index: int, depth: int, at: int | None = None) -> tuple[Tree, int]:
        """The value that begins at `index`, and where it ends. `at` is the index of its key, if it has one."""
        if depth > MAX_DEPTH:
            raise self.error("it is too deep", index)
        place, first = self.place(index if at is None else at), self.text[index : index + 1]
        if first == "{":
            entries, end = self._object(index + 1, depth)
            return Tree(entries, place), end
        if first == "[":
            elements, end = self._array(index + 1, depth)
            return Tree(elements, place), end
        if first == '"':
            text, end = self._string(index)
            return Tree(text, place), end
        for word, meaning in _LITERALS:
            if self.text.startswith(word, index):
                return Tree(meaning, place), index + len(word)
        return self._number(index, place)

    def _number(self, index: int, place: FilePosition) -> tuple[Tree, int]:
        match = _NUMBER.match(self.text, index)
        if match is None or len(match[0]) > _MAX_DIGITS:
            raise self.error("a value is expected here", index)
        whole = match[1] is None and match[2] is None
        return Tree(int(match[0]) if whole else float(match[0]), place), match.end()

    def _string(self, index: int) -> tuple[str, int]:
        try:
            text, end = decoder.scanstring(self.text, index + 1, True)  # type: ignore[attr-defined]
        except decoder.JSONDecodeError as error:
            raise self.error("a string that does not end, or has a wrong escape", min(error.pos, index)) from error
        return str(text), int(end)

    def _object(self, index: int, depth: int) -> tuple[dict[str, Tree], int]:
        entries: dict[str, Tree] = {}
        index = self.skip(index)
        if self.text[index : index + 1] == "}":
            return entries, index + 1
        while True:
            if self.text[index : index + 1] != '"':
                raise self.error("a key in double quotes is expected here", index)
            key, end = self._string(index)
            colon = self.skip(end)
            if self.text[colon : colon + 1] != ":":
                raise self.error("':' is expected here", colon)
            entries[key], end = self.value(self.skip(colon + 1), depth + 1, at=index)
            end = self.skip(end)
            if (mark := self.text[end : end + 1]) == "}":
                return entries, end + 1
            if mark != ",":
                raise self.error("',' or '}' is expected here", end)
            index = self.skip(end + 1)

    def _array(self, index: int, depth: int) -> tuple[list[Tree], int]:
        elements: list[Tree] = []
        index = self.skip(index)
        if self.text[index : index + 1] == "]":
            return elements, index + 1
        while True:
            tree, end = self.value(index, depth + 1)
            elements.append(tree)
            end = self.skip(end)
            if (mark := self.text[end : end + 1]) == "]":
                return elements, end + 1
            if mark != ",":
                raise self.error("',' or ']' is expected here", end)
            index = self.skip(end + 1)
