"""Reads the first and last lines of a file whole, for its wrapping, its times, and who wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jsdoctor.logs.lines.line import LINE_CAP, LogLine, read_line, stamped_header
from jsdoctor.logs.lines.stamp import LogYear
from jsdoctor.logs.scan.rows import PartRow, Span
from jsdoctor.model.log import DATED_US

WINDOW = 16 * 1024
"""Bytes at either end of a file that are read line by line."""

QUARTER_HOUR_US = 900_000_000


_DATE = rb"\d{4}/(?:(?:0[1-9]|1[0-2])/(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])/(?:29|30)|(?:0[13578]|1[02])/31)"
_OWN_HEADER = re.compile(
    rb"^(?:\[\d{1,10}\] )?(?!0000)"
    + _DATE
    + rb" (?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6} \[(INF|WRN|ERR|FTL|DBG|TRC)\]",
    re.MULTILINE,
)
"""A server's header as it writes it, at the start of a line: no wrapping, and the clock reads its time."""


def survey(row: PartRow, lines: list[bytes], year: LogYear) -> None:
    """Add levels, wrapping, zone and spans of these lines to the row of their part."""
    levels = _levels_of_own(lines)
    if levels is None:
        _read_one_by_one(row, lines, year)
        return
    row.surveyed_server += len(levels)
    row.levels.extend(level for level in dict.fromkeys(levels) if level not in row.levels)


def _levels_of_own(lines: list[bytes]) -> list[str] | None:
    """The levels of lines that are all a server's own, read at once; None if they must be read one by one."""
    result = _OWN_HEADER.findall(b"\n".join(lines))
    if len(result) != sum(map(bool, lines)):
        return None
    if any(line.endswith((b"}", b"}\r")) for line in lines):  # a JSON object may wrap the header
        return None
    return [level.decode() for level in result]


def _read_one_by_one(row: PartRow, lines: list[bytes], year: LogYear) -> None:
    for raw in lines:
        if raw[:1] == b"[" and (header := stamped_header(raw[:LINE_CAP])) is not None and not header.start:
            row.surveyed_server += 1  # a server's own header: no wrapping, and the clock reads its time
            if header.level not in row.levels:
                row.levels.append(header.level)
            continue
        line = read_line(raw, year)
        if line.kind and not row.wrapping:
            row.wrapping = line.kind
        if line.server and line.level and line.level not in row.levels:
            row.levels.append(line.level)
        if line.server:
            row.surveyed_server += 1
        elif line.us is not None:
            row.surveyed_client += 1
        if line.zoned and line.us is not None and line.native_us is not None and row.shift_us is None:
            row.shift_us = round((line.us - line.native_us) / QUARTER_HOUR_US) * QUARTER_HOUR_US
        note_time(row, line)


def note_time(row: PartRow, line: LogLine) -> None:
    """Widen the spans of a part by a line's time, unless it is the server's own stamp: the clock reads those."""
    if line.us is None or line.us < DATED_US:
        return
    if line.zoned:
        row.utc = widened(row.utc, line.us)
    elif line.native_us is None:
        row.local = widened(row.local, line.us)


def widened(span: Span | None, us: int) -> Span:
    """The span, widened to include this time."""
    return (us, us) if span is None else (min(span[0], us), max(span[1], us))


def whole_lines(text: bytes, from_line_start: bool) -> list[bytes]:
    """The lines that begin in this text; the piece of a line at its start is left out."""
    if not from_line_start:
        newline = text.find(b"\n")
        text = text[newline + 1 :] if newline >= 0 else b""
    return text.split(b"\n")[: -1 if text.endswith(b"\n") else None] if text else []


def lines_below(text: bytes, end: int) -> Iterator[bytes]:
    """The lines of a text that begin before this offset."""
    lines = text.split(b"\n")
    if len(text) < end:
        yield from lines
        return
    at = 0
    for line in lines:
        if at >= end:
            return
        yield line
        at += len(line) + 1
