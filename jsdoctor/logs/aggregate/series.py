"""The files of one log and its rotations: where their lines stand, in which order they come, and whose they are."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from typing import NamedTuple

from jsdoctor.logs.lines.builtin import NAME
from jsdoctor.logs.lines.stamp import Zone
from jsdoctor.logs.scan.rows import KeptLine, MarkRow, PartRow, ProcessRef, Span
from jsdoctor.model.log import Exemplar, LogFile, LogTime
from jsdoctor.redaction.redact import scrub_line
from jsdoctor.redaction.scrubbed import scrubbed_fields

_GENERIC = re.compile(r"(?:nats|nats-server|server|stdout|stderr|current|messages|syslog|docker|log|logs|out|json)?")
_SUFFIX = re.compile(r"(?:-json)?\.(?:log|txt|out|json|jsonl|syslog)$|[*_.-]+$")
NO_TIME = 1 << 62
KNOWN_FROM = ("given", "banner", "prefix", "file name")
"""How a server is known, surest first."""


class File:
    """One file of a series, all its parts known."""

    def __init__(self, parts: list[PartRow]) -> None:
        parts.sort(key=lambda part: part.part.start)
        self.parts = parts
        self.part = parts[0].part
        self.shift_us = next((part.shift_us for part in parts if part.shift_us is not None), None)
        self._zone = Zone(self.part.zone) if self.part.zone else None
        self._first_line: dict[int, int] = {}
        self._section: dict[int, str] = {}
        line, section = 1 + self.part.lines_before, ""
        for part in parts:
            self._first_line[part.part.start] = line
            self._section[part.part.start] = section
            line += part.lines
            section = section if part.section is None else part.section

    def time(self, native_us: int) -> LogTime:
        """A server's own stamp as a time: in UTC if the zone of the file is known."""
        if self.shift_us is not None:
            return LogTime(native_us + self.shift_us, zoned=True)
        if self._zone is not None:
            return LogTime(self._zone.utc_us(native_us), zoned=True)
        return LogTime(native_us)

    def exemplar(self, start: int, seen: KeptLine, at: LogTime | None = None, text: str | None = None) -> Exemplar:
        """A line of the part that begins at `start`, with its number in the file. `text`: already without secrets."""
        time = at or (None if seen.us is None else LogTime(seen.us, seen.zoned))
        text, line = scrub_line(seen.text) if text is None else text, self._first_line[start] + seen.line
        fields = scrubbed_fields(seen.fields, seen.text, text)
        return Exemplar(self.part.name, line, seen.offset, text, time, fields)

    def process(self, start: int, process: ProcessRef) -> ProcessRef:
        """A process of a part, its section filled in."""
        return ProcessRef(self._section[start], process.label, process.pid) if process.section is None else process

    def span(self) -> tuple[LogTime, LogTime] | None:
        """First and last time in the file: of zoned times if it has any, else of local ones."""
        native = _joint_span([part.native for part in self.parts])
        utc, local = _joint_span([part.utc for part in self.parts]), _joint_span([part.local for part in self.parts])
        if native is not None:
            low, high = self.time(native[0]), self.time(native[1])
            if low.zoned:
                utc = _joint_span([utc, (low.us, high.us)])
            else:
                local = _joint_span([local, native])
        if self._zone is not None and local is not None:
            utc = _joint_span([utc, (self._zone.utc_us(local[0]), self._zone.utc_us(local[1]))])
        if utc is not None:
            return LogTime(utc[0], zoned=True), LogTime(utc[1], zoned=True)
        return None if local is None else (LogTime(local[0]), LogTime(local[1]))

    def as_read(self, servers: tuple[str, ...], interleaved: bool) -> LogFile:
        """The facts of the file for the report."""
        parts, span = self.parts, self.span()
        served = sum(part.server_hits for part in parts)
        client = sum(part.client_hits for part in parts)
        stamped = sum(part.stamped for part in parts)
        return LogFile(
            path=self.part.name,
            size=self.part.size,
            read=sum(part.read for part in parts),
            lines=sum(part.lines for part in parts),
            stamped=stamped,
            server_lines=max(stamped, served, sum(part.surveyed_server for part in parts)),
            client_lines=max(client, sum(part.surveyed_client for part in parts)),
            first=span[0] if span else None,
            last=span[1] if span else None,
            codec=self.part.codec,
            wrapping=next((part.wrapping for part in parts if part.wrapping), ""),
            zone=self.part.zone,
            servers=servers,
            torn=any(part.torn for part in parts),
            interleaved=interleaved,
            long_lines=sum(part.long_lines for part in parts),
            named=self.part.named,
            levels=tuple(sorted({level for part in parts for level in part.levels})),
            problem=next((part.problem for part in parts if part.problem), "") or _not_understood(parts),
            skipped=sum(part.skipped for part in parts),
        )


def _not_understood(parts: list[PartRow]) -> str:
    """Why a file that has server text only in an unknown envelope was not judged; else empty."""
    quoted = sum(part.quoted for part in parts)
    known = any(part.stamped or part.server_hits or part.surveyed_server or part.client_hits for part in parts)
    if not quoted or known:
        return ""
    lines = "1 line has" if quoted == 1 else f"{quoted:,} lines have"
    return (
        f"{lines} the words of a nats-server inside a form that is not known, and none was judged: give the messages"
        " themselves, one a line"
    )


def _joint_span(spans: list[Span | None]) -> Span | None:
    known = [span for span in spans if span is not None]
    return (min(span[0] for span in known), max(span[1] for span in known)) if known else None


class NamedServer(NamedTuple):
    """The server that wrote a line, and how it is known (see `KNOWN_FROM`)."""

    name: str
    known_from: str


class Names:
    """The server of each process, from the banners that name it."""

    def __init__(self, series: str, marks: list[tuple[File, MarkRow]]) -> None:
        self._fallback = label_of(series)
        self._own: dict[tuple[str, ProcessRef], list[tuple[int, str]]] = defaultdict(list)
        self._all: dict[tuple[str, str], set[str]] = defaultdict(set)
        for file, mark in marks:
            if mark.name == NAME:
                process = file.process(mark.start, mark.process)
                name = dict(mark.seen.fields)["name"]
                self._own[file.part.name, process].append((mark.seen.offset, name))
                self._all[process.section or "", process.label].add(name)
        for own in self._own.values():
            own.sort()

    def find(self, file: File, start: int, process: ProcessRef, before: int) -> NamedServer:
        """The server of a process: from its last banner before an offset, or from what surrounds the line."""
        if file.part.server:
            return NamedServer(file.part.server, "given")
        process = file.process(start, process)
        own = [name for offset, name in self._own.get((file.part.name, process), ()) if offset < before]
        if own:
            return NamedServer(own[-1], "banner")
        section = process.section or ""
        known = self._all.get((section, process.label), set())
        if len(known) == 1:
            return NamedServer(next(iter(known)), "banner")
        if process.label or section:
            return NamedServer(process.label or section, "prefix")
        return NamedServer(self._fallback, "file name")


@cache
def label_of(series: str) -> str:
    """The name of a log without a server name: its file name, or that of a directory if the file name is generic."""
    for component in reversed(re.split(r"[/!]", series)):
        stem, before = component, ""
        while stem != before:
            before, stem = stem, _SUFFIX.sub("", stem)
        if not is_generic(stem):
            return stem
    return series


def is_generic(name: str) -> bool:
    """Whether the name of a log shows no more than that it is one, or that it is of NATS."""
    return bool(_GENERIC.fullmatch(name))
