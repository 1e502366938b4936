"""From a pasted or exported text to the lines that servers wrote, oldest first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import islice

from jsdoctor.model.log_line import DATED_US
from jsdoctor.parse.logs.lines.builtin import SHOWN
from jsdoctor.parse.logs.lines.line import LINE_CAP, LogLine, read_line
from jsdoctor.parse.logs.lines.matcher import Matcher
from jsdoctor.parse.logs.paste.documents import document_lines, is_document, one_record_a_line
from jsdoctor.parse.logs.paste.dressing import begins_with_time, plain, undressed
from jsdoctor.parse.logs.paste.order import oldest_first
from jsdoctor.parse.logs.paste.ordinary import HEAD_BYTES, REWRITTEN_BYTES, is_ordinary
from jsdoctor.parse.logs.paste.tables import table_lines

REWRITTEN_LINES = 250_000
"""A text of more lines is read as it is, for the same reason."""

_TELLING = re.compile(r"\[(?:\x1b\[[\d;]*m)?(?:INF|WRN|ERR|FTL|DBG|TRC)|nats-server")
_FRUITLESS = 5_000
"""After this many lines with server text in an unknown form, at most as many more as were readable are tried."""

_LOOKED_AT = 64 << 10
"""This many characters are read in context to classify a text; the rest is read line by line."""

_FRUITLESS_JOINS = 2_000
"""After this many lines whose continuation made no known message, at most as many more as did are joined."""

_FENCE = re.compile(r"\s*(?:```|~~~)\s*\w*\s*$")
_MAX = 4096
_WRAPPED_LINES = 4
_WIDE = 30


class Rewriter:
    """Rewrites texts. `matcher` decides which messages are known."""

    def __init__(self, matcher: Matcher, year: int) -> None:
        self._matcher, self._year = matcher, year
        self._knows = lru_cache(maxsize=4096)(self._known)
        self._parsed = lru_cache(maxsize=4096)(self._parse)
        self._read_lines = self._fruitless = 0
        self._joined = self._fruitless_joins = 0

    def lines(self, head: bytes, whole: Callable[[], bytes]) -> bytes | None:
        """See `rewritten`. `head` are the first `HEAD_BYTES`, `whole` gives all.

        Of a large text the first lines decide: to look at all of it takes far longer than to scan it. They do not where
        they are the beginning of one document, which may be a single line.
        """
        if not head or is_ordinary(head):
            return None
        if len(head) >= HEAD_BYTES and self.rewritten(head[: head.rfind(b"\n") + 1]) is None:
            text = head.decode(errors="replace")
            decides = not is_document(text) or one_record_a_line(text.split("\n")[:-1])
            if decides:
                return None
        data = whole()
        return None if len(data) > REWRITTEN_BYTES else self.rewritten(data)

    def rewritten(self, data: bytes) -> bytes | None:
        """The lines of a text as servers wrote them; None when it is better read as it is."""
        if data.count(b"\n") > REWRITTEN_LINES:
            return None
        changed = "\n".join(self.lines_of(data.decode(errors="replace"))).encode(errors="replace") + b"\n"
        return None if changed.rstrip() == data.rstrip() else changed

    def lines_of(self, text: str) -> list[str]:
        """The lines of a text as servers wrote them, oldest first. A line that nobody knows stays as it is."""
        given = [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")]
        self._read_lines = self._fruitless = 0
        self._joined = self._fruitless_joins = 0
        lines = given if one_record_a_line(given) else None
        lines = lines or document_lines(text) or table_lines(text) or self._pasted(given)
        return oldest_first(lines, self._time) or lines

    def is_log(self, text: str) -> bool:
        """Whether there is a line of a server in a text, or a message that some signature knows, in whatever form."""
        if self._any_known(self.lines_of(text[:_LOOKED_AT])):
            return True
        rest = text[_LOOKED_AT:]
        if not (_TELLING.search(rest) or self._holds(rest)):
            return False
        telling = (line for line in rest.splitlines() if _TELLING.search(line, 0, _MAX) or self._holds(line))
        return self._any_known(self._undressed(plain(line)) for line in islice(telling, _FRUITLESS))

    def _any_known(self, lines: Iterable[str]) -> bool:
        for line in lines:
            read = self._parse(line)
            if read.server or any(self._is_of_a_rule(server, "", read.text) for server in (True, False)):
                return True
        return False

    def _parse(self, line: str) -> LogLine:
        return read_line(line[:_MAX].encode(errors="replace"), self._year)

    def _known(self, line: str) -> bool:
        read = self._parse(line)
        return read.server or bool(self._matcher.opening(read.text))

    def _time(self, line: str) -> int | None:
        us = self._parse(line).us
        return None if us is None or us < DATED_US else us

    def _pasted(self, lines: Sequence[str]) -> list[str]:
        """Each line without what is around it; the pieces of a wrapped one joined, and an empty line for each piece."""
        clean = ["" if _FENCE.match(line) else self._undressed(plain(line)) for line in lines]
        at = 0
        while at < len(clean):
            at += self._join(clean, lines, at)
        return clean

    def _undressed(self, line: str) -> str:
        """See `undressed`. Lines that cannot hold anything known are left as they are, which is most of many texts."""
        front = line[:LINE_CAP]
        if self._fruitless > _FRUITLESS + self._read_lines or not (_TELLING.search(front) or self._holds(front)):
            return line
        plain = undressed(front, self._year, self._knows)
        if not self._knows(plain):
            self._fruitless += 1
            return line
        self._read_lines += 1
        return plain if len(line) <= LINE_CAP or plain != front else line

    def _holds(self, line: str) -> bool:
        return self._matcher.holds_literal(line.encode(errors="replace"))

    def _join(self, clean: list[str], lines: Sequence[str], at: int) -> int:
        """Join what was wrapped behind a line, where that makes a message that is known. How many lines it took."""
        first = clean[at]
        known = self._knows(first) or begins_with_time(first, self._year)
        if len(first) < _WIDE or not known or self._told(first):
            return 1
        if self._fruitless_joins > _FRUITLESS_JOINS + self._joined:
            return 1
        for spaced in (False, True):
            text = plain(lines[at])
            following = map(plain, lines[at : at + _WRAPPED_LINES])
            if not self._holds(" ".join(map(str.strip, following)) if spaced else "".join(following)):
                continue
            for count in range(1, _WRAPPED_LINES):
                if at + count >= len(lines) or not lines[at + count].strip() or self._headed(clean[at + count]):
                    break
                more = plain(lines[at + count])
                text = f"{text.rstrip()} {more.strip()}" if spaced else text + more
                message = self._undressed(text)
                if self._told(message):
                    clean[at] = message
                    clean[at + 1 : at + count + 1] = [""] * count
                    self._joined += 1
                    return count + 1
        self._fruitless_joins += 1
        return 1

    def _told(self, line: str) -> bool:
        """Whether some signature knows the message of a line."""
        read = self._parse(line)
        return self._is_of_a_rule(True, read.level, read.text)

    def _is_of_a_rule(self, server: bool, level: str, text: bytes) -> bool:
        """Whether a rule knows it. What is shown as unknown has signatures that match any message."""
        return any(match.signature.name not in SHOWN for match in self._matcher.match(server, level, text))

    def _headed(self, line: str) -> bool:
        read = self._parse(line)
        return read.server or read.us is not None
