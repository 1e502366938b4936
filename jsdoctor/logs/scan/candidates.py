"""Finds the lines of a block that may have a signature, without reading most of the others."""

from __future__ import annotations

from collections.abc import Sequence

from jsdoctor.logs.lines.builtin import BEGINNINGS
from jsdoctor.logs.lines.line import STARTS
from jsdoctor.logs.lines.matcher import Finder, Search, first_in_lines
from jsdoctor.logs.scan.time_segments import CandidateLines

_NEWLINE = 10
_AT_ONCE = (*STARTS, *BEGINNINGS)


def candidates(block: bytes, loud: CandidateLines, quiet: Sequence[Search], find: Finder) -> list[int]:
    """Offsets in these lines, in no order and some lines more than once; without those in `loud.single`.

    Four lines in five of a debug log are quiet, and few literals count there, so that these are searched one by one,
    which is many times as fast.
    """
    positions = [0] if begins_at_once(block) else []
    for begin, end in loud.runs:
        position = max(begin - 1, 0)  # some literals begin with the line break
        while position >= 0 and (position := find(position, end)) >= 0:
            position += block[position] == _NEWLINE
            positions.append(position)
            position = block.find(b"\n", position, end)
    if not loud.whole:
        for search in quiet:
            positions.extend(first_in_lines(block, search))
    return positions


def begins_at_once(block: bytes) -> bool:
    """Whether a block begins with a literal that is otherwise found by the line break before it."""
    return block.startswith(_AT_ONCE)


def has_literal(block: bytes, begin: int, end: int, find: Finder) -> bool:
    """Whether a line has a literal, the line break before it included."""
    return find(max(begin - 1, 0), end) >= 0 or (begin == 0 and begins_at_once(block))
