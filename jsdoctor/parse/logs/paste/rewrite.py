"""From a pasted or exported text to the lines that servers wrote, oldest first."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise

from jsdoctor.model.log_line import DATED_US
from jsdoctor.parse.logs.line import read_line
from jsdoctor.parse.logs.matcher import Matcher
from jsdoctor.parse.logs.paste.documents import document_lines, one_record_a_line
from jsdoctor.parse.logs.paste.dressing import begins_with_time, plain, undressed
from jsdoctor.parse.logs.paste.order import oldest_first
from jsdoctor.parse.logs.paste.tables import table_lines

REWRITTEN_BYTES = 32 << 20
"""A larger file is read as it is: nobody pastes so much, and it is held in memory as a whole."""

HEAD_BYTES = 16 << 10
"""So much of a file tells whether it is an ordinary log."""

_ORDINARY = re.compile(rb"^(?:\[\d{1,10}\] )?\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{6} \[", re.MULTILINE)
_MOST_LINES = 0.9
_DRESSED = (b"\xe2\x80\x98", b"\xe2\x80\x99", b"\xe2\x80\x9c", b"\xc2\xa0", b"&gt;", b"&quot;", b"&#", b"<-")
"""Typographic quotes, HTML and notes: no server writes these."""

_FENCE = re.compile(r"\s*(?:```|~~~)\s*\w*\s*$")
_LONGEST = 4096
_WRAPPED_LINES = 4
_WIDE = 30


def is_ordinary(head: bytes) -> bool:
    """Whether these first bytes are of a server's log as it was written: most lines have its header, oldest first."""
    stamps = [found[0].rpartition(b" ")[0][-26:] for found in _ORDINARY.finditer(head)]
    lines = sum(bool(line.strip()) for line in head.split(b"\n"))
    if len(stamps) < _MOST_LINES * lines or not stamps or any(sign in head for sign in _DRESSED):
        return False
    return stamps[0] <= stamps[-1] or sum(a > b for a, b in pairwise(stamps)) * 2 < len(stamps)


class Rewriter:
    """Rewrites texts. `matcher` tells which messages are known."""

    def __init__(self, matcher: Matcher, year: int) -> None:
        self._matcher, self._year = matcher, year
        self._knows = lru_cache(maxsize=4096)(self._known)

    def lines(self, head: bytes, whole: Callable[[], bytes]) -> bytes | None:
        """See `rewritten`. `head` are the first `HEAD_BYTES`, `whole` gives all.

        Of a large text the first lines decide: to look at all of it takes far longer than to scan it.
        """
        if not head or is_ordinary(head):
            return None
        if len(head) >= HEAD_BYTES and self.rewritten(head[: head.rfind(b"\n") + 1]) is None:
            return None
        data = whole()
        return None if len(data) > REWRITTEN_BYTES else self.rewritten(data)

    def rewritten(self, data: bytes) -> bytes | None:
        """The lines of a text as servers wrote them; None when it is better read as it is."""
        text = data.decode(errors="replace")
        plain = [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")]
        lines = plain if one_record_a_line(plain) else None
        lines = lines or document_lines(text) or table_lines(text) or self._pasted(plain)
        lines = oldest_first(lines, self._time) or lines
        changed = "\n".join(lines).encode(errors="replace") + b"\n"
        return None if changed.rstrip() == data.rstrip() else changed

    def _known(self, line: str) -> bool:
        raw = line[:_LONGEST].encode(errors="replace")
        read = read_line(raw, self._year)
        return read.server or bool(self._matcher.opening(read.text))

    def _time(self, line: str) -> int | None:
        us = read_line(line[:_LONGEST].encode(errors="replace"), self._year).us
        return None if us is None or us < DATED_US else us

    def _pasted(self, lines: Sequence[str]) -> list[str]:
        """Each line without what is around it; the pieces of a wrapped one joined, and an empty line for each piece."""
        clean = ["" if _FENCE.match(line) else undressed(line, self._year, self._knows) for line in lines]
        at = 0
        while at < len(clean):
            at += self._join(clean, lines, at)
        return clean

    def _join(self, clean: list[str], lines: Sequence[str], at: int) -> int:
        """Join what was wrapped behind a line, where that makes a message that is known. How many lines it took."""
        first = clean[at]
        known = self._knows(first) or begins_with_time(first, self._year)
        if len(first) < _WIDE or not known or self._told(first):
            return 1
        for spaced in (False, True):
            text = plain(lines[at])
            for count in range(1, _WRAPPED_LINES):
                if at + count >= len(lines) or not lines[at + count].strip() or self._headed(clean[at + count]):
                    break
                more = plain(lines[at + count])
                text = f"{text.rstrip()} {more.strip()}" if spaced else text + more
                message = undressed(text, self._year, self._knows)
                if self._told(message):
                    clean[at] = message
                    clean[at + 1 : at + count + 1] = [""] * count
                    return count + 1
        return 1

    def _told(self, line: str) -> bool:
        """Whether some signature knows the message of a line."""
        read = read_line(line[:_LONGEST].encode(errors="replace"), self._year)
        return bool(self._matcher.match(True, read.level, read.text))

    def _headed(self, line: str) -> bool:
        read = read_line(line[:_LONGEST].encode(errors="replace"), self._year)
        return read.server or read.us is not None
