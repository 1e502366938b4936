"""JSON to a tree. Python's own reader keeps no places, so only its reader of strings is used."""

from __future__ import annotations

import re
from bisect import bisect_right
from json import decoder

from jsdoctor.model.manifest import FilePosition
from jsdoctor.parse.manifests.tree import MAX_DEPTH, ManifestError, Tree

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", re.ASCII)
_MAX_NUMBER = 400
_WORDS: tuple[tuple[str, bool | None], ...] = (("true", True), ("false", False), ("null", None))


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
        """The value that begins at `index`, and where it ends. `at` is where its key stands."""
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
        for word, meaning in _WORDS:
            if self.text.startswith(word, index):
                return Tree(meaning, place), index + len(word)
        return self._number(index, place)

    def _number(self, index: int, place: FilePosition) -> tuple[Tree, int]:
        match = _NUMBER.match(self.text, index)
        if match is None or len(match[0]) > _MAX_NUMBER:
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
