"""Configuration files of nats-server to trees (grammar: nats-server conf/lex.go and conf/parse.go).

No maintained library reads this grammar with positions. It follows the server's own lexer, including quirks where a
file that a server accepts would otherwise be refused; tests compare it with `nats-server -t`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from jsdoctor.manifests.tree import MAX_DEPTH, ManifestError, Tree, Variable
from jsdoctor.model.manifest import FilePosition

_VALUE_END = r"(?=[\s;,\]}]|\Z)"
_INTEGER = re.compile(rf"(-?\d+)([kKmMgGtTpPeE][bBiI]*)?{_VALUE_END}", re.ASCII)
_BEFORE_BRACKET = re.compile(r"\d+\]", re.ASCII)
_FLOAT = re.compile(rf"-?\d+\.\d+{_VALUE_END}", re.ASCII)
_NEGATIVE = re.compile(r"-\d", re.ASCII)
_DATE_LIKE = re.compile(r"\d{4}-", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_UNQUOTED = re.compile(r"(?:[^\s;,\]}'\\]|\\x[0-9a-fA-F]{2}|\\[tnr\"\\])*")
_ESCAPE = re.compile(r'\\(?:x([0-9a-fA-F]{2})|([tnr"\\]))')
_QUOTED = re.compile(r'"((?:[^"\\]|\\x[0-9a-fA-F]{2}|\\[tnr"\\])*)"')
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", '"': '"', "\\": "\\"}
_BOOLEANS = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
_MAX_INTEGER = (1 << 63) - 1
_SCALE = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5, "e": 6}
_BINARY_UNITS = ("b", "i", "ib")


class ScannedValue(NamedTuple):
    """A value and where it ends."""

    value: str | int | float | bool | Variable
    end: int


def scan_string(text: str, start: int) -> ScannedValue:
    """A quoted string. Only double quotes know escapes. Raises `ValueError` when it does not end."""
    if text[start] == "'":
        end = text.find("'", start + 1)
        if end < 0:
            raise ValueError("a string does not end")
        return ScannedValue(text[start + 1 : end], end + 1)
    match = _QUOTED.match(text, start)
    if match is None:
        raise ValueError('a string does not end, or has an escape other than \\xXX, \\t, \\n, \\r, \\" and \\\\')
    return ScannedValue(_unescaped(match[1]), match.end())


def scan_unquoted(text: str, start: int) -> ScannedValue:
    """A value without quotes: a number, a boolean word, a variable, or else a string.

    Raises `ValueError` for numbers that are too large, and for words that start like a number or date but are none.
    """
    if _BEFORE_BRACKET.match(text, start):
        raise ValueError("a number right before ']', which the server takes for a part of it; put a space between them")
    if match := _INTEGER.match(text, start):
        return ScannedValue(integer(match[1], match[2] or ""), match.end())
    if match := _FLOAT.match(text, start):
        return ScannedValue(float(match[0]), match.end())
    if text[start] == "." or (text[start] == "-" and not _NEGATIVE.match(text, start)):
        raise ValueError("a number must have a digit first")
    if _DATE_LIKE.match(text, start) and not _DATE.match(text, start):
        raise ValueError("what looks like a date must be one in full, as 2026-11-21T10:00:00Z; else quote it")
    return _word(text, start)


def _word(text: str, start: int) -> ScannedValue:
    match = _UNQUOTED.match(text, start)
    end = match.end() if match else start
    raw = text[start:end]
    if text[end : end + 1] == "\\":
        raise ValueError('an escape other than \\xXX, \\t, \\n, \\r, \\" and \\\\')
    if text[end : end + 1] == "'":
        end += 1
    if "\\" not in raw:
        if raw.lower() in _BOOLEANS:
            return ScannedValue(_BOOLEANS[raw.lower()], end)
        if raw.startswith("$"):
            return ScannedValue(Variable(raw[1:]), end)
    return ScannedValue(_unescaped(raw), end)


def integer(digits: str, suffix: str) -> int:
    """A number with its unit: `k` is 1000, `kb`, `ki` and `kib` are 1024. Raises `ValueError` past 64 bits."""
    unit, rest = suffix[:1].lower(), suffix[1:].lower()
    if rest and rest not in _BINARY_UNITS:
        raise ValueError("a number with a unit that is none; write it as 10GB or 10Gi")
    if len(digits) > len(str(_MAX_INTEGER)) + 1 or abs(int(digits)) > _MAX_INTEGER:
        raise ValueError("a number that is too large")
    return int(digits) * int((1024 if rest else 1000) ** _SCALE[unit])


def _unescaped(raw: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else _ESCAPED[match[2]], raw)


Include = Callable[[str, str], tuple[str, str] | None]
"""Given the including file and the name in it: the path and text of the included file; None when it is not there."""

_BLANKS = re.compile(r"\s*")
_COMMENT = re.compile(r"(?:#|//)[^\n\r]*")
_KEY = re.compile(r"[^\s=:\0]+")
_SAME_LINE = re.compile(r"[ \t]*")
_INCLUDED = re.compile(r"[^\n\r;}\s']+")
_MAX_INCLUDES = 20


@dataclass(slots=True)
class ConfigTree:
    """A configuration file with all that it includes. `missing` names included files that are not there."""

    tree: Tree
    missing: list[tuple[str, FilePosition]] = field(default_factory=list)
    used: frozenset[str] = frozenset()
    """Names of fields that values refer to (`$NAME`)."""


def configuration(file: str, text: str, include: Include) -> ConfigTree:
    """Read one file. Raises `ManifestError` at the first mistake, as the server does."""
    if text.startswith("\ufeff"):
        why = "it begins with a byte order mark, which servers take for a part of the first field"
        raise ManifestError(f"not a configuration: {why}; save it without one", FilePosition(file))
    missing: list[tuple[str, FilePosition]] = []
    reader = _ConfReader(file, text, include, missing, set())
    return ConfigTree(Tree(reader.top(), FilePosition(file)), missing, frozenset(reader.used))


class _ConfReader:
    def __init__(
        self,
        file: str,
        text: str,
        include: Include,
        missing: list[tuple[str, FilePosition]],
        used: set[str],
        *,
        nesting: int = 0,
    ) -> None:
        self.used = used
        self._file, self._text, self._include = file, text, include
        self._missing, self._nesting = missing, nesting
        self._scopes: list[dict[str, Tree]] = []
        self._pos = 0
        self._lines = [0, *(match.end() for match in re.finditer("\n", self._text))]

    def top(self) -> dict[str, Tree]:
        entries: dict[str, Tree] = {}
        self._scopes.append(entries)
        while True:
            self._skip(opening=True)
            if self._pos >= len(self._text):
                break
            if self._text[self._pos] == "}" and not self._text[self._pos + 1 :].strip():
                break  # so that JSON is a configuration, too
            self._entry(entries, 0)
            self._end_of_value("}")
        self._scopes.pop()
        return entries

    def _place(self, pos: int) -> FilePosition:
        line = bisect_right(self._lines, pos)
        return FilePosition(self._file, line, pos - self._lines[line - 1] + 1)

    def _error(self, text: str, pos: int | None = None) -> ManifestError:
        return ManifestError(f"not a configuration: {text}", self._place(self._pos if pos is None else pos))

    def _peek(self) -> str:
        return self._text[self._pos : self._pos + 1]

    def _skip(self, opening: bool = False) -> None:
        """White space and comments; at the top also an opening brace."""
        while True:
            self._pos = self._match(_BLANKS)
            if (end := self._match(_COMMENT)) > self._pos:
                self._pos = end
            elif opening and self._peek() == "{":
                self._pos += 1
            else:
                return

    def _match(self, pattern: re.Pattern[str]) -> int:
        match = pattern.match(self._text, self._pos)
        return match.end() if match else self._pos

    def _entry(self, entries: dict[str, Tree], depth: int) -> None:
        start = self._pos
        key, bare = self._key()
        if bare and key.lower() == "include" and self._peek().isspace():
            self._include_file(entries, start)
            return
        self._pos = self._match(_BLANKS)
        if self._peek() in "=:" and self._peek():
            self._pos += 1
            if depth == 0:
                self._pos = self._match(_SAME_LINE)
                if not self._peek():
                    return  # the server forgets a key that the file ends after
                if self._peek() in "\n\r":
                    raise self._error("a value is expected on the line of its key")
        entries[key] = self._value(depth + 1, self._place(start))

    def _key(self) -> tuple[str, bool]:
        """The key, and whether it has no quotes."""
        start, quote = self._pos, self._peek()
        if quote and quote in "\"'":
            end = self._text.find(quote, start + 1)
            if end < 0:
                raise self._error("a quoted key does not end")
            self._pos = end + 1
            return self._text[start + 1 : end], False
        end = self._match(_KEY)
        if end == start:
            raise self._error("a key is expected here")
        self._pos = end
        return self._text[start:end], True

    def _value(self, depth: int, place: FilePosition) -> Tree:
        if depth > MAX_DEPTH:
            raise self._error("it is too deep")
        self._pos = self._match(_BLANKS)
        first = self._peek()
        if first == "{":
            self._pos += 1
            return Tree(self._map(depth), place)
        if first == "[":
            self._pos += 1
            return Tree(self._array(depth), place)
        if not first:
            raise self._error("a value is expected, and the file ends")
        if first == "(":
            return Tree(self._text_block(), place)
        scan = scan_string if first in "\"'" else scan_unquoted
        try:
            scanned: ScannedValue = scan(self._text, self._pos)
        except ValueError as error:
            raise self._error(str(error)) from error
        start, self._pos = self._pos, scanned.end
        return (
            self._variable_value(scanned.value, place, start)
            if isinstance(scanned.value, Variable)
            else Tree(scanned.value, place)
        )

    def _variable_value(self, variable: Variable, place: FilePosition, at: int) -> Tree:
        """The value of the field that a variable names, in the blocks around it so far.

        If there is none, the variable itself is returned: its value is in the environment of the server.
        """
        if variable.name.startswith("2a$"):  # a bcrypt hash
            return Tree(f"${variable.name}", place)
        for scope in reversed(self._scopes):
            if variable.name in scope:
                self.used.add(variable.name)
                return Tree(scope[variable.name].value, place)
        if not variable.name:
            raise self._error("a variable without a name", at)
        return Tree(variable, place)

    def _map(self, depth: int) -> dict[str, Tree]:
        opened, entries = self._pos - 1, dict[str, Tree]()
        self._scopes.append(entries)
        while True:
            self._skip()
            if not self._peek():
                raise self._error("this block does not end", opened)
            if self._peek() == "}":
                self._pos += 1
                self._scopes.pop()
                return entries
            if self._peek() == "]":
                raise self._error("']' within a block")
            self._entry(entries, depth)
            self._end_of_value("", closing="}")

    def _array(self, depth: int) -> list[Tree]:
        opened, elements = self._pos - 1, list[Tree]()
        while True:
            self._skip()
            if not self._peek():
                raise self._error("this list does not end", opened)
            if self._peek() == "]":
                self._pos += 1
                return elements
            if self._peek() == ",":
                raise self._error("a value is expected before this comma")
            elements.append(self._value(depth + 1, self._place(self._pos)))
            self._end_of_value("", closing="]")

    def _end_of_value(self, extra: str, closing: str = "") -> None:
        """Skip the comma, semicolon or mark of `extra` that ends a value. The end of a line, too, ends it.

        `closing` ends the block around the value, which reads that mark itself.
        """
        self._pos = self._match(_SAME_LINE)
        mark = self._peek()
        if not mark or mark in "\n\r#" or self._text.startswith("//", self._pos) or (closing and mark == closing):
            return
        if mark == "," or (mark == ";" and closing != "]") or (extra and mark in extra):
            self._pos += 1
            return
        raise self._error("something follows a value on the same line")

    def _text_block(self) -> str:
        """The text of a `( … )` block, which a line with only `)` ends."""
        end = re.compile(r"\n\)(?=\n|\Z)").search(self._text, self._pos)
        if end is None:
            raise self._error("this block of text does not end")
        start, self._pos = self._pos + 1, end.end()
        return self._text[start : end.start() + 1]

    def _include_file(self, entries: dict[str, Tree], start: int) -> None:
        self._pos = self._match(_SAME_LINE)
        quote = self._peek()
        if quote and quote in "\"'":
            end = self._text.find(quote, self._pos + 1)
            name, self._pos = self._text[self._pos + 1 : end], end + 1
        else:
            end = self._match(_INCLUDED)
            name, self._pos = self._text[self._pos : end], end
        if not name or end < 0:
            raise self._error("the name of a file is expected after include", start)
        if self._nesting >= _MAX_INCLUDES:
            raise self._error("files include each other without end", start)
        included = self._include(self._file, name)
        if included is None:
            self._missing.append((name, self._place(start)))
            return
        path, text = included
        inner = _ConfReader(path, text, self._include, self._missing, self.used, nesting=self._nesting + 1)
        entries.update(inner.top())
