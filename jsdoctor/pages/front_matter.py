"""The front matter of a page (TOML between `+++` lines, then Markdown), and the mistakes found while it is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

import tomli

from jsdoctor.model.nearest import did_you_mean

_EnumT = TypeVar("_EnumT", bound=StrEnum)


class PageError(ValueError):
    """A rule page with mistakes. `problems` lists each as `file:line: what is wrong`."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class PageReader:
    """One page while it is read: collects problems with their lines."""

    def __init__(self, origin: str, text: str) -> None:
        self.origin, self.text = origin, text
        self.problems: list[str] = []

    def line_of(self, key: str) -> int:
        """The line where a key is set or a table is opened; 1 if there is none."""
        pattern = re.compile(rf'^\s*(\[+[\w.]*\b)?"?{re.escape(key)}"?\b')
        return next((n for n, line in enumerate(self.text.splitlines(), 1) if pattern.match(line)), 1)

    def problem(self, key: str, message: str) -> None:
        """Note a mistake at the line of a key."""
        self.problems.append(f"{self.origin}:{self.line_of(key)}: {message}")

    def unknown_keys(self, table: Mapping[str, Any], known: Iterable[str], where: str) -> None:
        """Note every key that is not known."""
        known = tuple(known)
        for key in table:
            if key not in known:
                self.problem(key, f"unknown key {key!r} in {where}{did_you_mean(key, known)}")

    def text_of(self, table: Mapping[str, Any], key: str, where: str) -> str:
        """A required text. Without it: empty, and a mistake is noted."""
        value = table.get(key)
        if isinstance(value, str) and value:
            return value
        self.problem(key, f"{where} needs {key!r}, a text" if value is None else f"{key!r} must be a text")
        return ""

    def choice(self, table: Mapping[str, Any], key: str, kind: type[_EnumT], fallback: _EnumT) -> _EnumT:
        """A member of an enumeration. For another value: `fallback`, and a mistake is noted."""
        value = table.get(key)
        try:
            return kind(str(value))
        except ValueError:
            names = [member.value for member in kind]
            self.problem(key, f"{key!r} is {value!r}, not one of {', '.join(names)}{did_you_mean(str(value), names)}")
            return fallback


def split(page: PageReader) -> tuple[str, str, int]:
    """Front matter, body, and the line where the body begins. Raises `PageError` where there is no front matter."""
    lines = page.text.splitlines()
    fences = [number for number, line in enumerate(lines) if line.strip() == "+++"]
    if len(fences) < 2 or fences[0] != 0:
        raise PageError([f"{page.origin}:1: a page starts with TOML front matter between two lines of +++"])
    return "\n".join(lines[1 : fences[1]]), "\n".join(lines[fences[1] + 1 :]).strip() + "\n", fences[1] + 2


def toml(page: PageReader, front: str) -> dict[str, Any]:
    """The front matter as a table. Raises `PageError` where it is not TOML."""
    try:
        return tomli.loads(front)
    except (ValueError, RecursionError) as error:  # not only TOMLDecodeError: numbers too long, arrays too deep
        place = re.search(r"at line (\d+), column (\d+)", str(error))
        line = int(place[1]) + 1 if place else 1
        raise PageError([f"{page.origin}:{line}: the front matter is not TOML: {error}"]) from error
