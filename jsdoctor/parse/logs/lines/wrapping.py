"""Prefixes of containers, shippers and people before a log line: removed, with the name and the time in them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from jsdoctor.parse.logs.lines.sections import server_label
from jsdoctor.parse.logs.lines.stamp import Stamp, find_stamp

_ISO = rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
_WRAPPINGS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("junk", re.compile(rb"(?:\^C|\x00|\xef\xbb\xbf|\x1b\[[\d;]*m)+")),
    ("kubernetes", re.compile(rb"\[(?:pod/)?(?P<label>[\w.-]+)/[\w.-]+\] ")),
    (
        "loki",
        re.compile(
            rb"\{[^{}\n]{0,400}?\b(?:pod|pod_name|host|hostname|instance|container)\"?\s?[=:]\s?\"(?P<label>[\w.-]{1,100})\""
            rb"[^{}\n]{0,400}\}\s"
        ),
    ),
    ("compose", re.compile(rb"(?P<label>[\w.-]{1,100}?) *\| ")),
    (
        "cri",
        re.compile(rb"(?:(?P<label>[A-Za-z][\w.-]*) )?(?P<time>" + _ISO + rb") (?:stdout|stderr) (?:[FP](?::\S*)? )"),
    ),
    (
        "syslog",
        re.compile(
            rb"(?:<(?P<pri>\d{1,3})>)1 (?P<time>" + _ISO + rb"|-) (?P<label>\S+) (?P<app>\S+) (?P<pid>\S+) \S+ "
            rb"(?:-|(?:\[[^\]]*\])+) ?(?:\xef\xbb\xbf)?"
        ),
    ),
    (
        "syslog",
        re.compile(
            rb"(?:<(?P<pri>\d{1,3})>)?(?P<time>[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d(?:\.\d+)?) "
            rb"(?P<label>(?!(?i:trace|debug|info|notice|warn|warning|error|severe|fatal|critical) )[^\s\[\]:]+) "
            rb"(?P<app>[^\s\[:]+)(?:\[(?P<pid>\d+)\])?: ?"
        ),
    ),
    (
        "syslog",  # applications also write such times, and `ERROR module: ` after them: a process id is required
        re.compile(
            rb"(?:<(?P<pri>\d{1,3})>)?(?P<time>" + _ISO + rb") "
            rb"(?P<label>[^\s\[\]:]+) (?P<app>nats-server(?=:)|[^\s\[:]+(?=\[))(?:\[(?P<pid>\d+)\])?: ?"
        ),
    ),
    ("timestamp", re.compile(rb"(?P<time>" + _ISO + rb")[ \t]")),
    ("editor", re.compile(rb"\s*Line \d+: ?")),
    ("journal", re.compile(rb"MESSAGE=")),
    (
        "stern",
        re.compile(rb"(?P<label>[A-Za-z][\w.-]*-\d+) [\w.-]+ (?=(?:\[\d+\] )?(?:[\d:.]{8,15} )?\[[A-Z]{3}\])"),
    ),
    ("caption", re.compile(rb"(?P<label>[A-Za-z][\w.-]*): (?=(?:\d\d:\d\d:\d\d(?:\.\d+)? )?\[)")),
)
_WORDS = re.compile(rb"(?P<label>[A-Za-z][\w.-]*)(?: [\w.-]+)? $")
_PARTIAL_CRI = re.compile(rb".{0,200}? (?:stdout|stderr) P ", re.DOTALL)
_PRI_LEVELS = ("FTL", "FTL", "FTL", "ERR", "WRN", "INF", "INF", "DBG")


class Wrapping(NamedTuple):
    """What stood before a line. `length` bytes; `server` True: syslog names nats-server as the program."""

    length: int = 0
    kind: str = ""
    label: str = ""
    stamp: Stamp | None = None
    pid: int | None = None
    level: str = ""
    server: bool = False


def unwrap(line: bytes, year: int) -> Wrapping:
    """Take off every known wrapping at the start of a line, outermost first. Its first name and best time count."""
    return _unwrap(line[:400], year)


@lru_cache(maxsize=2048)
def unwrap_prefix(prefix: bytes, year: int) -> Wrapping:
    """As `unwrap`, of what stands before a server's header: names without punctuation (stern) are taken too."""
    wrapping = _unwrap(prefix, year)
    words = _WORDS.match(prefix, wrapping.length)
    if words and not wrapping.label:
        return wrapping._replace(length=len(prefix), kind=wrapping.kind or "stern", label=_text(words["label"]))
    return wrapping


def _unwrap(line: bytes, year: int) -> Wrapping:
    wrapping = Wrapping()
    rest = list(_WRAPPINGS)
    while rest:
        for number, (kind, pattern) in enumerate(rest):  # noqa: B007  # the number is used below
            match = pattern.match(line, wrapping.length)
            if match is not None and match.end() > wrapping.length:
                break
        else:
            return wrapping
        wrapping = _add(wrapping, kind, match, year)
        del rest[number]
    return wrapping


def _add(wrapping: Wrapping, kind: str, match: re.Match[bytes], year: int) -> Wrapping:
    named = match.groupdict()
    stamp = find_stamp(named["time"], year) if named.get("time") else None
    better = wrapping.stamp is None or (stamp is not None and stamp.zoned and not wrapping.stamp.zoned)
    app, pri, pid = named.get("app"), named.get("pri"), named.get("pid") or b""
    return Wrapping(
        length=match.end(),
        kind=wrapping.kind or ("" if kind == "junk" else kind),
        label=wrapping.label or server_label(_text(named.get("label") or b"")),
        stamp=stamp if better else wrapping.stamp,
        pid=int(pid) if pid.isdigit() else wrapping.pid,
        level=_PRI_LEVELS[int(pri) & 7] if pri else wrapping.level,
        server=wrapping.server or bool(app and app.startswith(b"nats-server")),
    )


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def is_partial(line: bytes) -> bool:
    """Whether a container runtime cut this line: the next one goes on with it (CRI flag P, docker without newline)."""
    if line.startswith(b'{"log":"'):
        end = line.find(b'","stream":"')
        attributes = line.find(b'","attrs":')
        end = end if attributes < 0 else min(end, attributes)
        return end >= 0 and not line[:end].endswith(b"\\n")
    return _PARTIAL_CRI.match(line) is not None
