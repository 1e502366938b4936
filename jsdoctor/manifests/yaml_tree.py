"""YAML to trees. Nodes are composed and never constructed, so that every value keeps its place and no tag runs code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import yaml
from yaml.constructor import ConstructorError, SafeConstructor

from jsdoctor.manifests.tree import MAX_DEPTH, ManifestError, Tree
from jsdoctor.model.manifest import FilePosition

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CONSTRUCTOR = SafeConstructor()
_SCALARS = {
    "tag:yaml.org,2002:null": lambda _node: None,
    "tag:yaml.org,2002:bool": _CONSTRUCTOR.construct_yaml_bool,
    "tag:yaml.org,2002:int": _CONSTRUCTOR.construct_yaml_int,
    "tag:yaml.org,2002:float": _CONSTRUCTOR.construct_yaml_float,
}
_BRACKETS = re.compile(r"[\[\]{}]")
_MAX_OPEN = 1_000
"""Brackets that are open at once: libyaml takes the square of their number."""
_DEEP_LINE = re.compile(r"^(?: {500}|(?:[ \t]*+[-?][ \t]++){250})", re.MULTILINE)
"""Without such a line, and with few brackets, no document is so deep that composing it, in C, overflows the stack."""
_OPENING = (yaml.SequenceStartEvent, yaml.MappingStartEvent)
_CLOSING = (yaml.SequenceEndEvent, yaml.MappingEndEvent)
_MERGE = "tag:yaml.org,2002:merge"


def yaml_documents(file: str, text: str) -> Iterator[Tree]:
    """Every document that is not empty. Raises `ManifestError` at the first mistake in the syntax."""
    if _opens_too_many_brackets(text):
        raise ManifestError("not YAML that can be read: too many brackets are open", FilePosition(file))
    try:
        if _DEEP_LINE.search(text) and _is_too_deep(text):
            raise ManifestError("not YAML that can be read: it is too deep", FilePosition(file))
        for node in yaml.compose_all(text, Loader=_LOADER):
            if node is not None:
                yield _YamlReader(file).tree(node, node.start_mark, 0)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = FilePosition(file, mark.line + 1, mark.column + 1) if mark else FilePosition(file)
        raise ManifestError(f"not YAML: {error.problem or error.context}", place) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise ManifestError("not YAML: it has characters that YAML does not allow, or is too deep") from error


def _is_too_deep(text: str) -> bool:
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, _OPENING) - isinstance(event, _CLOSING)
        if depth > MAX_DEPTH:
            return True
    return False


def _opens_too_many_brackets(text: str) -> bool:
    """Whether more brackets are open than any manifest has; those in texts count, too."""
    if text.count("[") + text.count("{") <= _MAX_OPEN:
        return False
    steps = (1 if bracket[0] in "[{" else -1 for bracket in _BRACKETS.finditer(text))
    opened = accumulate(steps, lambda depth, step: max(depth + step, 0), initial=0)
    return any(depth > _MAX_OPEN for depth in opened)


class _YamlReader:
    """One document. An anchor's tree is made once, however often it is referred to."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._made: dict[int, Tree] = {}
        self._open: set[int] = set()

    def tree(self, node: Any, mark: Any, depth: int) -> Tree:
        place = FilePosition(self._file, mark.line + 1, mark.column + 1)
        if isinstance(node, yaml.ScalarNode):
            return Tree(_scalar(node, place), place)
        if (known := self._made.get(id(node))) is not None:
            return Tree(known.value, place)
        if id(node) in self._open or depth > MAX_DEPTH:
            raise ManifestError("not YAML that can be read: it contains itself, or is too deep", place)
        self._open.add(id(node))
        value = self._mapping(node, depth) if isinstance(node, yaml.MappingNode) else self._sequence(node, depth)
        self._open.discard(id(node))
        self._made[id(node)] = made = Tree(value, place)
        return made

    def _sequence(self, node: Any, depth: int) -> list[Tree]:
        return [self.tree(child, child.start_mark, depth + 1) for child in node.value]

    def _mapping(self, node: Any, depth: int) -> dict[str, Tree]:
        """Keys of their own win over merged ones (`<<`), of which the first does."""
        own: dict[str, Tree] = {}
        merged: dict[str, Tree] = {}
        for key, child in node.value:
            tree = self.tree(child, key.start_mark, depth + 1)
            if key.tag != _MERGE:
                own[key.value if isinstance(key, yaml.ScalarNode) else ""] = tree
                continue
            for part in tree.items() if isinstance(tree.value, list) else (tree,):
                merged = dict(part.entries()) | merged
        return merged | own


def _scalar(node: Any, place: FilePosition) -> str | int | float | bool | None:
    if node.tag not in _SCALARS:
        return str(node.value)
    try:
        value: str | int | float | bool | None = _SCALARS[node.tag](node)
    except (ValueError, KeyError, IndexError, ConstructorError) as error:
        raise ManifestError("not YAML: a value that is not of the type its tag says", place) from error
    return value
