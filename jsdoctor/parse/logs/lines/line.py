"""One log line, in any wrapping, split into sender, time, level and message."""

from __future__ import annotations

from typing import NamedTuple

from jsdoctor.model.log_line import DATED_US
from jsdoctor.parse.logs.lines.header import Header, stamped_header, unstamped_header
from jsdoctor.parse.logs.lines.stamp import Stamp, find_clock, find_stamp
from jsdoctor.parse.logs.lines.structured import Structured, read_structured
from jsdoctor.parse.logs.lines.wrapping import Wrapping, unwrap, unwrap_prefix

LINE_CAP = 16 * 1024
"""Only so much of a line is looked at, in bytes: container runtimes cut there too."""

_STAMP_WITHIN = 120


class LogLine(NamedTuple):
    """A line taken apart.

    `label` is the pod, service or host that the wrapping names. `us` is the best time (UTC when `zoned`), `native_us`
    the server's own stamp where it has a date. A time without a date is counted from `CLOCK_US`.
    `text` is the message, without header and wrapping. `server`: nats-server wrote it.
    """

    label: str
    pid: int | None
    us: int | None
    zoned: bool
    native_us: int | None
    level: str
    text: bytes
    server: bool
    kind: str


def read_line(line: bytes, year: int) -> LogLine:
    """Take a line apart. Never fails: what is not understood is text. `year` is for times that have none."""
    line = line[:LINE_CAP].rstrip(b"\r\n")
    if line[:1] == b"\x00":
        line = line.lstrip(b"\x00")
    if not line.startswith(b"["):
        start = _object_start(line)
        structured = read_structured(line[start:], year) if start >= 0 else None
        if structured is not None:
            return _from_structured(structured, unwrap(line[:start], year) if start else Wrapping(), year)
    return _from_text(line, year)


def _object_start(line: bytes) -> int:
    """Where a JSON object starts: at once, or after wrappings."""
    if line.startswith(b"{"):
        return 0
    if not line.endswith(b"}"):
        return -1
    brace = line.find(b'{"', 0, 400)
    return brace if brace > 0 and unwrap(line[:brace], 1970).length == brace else -1


def _from_structured(structured: Structured, outer: Wrapping, year: int) -> LogLine:
    text = structured.message.rstrip(b"\r\n")
    inner = _from_text(text, year)
    kind = structured.kind
    if not inner.server and not structured.wraps:
        inner = inner._replace(text=text, us=None, zoned=False)
    if not inner.level and structured.level:
        inner = inner._replace(level=structured.level)
    stamp = _better(structured.stamp, outer.stamp)
    us, zoned = inner.us, inner.zoned
    if stamp is not None and (us is None or us < DATED_US or (stamp.zoned and not zoned)):
        us, zoned = stamp
    return inner._replace(label=inner.label or structured.label or outer.label, us=us, zoned=zoned, kind=kind)


def _from_text(line: bytes, year: int) -> LogLine:
    header = stamped_header(line)
    if header is not None:
        if not header.start:
            return LogLine("", header.pid, header.us, False, header.us, header.level, line[header.end :], True, "")
        return _served(line, header, unwrap_prefix(line[: header.start], year))
    outer = unwrap(line, year)
    plain = unstamped_header(line, outer.length)
    if plain is not None:
        return _served(line, plain, outer)
    text = line[outer.length :]
    stamp = _better(outer.stamp, None if outer.server else find_stamp(text[:_STAMP_WITHIN], year))
    clock = find_clock(text) if stamp is None else None
    if clock is not None:
        stamp, text = clock[0], text[clock[1] :]
    us, zoned = stamp or (None, False)
    return LogLine(outer.label, outer.pid, us, zoned, None, outer.level, text, outer.server, outer.kind)


def _served(line: bytes, header: Header, outer: Wrapping) -> LogLine:
    us, zoned = header.us, False
    if outer.stamp is not None and (outer.stamp.zoned or us is None or us < DATED_US):
        us, zoned = outer.stamp
    pid = header.pid if header.pid is not None else outer.pid
    native_us = header.us if header.us is not None and header.us >= DATED_US else None
    return LogLine(outer.label, pid, us, zoned, native_us, header.level, line[header.end :], True, outer.kind)


def _better(first: Stamp | None, second: Stamp | None) -> Stamp | None:
    if first is None or (second is not None and second.zoned and not first.zoned):
        return second
    return first
