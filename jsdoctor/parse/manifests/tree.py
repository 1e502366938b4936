"""A document as a tree of values, each with its place: what YAML, JSON and server configuration have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
    """A value. The place of one in a mapping is that of its key, which is where people look."""

    value: str | int | float | bool | Variable | list[Tree] | dict[str, Tree] | None
    place: FilePosition

    def plain(self) -> object:
        """The value as JSON has it. A node that is referred to several times is one object."""
        made: dict[int, object] = {}

        def of(node: Tree) -> object:
            if id(node) not in made:
                value: object = node.value
                if isinstance(node.value, dict):
                    value = {key: of(entry) for key, entry in node.value.items()}
                elif isinstance(node.value, list):
                    value = [of(element) for element in node.value]
                made[id(node)] = value
            return made[id(node)]

        return of(self)

    def get(self, *keys: str) -> Tree | None:
        """What stands under this path of keys; None where nothing or null does."""
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

    def text(self, *keys: str) -> str:
        """The text under this path; empty where there is none."""
        node = self.get(*keys)
        return node.value if node is not None and isinstance(node.value, str) else ""
