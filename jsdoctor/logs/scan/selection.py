"""The lines of a log that rules can use, picked from whole files: what a bundle keeps of them.

Kept are lines with the words of a signature, lines at warning and above, the first and the last line, indented lines
behind a kept one, and the lines around each change of the minute or step back of the time. Without the last, every
quiet minute would look like a gap in the log.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from jsdoctor.logs.lines.line import read_line
from jsdoctor.logs.lines.matcher import Matcher
from jsdoctor.logs.lines.stamp import ANY_YEAR, LogYear
from jsdoctor.logs.scan.candidates import begins_at_once
from jsdoctor.model.rule import Signature

MAX_KEPT_BYTES = 32 << 20
"""Maximum number of bytes kept of one file; further lines are counted."""

MAX_KEPT_IN_ALL_BYTES = 192 << 20
"""Maximum number of bytes kept of all files together. A bundle may unpack to 512 MiB."""

_MAX_CONTINUED = 50
_QUIET = re.compile(rb"\[(?:TRC|DBG)\] |\"(?:level|severity|lvl)\" ?: ?\"(?:trace|debug)", re.IGNORECASE)
_QUIET_WITHIN = 400
_NEWLINE = ord("\n")
_LEFT_OUT = b"[text left out]"
_LOUD = re.compile(
    rb"\b(?:WRN|ERR|FTL|WARN|WARNING|ERROR|FATAL|PANIC|CRITICAL)\b|^panic: |^goroutine |^Traceback "
    rb"|(?:level|severity|lvl)\"? ?[:=] ?\"?(?:warn|err|fatal|panic|crit)",
    re.MULTILINE,
)
_TIME = re.compile(rb"^[^\n]{0,80}?(\d\d:\d\d):(\d\d)", re.MULTILINE)


class LineSelection:
    """Takes a file block by block, each of whole lines, and keeps the selected lines in `text`."""

    def __init__(self, matcher: Matcher, room: int | None = None, year: LogYear = ANY_YEAR) -> None:
        self._matcher, self._year = matcher, year
        self._room = MAX_KEPT_BYTES if room is None else min(room, MAX_KEPT_BYTES)
        self._text = bytearray()
        self._dated = self._last = b""
        self._dated_at = -1
        self._minute = self._second = b""
        self.lines = self.kept = self.left_out = 0
        """Lines seen, lines kept, and lines that would have been kept if there had been room."""

    @property
    def text(self) -> bytes:
        """The kept lines, each with its line break."""
        return bytes(self._text)

    def feed(self, block: bytes) -> None:
        """Take the next block."""
        if not block:
            return
        starts = {0} if not self.lines else set()
        starts.update(self._with_words(block), (_line_start(block, match.start()) for match in _LOUD.finditer(block)))
        starts.update(self._dated_changes(block))
        last, kept = _line_start(block, len(block) - 1), _with_indented(block, starts)
        for start in sorted(kept):
            self._keep(block[start : _line_end(block, start)])
        self._last = b"" if last in kept else block[last:]
        if self._dated_at in kept:
            self._dated = b""
        self.lines += block.count(b"\n") + (not block.endswith(b"\n"))

    def finish(self) -> None:
        """End the file: keep its last line."""
        if self._last:
            self._keep(self._last)
            self._last = b""

    def _keep(self, line: bytes) -> None:
        line = self._without_payload(line.rstrip(b"\r\n")) + b"\n"
        if len(self._text) + len(line) > self._room:
            self.left_out += 1
            return
        self._text += line
        self.kept += 1

    def _without_payload(self, line: bytes) -> bytes:
        """The line; at debug and trace without its text, which quotes payloads and logins of clients.

        The text stays if a rule has a signature for it.
        """
        if not _QUIET.search(line, 0, _QUIET_WITHIN):
            return line
        reported = read_line(line, self._year)
        if reported.level not in ("", "TRC", "DBG") or self._matcher.match(
            reported.server, reported.level, reported.text
        ):
            return line
        if reported.text and line.endswith(reported.text):
            return line[: -len(reported.text)] + _LEFT_OUT
        return _LEFT_OUT

    def _with_words(self, block: bytes) -> Iterator[int]:
        """Where lines begin that have the words of a signature."""
        find, position, end = self._matcher.finder(block), 0, len(block)
        if begins_at_once(block):
            yield 0
        while position >= 0 and (result := find(max(position - 1, 0), end)) >= 0:
            start = _line_start(block, result + (block[result] == _NEWLINE))
            yield start
            position = _line_end(block, max(start, result))
            if position >= end:
                return

    def _dated_changes(self, block: bytes) -> Iterator[int]:
        """Where the minute changes or the time goes back: that line and the dated one before it.

        If the one before is in an earlier block, it is kept at once.
        """
        before = -1
        for match in _TIME.finditer(block):
            minute, second = match.groups()
            if minute != self._minute or second < self._second:
                if before >= 0:
                    yield before
                elif self._dated:
                    self._keep(self._dated)
                yield match.start()
            self._minute, self._second = minute, second
            before = match.start()
        self._dated_at = before
        if before >= 0:
            self._dated = block[before : _line_end(block, before)]


def signature_identity(signature: Signature) -> str:
    """The name of a signature and a digest of what it matches: a changed pattern is another signature."""
    from hashlib import sha256

    parts = (signature.contains, signature.pattern, signature.source.value, *signature.levels)
    return f"{signature.name}:{sha256('|'.join(parts).encode()).hexdigest()[:8]}"


def unsearched(searched: Collection[str], signatures: Collection[Signature], left_out: bool) -> tuple[str, ...]:
    """Names of the signatures whose lines may be missing among selected ones."""
    known = {*searched}
    return tuple(signature.name for signature in signatures if left_out or signature_identity(signature) not in known)


def _line_start(block: bytes, offset: int) -> int:
    return block.rfind(b"\n", 0, max(offset, 0)) + 1


def _line_end(block: bytes, offset: int) -> int:
    """Behind the line break that ends the line."""
    return block.find(b"\n", offset) + 1 or len(block)


def _with_indented(block: bytes, starts: set[int]) -> set[int]:
    """The starts, with those of the indented lines that follow, as in a stack trace."""
    continued: set[int] = set()
    for start in starts:
        position = _line_end(block, start)
        for _ in range(_MAX_CONTINUED):
            if block[position : position + 1] not in (b" ", b"\t"):
                break
            continued.add(position)
            position = _line_end(block, position)
    return starts | continued
