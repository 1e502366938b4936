"""Regular expressions over bytes: google-re2 for blocks and long texts, Python's own for short ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import re2

_SHORT = 512
"""Texts up to this length are matched by Python's re: faster there, and too short to blow up."""


Finder = Callable[[int, int], int]
"""From and to which offset of a block to look for a literal; where it begins, or -1."""

Search = Callable[[bytes, int], int]
"""A block, and from where to look for one literal in it; where it begins, or -1."""


def single_search(literal: bytes) -> Search:
    """Searches for one literal: RE2 looks for its first and last byte at once, faster than `bytes.find`."""
    search = re2.compile(re.escape(literal), _options()).search
    return lambda block, position: _start(search(block, position))


def _options() -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = 64 << 20
    return options


class LiteralSearch:
    """Finds literals in bytes. Each of its two searches is compiled at first use: a small log needs one, or none."""

    def __init__(self, literals: Sequence[bytes]) -> None:
        self._escaped = [re.escape(literal) for literal in literals]

    @cached_property
    def _any(self) -> Any:
        return re2.compile(b"|".join(self._escaped), _options())

    @cached_property
    def _set(self) -> Any:
        literals = re2.Set.SearchSet(_options())
        for literal in self._escaped:
            literals.Add(literal)
        literals.Compile()
        return literals

    def finder(self, block: bytes) -> Finder:
        """Finds the first literal that stands in a range of the block."""
        inner = getattr(self._any, "_regexp", None)
        if inner is None:  # another version of the wrapper: slower, and as right
            return lambda position, end: _start(self._any.search(block, position, end))
        match, anywhere = inner.Match, re2._re2.RE2.Anchor.UNANCHORED  # noqa: SLF001
        return lambda position, end: match(anywhere, block, position, end)[0][0]

    def present(self, text: bytes) -> Sequence[int]:
        """Which literals stand in this text, by number, ascending."""
        return sorted(self._set.Match(text) or ())


def first_in_lines(block: bytes, search: Search) -> Iterator[int]:
    """Where a literal stands in a block: for each line that has it, or begins with it, the first place."""
    at = search(block, 0)
    while at >= 0:
        yield at
        line_end = block.find(b"\n", at + 1)
        at = search(block, line_end) if line_end >= 0 else -1


def _start(result: Any) -> int:
    return -1 if result is None else int(result.start())


class Pattern:
    """A portable pattern over bytes. Texts longer than `short` go to RE2, whose time is linear.

    It is compiled when it is first wanted: most logs have lines of few signatures.
    """

    def __init__(self, pattern: str, short: int = _SHORT) -> None:
        self._raw = pattern.encode()
        self._short = short

    def groups(self, text: bytes) -> tuple[bytes | None, ...] | None:
        """The groups of the first match, or None."""
        match = (self._quick if len(text) <= self._short else self._linear).search(text)
        return None if match is None else tuple(match.groups())

    def begins(self, text: bytes, within: int = 0) -> bool:
        """Whether the first match begins in the first bytes of the text: not behind `within`."""
        match = (self._quick if len(text) <= self._short else self._linear).search(text)
        return match is not None and int(match.start()) <= within

    @cached_property
    def _quick(self) -> re.Pattern[bytes]:
        return re.compile(self._raw)

    @cached_property
    def _linear(self) -> Any:
        return re2.compile(self._raw, _options())


def portable(pattern: str) -> str | None:
    """Why a pattern is not portable (Python's re and RE2 must both take it), or None when it is."""
    try:
        re.compile(pattern.encode())
    except re.error as error:
        return f"Python's re refuses it: {error}"
    if re.search(r"\(\?(?!:)", pattern):
        return "only (?:...) groups are portable: no flags, names, lookaround"
    if re.search(r"\\[1-9ZGkRXKupP<>\"]", pattern):
        return "it uses an escape that RE2 or Rust's regex refuse"
    try:
        re2.compile(pattern.encode(), _options())
    except re2.error as error:
        return f"RE2 refuses it: {error}"
    return None


def group_count(pattern: str) -> int:
    """How many groups a pattern has."""
    return re.compile(pattern.encode()).groups
