"""Replies as nats.js programs print them: `console.log` has a notation of its own, and leaves out what lies deep."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from jsdoctor.parse.pasted.documents import MAX, Document

_MAX_OBJECTS = 1_000
_DEEPEST = 64
_START = re.compile(r"[{\[]\s{0,40}(?:\{\s{0,40})?[A-Za-z_]\w{0,40}:\s")
_TOKEN = re.compile(
    r"""\s*(?:(?P<text>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)"""
    r"|(?P<left_out>\[(?:Object|Array|Circular|Function|Getter|Setter|Symbol)\b[^\]\n]*\]|\.\.\. \d+ more \w+)"
    r"|(?P<date>\d{4}-\d\d-\d\dT[\d:.]+Z)"
    r"|(?P<number>-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)n?"
    r"|(?P<word>[A-Za-z_$][\w$]*)"
    r"|(?P<mark>[{}\[\],:]))"
)
_END = re.compile(r"""[\s`]*(?:\Z|(?:…|\.\.\.)(?! \d)|'(?:[^'\\\n]|\\.)*\Z|"(?:[^"\\\n]|\\.)*\Z)""")
"""Nothing follows, or an ellipsis of who cut the text, or a string without its end."""
_WORDS = {"true": True, "false": False, "null": None, "undefined": None, "NaN": None, "Infinity": None}
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def javascript_objects(text: str) -> Iterator[Document]:
    """Every object in a text that is none of JSON. Elements of a list are documents of their own.

    `[Object]`, `[Array]` and `... 3 more items`, which stand for what was not printed, leave their container open.
    """
    text = text[:MAX]
    at = 0
    for _ in range(_MAX_OBJECTS):
        start = _START.search(text, at)
        if start is None:
            return
        reader = _ObjectReader(text, start.start())
        try:
            value = reader.value("", 0)
        except ValueError:
            at = start.start() + 1
            continue
        at = reader.at
        yield from _separate(value, frozenset(reader.open))


def _separate(value: Any, open_: frozenset[str]) -> Iterator[Document]:
    """An object, or the elements of a list of assets, each with the paths that are open in it.

    Of a list, `Document.open` would mean its last element.
    """
    if isinstance(value, list):
        for number, element in enumerate(value):
            yield from _separate(element, _below(open_, str(number)))
    elif isinstance(value, dict):
        listed = [key for key in ("streams", "consumers") if isinstance(value.get(key), list)]
        for key in listed:
            yield from _separate(value[key], _below(open_, key))
        if not listed:
            yield Document(value, frozenset(re.sub(r"(?:^|(?<=\.))\d+(?=\.|$)", "*", path) for path in open_))


def _below(paths: frozenset[str], key: str) -> frozenset[str]:
    return frozenset(path[len(key) + 1 :] for path in paths if path == key or path.startswith(f"{key}."))


class _ObjectReader:
    """Reads one value from a place in a text. `open` has the paths of containers that were not printed whole."""

    def __init__(self, text: str, at: int) -> None:
        self.at = at
        self.open: list[str] = []
        self._text = text

    def value(self, path: str, depth: int) -> Any:
        """The value here. Raises ValueError where the text is none."""
        token = self._next()
        if token is None or depth > _DEEPEST:
            raise ValueError(path)
        kind, text = token
        if kind == "text":
            return _ESCAPED.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), text[1:-1])
        if kind == "left_out":
            self.open.append(path)
            return [] if text == "[Array]" else {}
        if kind == "date":
            return text
        if kind == "number":
            return float(text) if re.search(r"[.e]", text) else int(text)
        if kind == "word" and text in _WORDS:
            return _WORDS[text]
        if kind == "word":  # the class of the object that follows
            token = self._next()
        if token == ("mark", "{"):
            return self._object(path, depth)
        if token == ("mark", "["):
            return self._list(path, depth)
        raise ValueError(path)

    def _object(self, path: str, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while (token := self._next()) != ("mark", "}"):
            if token is None or token[0] == "left_out":
                self.open.append(path)
                if token is None:
                    break
            elif token != ("mark", ","):
                kind, key = token
                if not self._ends() and (kind == "mark" or self._next() != ("mark", ":")):
                    raise ValueError(path)
                if self._ends():
                    continue
                key = key[1:-1] if kind == "text" else key
                value = self.value(f"{path}.{key}".lstrip("."), depth + 1)
                if not self._is_cut(value):
                    values[key] = value
        return values

    def _list(self, path: str, depth: int) -> list[Any]:
        values: list[Any] = []
        while (before := self.at, token := self._next())[1] != ("mark", "]"):
            if token is None or (token[0] == "left_out" and token[1].startswith("...")):
                self.open.append(path)
                if token is None:
                    break
            elif token != ("mark", ","):
                self.at = before
                value = self.value(f"{path}.{len(values)}".lstrip("."), depth + 1)
                if not self._is_cut(value):
                    values.append(value)
        return values

    def _is_cut(self, value: Any) -> bool:
        """Whether the text ends in a value that may go on, such as a number."""
        return self._ends() and not isinstance(value, dict | list | str)

    def _ends(self) -> bool:
        return _END.match(self._text, self.at) is not None

    def _next(self) -> tuple[str, str] | None:
        """The kind and text of the next token; None at the end. Raises ValueError where there is none."""
        if self._ends():
            return None
        match = _TOKEN.match(self._text, self.at)
        if match is None:
            raise ValueError(self.at)
        self.at = match.end()
        kind = str(match.lastgroup)
        return kind, match[kind]
