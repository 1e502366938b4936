"""A block of a log while it is scanned: its text, what is known of the text before it, and what was found in it."""

from __future__ import annotations

from collections.abc import Sequence

from jsdoctor.model.log_line import DATED_US
from jsdoctor.model.log_scan import LogEvent, Part
from jsdoctor.parse.logs.lines.matcher import Match
from jsdoctor.parse.logs.scan.log_sources import LogSource
from jsdoctor.parse.logs.scan.processes import Cut
from jsdoctor.parse.logs.scan.rows import KeptLine, ProcessRef
from jsdoctor.parse.logs.scan.signature_counter import Line

CONTEXT = 128 * 1024
"""Bytes before a part that its scan may read, and keeps of each block for the next."""

_EXCERPT = 512

Mark = tuple[str, ProcessRef, Line, int | None]
"""A built-in signature: its name, the process, the line, and the server's own stamp."""

Event = tuple[LogSource, Match, Line, str]
"""One line with a signature: its process, the match, the line, and its level."""


class LogBlock:
    """Whole lines of a part. `base` is the offset of the first byte, `before` what stands before it, as far as kept.

    `cuts` are the lines where processes and sections begin, `skip` the positions of lines that count for no clock,
    `marks` and `events` what is passed on once the lines have numbers.
    """

    __slots__ = ("base", "before", "cuts", "events", "marks", "skip", "text")

    def __init__(self, text: bytes, base: int, before: bytes) -> None:
        self.text, self.base, self.before = text, base, before
        self.cuts: list[Cut] = []
        self.skip: list[int] = []
        self.marks: list[Mark] = []
        self.events: list[Event] = []

    def context(self) -> bytes:
        """What the next block may read of this one and those before it."""
        text = self.text
        return (self.before + text)[-CONTEXT:] if len(text) < CONTEXT else text[-CONTEXT:]

    def between(self, begin: int, end: int) -> bytes:
        """Text of the file between two offsets, out of this block and what was kept of the one before."""
        start, stop = begin - self.base, end - self.base
        if start >= 0:
            return self.text[start:stop]
        head = self.before[max(0, len(self.before) + start) : len(self.before) + min(stop, 0)]
        return head + self.text[: max(0, stop)]

    def line_before(self, begin: int) -> bytes:
        """The line before the one that begins at this position."""
        text = self.text[max(0, begin - CONTEXT) : begin] if begin else self.before
        end = text[:-1].rfind(b"\n") + 1
        if not end and 0 < begin < CONTEXT:
            text = self.before + text
            end = text[:-1].rfind(b"\n") + 1
        return text[end:]

    def kept(self, lines: Sequence[Line], numbers: Sequence[int]) -> list[KeptLine]:
        """The text of lines to keep. `numbers` are theirs in the part."""
        kept = []
        for (offset, us, zoned, fields), number in zip(lines, numbers, strict=True):
            begin = offset - self.base
            stop = self.text.find(b"\n", begin, begin + _EXCERPT)
            end = begin + _EXCERPT if stop < 0 else stop
            text = self.text[begin:end].rstrip(b"\r").decode(errors="replace")
            kept.append(KeptLine(us, zoned, number, offset, text, fields))
        return kept


def log_event(part: Part, event: Event, kept: KeptLine) -> LogEvent:
    """One line with a signature, for those who read single events."""
    source, match, line, level = event
    process = source.process
    server = part.server or source.name or process.label or process.section or part.series
    fields = (*match.subject, *match.others)
    at_us = line[1] if line[1] is not None and line[1] >= DATED_US else None
    name = match.signature.name
    return LogEvent(server, at_us, line[2], level, name, fields, part.name, kept.line, kept.offset, kept.text)
