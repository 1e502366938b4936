"""Terraform's language to a tree, through python-hcl2. Values that depend on anything else become `Variable`."""

from __future__ import annotations

import math
import re
from typing import Any

import hcl2
from lark.exceptions import UnexpectedInput

from jsdoctor.manifests.tree import MAX_DEPTH, ManifestError, Tree, Variable
from jsdoctor.model.manifest import FilePosition

_PRODUCT = re.compile(r"\s*\d+\s*(?:\*\s*\d+\s*)*", re.ASCII)
_MAX_PRODUCT_LENGTH = 100
_TEMPLATE = re.compile(r"(?<!\$)\$\{|(?<!%)%\{")
_MAX_CHARACTERS = 2 << 20
"""Characters of a file that is read: the parser takes a second for each 100,000."""


def hcl_document(file: str, text: str) -> Tree:
    """The blocks of one file. Raises `ManifestError` for its syntax, and never quotes what is in it."""
    if len(text) > _MAX_CHARACTERS:
        raise ManifestError(f"it is larger than {_MAX_CHARACTERS >> 20} MiB", FilePosition(file))
    try:
        content = hcl2.loads(text + "\n")
    except UnexpectedInput as error:
        place = FilePosition(file, max(error.line, 1), max(error.column, 1))
        raise ManifestError("not Terraform: something else is expected here", place) from error
    except (ValueError, RuntimeError, RecursionError, KeyError) as error:
        raise ManifestError("not Terraform: it cannot be read", FilePosition(file)) from error
    return _Builder(file, text).document(content)


class _Builder:
    """Makes trees of what the parser returns, which has no places.

    The place of a resource is found by its header, that of a key by the first line of the resource that begins with it.
    """

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._lines = text.split("\n")

    def document(self, content: dict[str, Any]) -> Tree:
        begin, end = FilePosition(self._file), len(self._lines)
        resources = [self._resource(block) for block in content.get("resource", ())]
        rest = {key: self._tree(value, begin, end, 0) for key, value in content.items() if key != "resource"}
        return Tree(rest | {"resource": Tree(resources, begin)}, begin)

    def _resource(self, block: dict[str, Any]) -> Tree:
        kinds: dict[str, Tree] = {}
        place = FilePosition(self._file)
        for kind, named in block.items():
            bodies: dict[str, Tree] = {}
            for name, body in named.items() if isinstance(named, dict) else ():
                place, end = self._resource_lines(_unquoted(kind), _unquoted(name))
                bodies[_unquoted(name)] = self._tree(body, place, end, 0)
            kinds[_unquoted(kind)] = Tree(bodies, place)
        return Tree(kinds, place)

    def _resource_lines(self, kind: str, name: str) -> tuple[FilePosition, int]:
        """The place where a resource begins, and the number of its last line."""
        header = re.compile(rf'\s*resource\s+"?{re.escape(kind)}"?\s+"?{re.escape(name)}"?\s*(?:\{{|$)')
        openings = (number for number, line in enumerate(self._lines, 1) if header.match(line))
        first = next(openings, 1)
        last = next((at for at in range(first, len(self._lines)) if self._lines[at].startswith("}")), len(self._lines))
        return FilePosition(self._file, first), last

    def _tree(self, value: Any, begin: FilePosition, end: int, depth: int) -> Tree:
        if depth > MAX_DEPTH:
            raise ManifestError("not Terraform: it is too deep", begin)
        if isinstance(value, list):
            return Tree([self._tree(item, begin, end, depth + 1) for item in value], begin)
        if isinstance(value, dict):
            entries = {
                _unquoted(key): self._tree(item, self._key_place(_unquoted(key), begin, end), end, depth + 1)
                for key, item in value.items()
                if not key.startswith("__")
            }
            return Tree(entries, begin)
        return Tree(_scalar(value), begin)

    def _key_place(self, key: str, begin: FilePosition, end: int) -> FilePosition:
        """The first line of the block that begins with the key, else where the block begins."""
        for number in range(begin.line, min(end, len(self._lines)) + 1):
            line = self._lines[number - 1]
            stripped = line.lstrip()
            if stripped.startswith(key) and re.match(r"\s*[={]", stripped[len(key) :]):
                return FilePosition(self._file, number, len(line) - len(stripped) + 1)
        return begin


def _scalar(value: Any) -> str | int | float | bool | Variable | None:
    """A value of the parser, which keeps the quotes of texts and puts `${ }` around expressions."""
    if not isinstance(value, str):
        return value if isinstance(value, int | float | bool) else None
    if value.startswith('"') and value.endswith('"') and len(value) > 1:
        inner = value[1:-1]
        return Variable(inner) if _TEMPLATE.search(inner) else _unescaped(inner)
    written = value.removeprefix("${").removesuffix("}") if value.startswith("${") else value
    if _PRODUCT.fullmatch(written) and len(written) < _MAX_PRODUCT_LENGTH:
        return math.prod(int(factor) for factor in written.split("*"))
    return None if written == "null" else Variable(written)


def _unquoted(key: str) -> str:
    return key.strip('"')


_ESCAPES = {'\\"': '"', "\\n": "\n", "\\r": "\r", "\\t": "\t", "\\\\": "\\", "$${": "${", "%%{": "%{"}
_ESCAPED = re.compile("|".join(map(re.escape, _ESCAPES)))


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], text)
