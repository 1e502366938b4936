"""One log line, in any wrapping of containers, shippers or people, split into sender, time, level and message.

The fields are found, not listed: the message is the text that has a server's header, wherever it lies, else the text
under a name that means message. What is known of single collectors is only what they call time, name and level.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from jsdoctor.logs.lines.stamp import (
    ANY_YEAR,
    NATIVE,
    LogYear,
    Stamp,
    clock_us,
    epoch_us,
    find_clock,
    find_stamp,
    native_second_us,
)
from jsdoctor.model.log import DATED_US

_PID = rb"(?:\[(\d{1,10})\] )?"
_LEVEL = rb"\[(?:\x1b\[[\d;]*m)?(INF|WRN|ERR|FTL|DBG|TRC)(?:\x1b\[0m)?\] ?"
PID = re.compile(_PID)
STAMPED = re.compile(_PID + NATIVE + rb" " + _LEVEL)
_CLOCK = rb"(?:(\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))? )?"
UNSTAMPED = re.compile(_CLOCK + _PID + _CLOCK + _LEVEL)
HEADER_WITHIN = 300
"""A header further into a line than this is quoted text, not a header."""


class Header(NamedTuple):
    """A server's header: its position, where the message starts, and its fields.

    `us` None: without a time; times of day without a date are counted from `CLOCK_US`.
    """

    start: int
    end: int
    pid: int | None
    us: int | None
    level: str


def stamped_header(line: bytes) -> Header | None:
    """The first header with a time near the start of the line, after any wrapping."""
    match = STAMPED.match(line) or STAMPED.search(line, 0, HEADER_WITHIN)
    if match is None:
        return None
    second = native_second_us(match[2])
    if second is None:
        return None
    pid = None if match[1] is None else int(match[1])
    return Header(match.start(), match.end(), pid, second + int(match[3]), match[4].decode())


def unstamped_header(line: bytes, start: int) -> Header | None:
    """A header without a date (`logtime: false`, or cut by a viewer), exactly at `start`."""
    match = UNSTAMPED.match(line, start)
    if match is None:
        return None
    before, before_fraction, pid, behind, behind_fraction, level = match.groups()
    us = clock_us(before or behind, before_fraction or behind_fraction) if before or behind else None
    return Header(start, match.end(), None if pid is None else int(pid), us, level.decode())


STARTS = (b"==> ", b"--- ", b"=== ", b"### ")
LITERALS = tuple(b"\n" + start for start in STARTS)
"""What the search looks for: a section begins a line."""

_TAIL = re.compile(rb"==> (\S.{0,300}?) <==\s*")
_RULED = re.compile(rb"([-=#])\1{2,} ?([\w./-]{1,200}?) ?(\1{3,})?\s*")
_MAX_LABEL = 253
_NO_LABEL = re.compile(r"[*?{}\"\s]")
_FILE = re.compile(r"\.(?:log|txt|out)\b")


def section_name(line: bytes) -> str | None:
    """The server or file that a header names (`==> n1.log <==`, `--- n1 ---`, `=== n1.log`), or None.

    A name between rulers on both sides counts; on one side only, it must look like a file.
    """
    if not line.startswith(STARTS):
        return None
    tail = _TAIL.fullmatch(line)
    if tail is not None:
        return _label(tail[1])
    ruled = _RULED.fullmatch(line)
    if ruled is None or (ruled[3] is None and not _FILE.search(ruled[2].decode(errors="replace"))):
        return None
    return _label(ruled[2])


def _label(raw: bytes) -> str:
    name = server_label(raw.decode(errors="replace"))
    return _FILE.split(name)[0] or name


def server_label(text: str) -> str:
    """The name of a server in a wrapping, without quotes and docker's slash; empty for patterns and other text."""
    name = text.strip(" \"'`").removeprefix("/").removeprefix("-")
    return name if len(name) <= _MAX_LABEL and not _NO_LABEL.search(name) else ""


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
        re.compile(
            rb"(?P<label>[A-Za-z][\w.-]*-\d+) [\w.-]+ "
            rb"(?=(?:\[\d+\] )?(?:[\d:.]{8,15} )?\[[A-Z]{3}\]|panic: |fatal error: )"
        ),
    ),
    ("caption", re.compile(rb"(?P<label>[A-Za-z][\w.-]*): (?=(?:\d\d:\d\d:\d\d(?:\.\d+)? )?\[)")),
)
_WORDS = re.compile(
    rb"(?:[A-Za-z][\w.-]* (?=[\w.-]+ [A-Za-z][\w.-]* ))?(?P<label>[A-Za-z][\w.-]*)(?: [A-Za-z][\w.-]*)? (?:$|(?="
    + _ISO
    + rb"[ \t]))"
)
"""Names of stern before a line or its time: of the pod and its container, or of the namespace as well."""
_PARTIAL_CRI = re.compile(rb".{0,200}? (?:stdout|stderr) P ", re.DOTALL)
_MAX_WRAPPING = 400
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


def unwrap(line: bytes, year: LogYear) -> Wrapping:
    """Take off every known wrapping at the start of a line, outermost first. Its first name and best time count."""
    return _unwrap(line[:_MAX_WRAPPING], year)


@lru_cache(maxsize=2048)
def unwrap_prefix(prefix: bytes, year: LogYear) -> Wrapping:
    """As `unwrap`, of what stands before a server's header: names without punctuation (stern) are taken too."""
    wrapping = _unwrap(prefix, year)
    words = _WORDS.match(prefix, wrapping.length)
    if words and not wrapping.label:
        stamp = _unwrap(prefix[words.end() :], year).stamp or wrapping.stamp
        kind = wrapping.kind or "stern"
        return wrapping._replace(length=len(prefix), kind=kind, label=_text(words["label"]), stamp=stamp)
    return wrapping


def _unwrap(line: bytes, year: LogYear) -> Wrapping:
    wrapping = Wrapping()
    rest = list(_WRAPPINGS)
    while rest:
        for number, (kind, pattern) in enumerate(rest):  # noqa: B007  # the number is used below
            match = pattern.match(line, wrapping.length)
            if match is not None and match.end() > wrapping.length:
                break
        else:
            return wrapping
        wrapping = _with_layer(wrapping, kind, match, year)
        del rest[number]
    return wrapping


def _with_layer(wrapping: Wrapping, kind: str, match: re.Match[bytes], year: LogYear) -> Wrapping:
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


_MESSAGE = (
    *("log", "msg", "message", "MESSAGE", "line", "text", "textPayload", "_raw", "event", "@message", "body"),
    *("stringValue", "LogEntry", "LogMessage", "log_s", "Message", "content"),
)
_CAUSE = ("err", "error", "exception", "reason", "cause", "stack", "stack_trace", "exc_info", "errorVerbose", "data")
_TIME = (
    *("time", "ts", "timestamp", "@timestamp", "__REALTIME_TIMESTAMP", "t", "asctime", "datetime", "eventTime", "date"),
    *("timeUnixNano", "observedTimeUnixNano", "_time", "TimeGenerated", "TimeGenerated [UTC]", "receiveTimestamp"),
)
_NAME = (
    *("pod", "podName", "pod_name", "PodName", "pod.name", "k8s.pod.name", "kubernetes.pod.name"),
    *("container.name", "_HOSTNAME", "host.name", "hostname", "host", "Computer", "container_name", "logStream"),
    "instance",
)
_LEVEL_NAMES = ("level", "severity", "log.level", "levelname", "lvl", "severityText", "status", "LogLevel")
_NAMES = frozenset((*_MESSAGE, *_TIME, *_NAME, *_LEVEL_NAMES))
_LEVELS = {
    **dict.fromkeys(("info", "inf", "information", "notice", "default"), "INF"),
    **dict.fromkeys(("warn", "wrn", "warning"), "WRN"),
    **dict.fromkeys(("err", "error"), "ERR"),
    **dict.fromkeys(("fatal", "ftl", "critical", "emergency", "alert"), "FTL"),
    **dict.fromkeys(("debug", "dbg"), "DBG"),
    **dict.fromkeys(("trace", "trc"), "TRC"),
}
_COLLECTOR_KEYS = ("log", "MESSAGE", "line", "textPayload", "_raw", "LogEntry", "log_s")
"""Keys that only collectors use for a message: their text is a line of another program."""

_DOCKER = re.compile(rb'\{"log":"((?:[^"\\]|\\.)*)')
_DOCKER_TIME = re.compile(rb'"time":"([^"]{10,40})"\}?\s*$')
_HEADER_NEAR = 120
"""Number of first bytes of a text in which a server's header is searched."""

_DEPTH, _FIELDS, _ITEMS = 8, 400, 20
_CAUSES_DEPTH = 4
_EVENT = "io.nats."
"""Types of advisories and other events of NATS begin so. One that was recorded as it came is its own message."""

_decode = msgspec.json.Decoder().decode


class Structured(NamedTuple):
    """The content of a JSON line: its message, one text a line; whether it only wraps another; name, time and level."""

    message: bytes
    wraps: bool
    label: str
    stamp: Stamp | None
    kind: str
    level: str = ""


class _Field(NamedTuple):
    name: str
    value: object


def read_structured(line: bytes, year: LogYear) -> Structured | None:
    """A JSON object as a log line, or None when it is none (or cut short, and not docker's)."""
    try:
        entry = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            entry = _decode(line.decode(errors="replace").encode())
        except (msgspec.DecodeError, RecursionError):
            return _cut_docker(line, year)
    except RecursionError:
        return None
    if not isinstance(entry, dict):
        return None
    return from_entry(entry, year, line)


def from_entry(entry: Mapping[str, Any], year: LogYear, line: bytes = b"") -> Structured:
    """The content of one decoded object. `line` is its text: an event of NATS is its own message."""
    if str(entry.get("type", "")).startswith(_EVENT):
        raw = line or msgspec.json.encode(entry)
        return Structured(raw, wraps=False, label="", stamp=epoch_us(entry.get("timestamp"), year), kind="json")
    fields = list(_fields(entry))
    named: dict[str, list[object]] = {}
    for field in fields:
        if field.name in _NAMES:
            named.setdefault(field.name, []).append(field.value)
    own_text = next((text for field in fields if (text := _with_header(field.value))), "")
    first = own_text or _message_of(entry, named)
    wraps = bool(own_text) or any(name in entry for name in _COLLECTOR_KEYS)
    causes = [] if wraps else [cause for cause in _causes(entry, _CAUSES_DEPTH) if cause]
    kind = "docker" if "log" in entry and "stream" in entry else "journal" if "MESSAGE" in entry else "json"
    return Structured(
        "\n".join([first, *causes]).encode(errors="replace"),
        wraps,
        next(filter(None, map(server_label, _texts(_NAME, named))), ""),
        _time(entry, named, year),
        kind,
        next((level for text in _texts(_LEVEL_NAMES, named) if (level := _LEVELS.get(text.lower(), ""))), ""),
    )


def _fields(entry: Mapping[str, Any]) -> Iterator[_Field]:
    """Every field of an object and of those in it, the outer ones first, as many as any collector writes."""
    queue: list[tuple[Mapping[str, Any], int, str]] = [(entry, 0, "")]
    count = 0
    for fields, depth, place in queue:
        name_of = fields.get("key")
        for name, value in fields.items():
            count += 1
            if count > _FIELDS:
                return
            yield _Field(str(name), value)
            if place and name == "name":
                yield _Field(f"{place}.name", value)
            inner = value if isinstance(value, list) else [value]
            if depth < _DEPTH:
                queue.extend((item, depth + 1, name) for item in inner[:_ITEMS] if isinstance(item, dict))
        value = fields.get("value")
        if isinstance(name_of, str) and isinstance(value, dict):  # OpenTelemetry: {"key": name, "value": {type: text}}
            yield from (_Field(name_of, inner) for inner in value.values() if isinstance(inner, str))


def _with_header(value: object) -> str:
    """A text with a server's header near its start, else an empty one."""
    if not isinstance(value, str) or "[" not in value[:_HEADER_NEAR]:
        return ""
    head = value[:_HEADER_NEAR].encode(errors="replace")
    return value if STAMPED.search(head) or UNSTAMPED.match(head.lstrip()) else ""


def _message_of(entry: Mapping[str, Any], named: Mapping[str, list[object]]) -> str:
    """The message by its name: at the top, else the outermost one."""
    known = next((text for name in _MESSAGE if name in entry and (text := _as_text(entry[name]))), "")
    return known or next((text for value in _values(_MESSAGE, named) if (text := _as_text(value))), "")


def _time(entry: Mapping[str, Any], named: Mapping[str, list[object]], year: LogYear) -> Stamp | None:
    known = next((stamp for name in _TIME if name in entry and (stamp := epoch_us(entry[name], year))), None)
    if known is not None:
        return known
    return next((stamp for value in _values(_TIME, named) if (stamp := epoch_us(value, year))), None)


def _values(names: Sequence[str], named: Mapping[str, list[object]]) -> Iterator[object]:
    """Values of fields, in the order of the names."""
    return (value for name in names if name in named for value in named[name])


def _texts(names: Sequence[str], named: Mapping[str, list[object]]) -> Iterator[str]:
    return (value for value in _values(names, named) if isinstance(value, str) and value)


def _cut_docker(line: bytes, year: LogYear) -> Structured | None:
    match = _DOCKER.match(line)
    if match is None:
        return None
    try:
        text = msgspec.json.decode(b'"' + match[1] + b'"', type=str).encode()
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = match[1]
    time = _DOCKER_TIME.search(line[-80:])
    stamp = epoch_us(time[1].decode(errors="replace"), year) if time else None
    return Structured(text, wraps=True, label="", stamp=stamp, kind="docker")


def _causes(entry: Mapping[str, Any], depth: int) -> Iterator[str]:
    for key in _CAUSE:
        value = entry.get(key)
        if isinstance(value, dict) and depth:
            yield from (_as_text(value[name]) for name in _MESSAGE if isinstance(value.get(name), str))
            yield from _causes(value, depth - 1)
        elif isinstance(value, list):
            yield from (_as_text(item) for item in value[:_ITEMS] if isinstance(item, str))
        elif value:
            yield _as_text(value)


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(item, int) and 0 <= item < 256 for item in value):
        return bytes(value).decode(errors="replace")
    return "" if value is None or isinstance(value, bool | dict | list) else str(value)


LINE_CAP = 16 * 1024
"""Maximum number of bytes that are read of a line: container runtimes cut there, too."""

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


def read_line(line: bytes, year: LogYear) -> LogLine:
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
    brace = line.find(b'{"', 0, _MAX_WRAPPING)
    return brace if brace > 0 and unwrap(line[:brace], ANY_YEAR).length == brace else -1


def _from_structured(structured: Structured, outer: Wrapping, year: LogYear) -> LogLine:
    text = structured.message.rstrip(b"\r\n")
    inner = _from_text(text, year)
    kind = structured.kind
    if not inner.server and not structured.wraps:
        inner = inner._replace(text=text, us=None, zoned=False)
    if not inner.level and structured.level:
        inner = inner._replace(level=structured.level)
    stamp = _better_stamp(structured.stamp, outer.stamp)
    us, zoned = inner.us, inner.zoned
    if stamp is not None and (us is None or us < DATED_US or (stamp.zoned and not zoned)):
        us, zoned = stamp
    return inner._replace(label=inner.label or structured.label or outer.label, us=us, zoned=zoned, kind=kind)


def _from_text(line: bytes, year: LogYear) -> LogLine:
    header = stamped_header(line)
    if header is not None:
        if not header.start:
            return LogLine("", header.pid, header.us, False, header.us, header.level, line[header.end :], True, "")
        return _server_line(line, header, unwrap_prefix(line[: header.start], year))
    outer = unwrap(line, year)
    plain = unstamped_header(line, outer.length)
    if plain is not None:
        return _server_line(line, plain, outer)
    text = line[outer.length :]
    stamp = _better_stamp(outer.stamp, None if outer.server else find_stamp(text[:_STAMP_WITHIN], year))
    clock = find_clock(text) if stamp is None else None
    if clock is not None:
        stamp, begin = clock
        text = text[begin:]
    us, zoned = stamp or (None, False)
    return LogLine(outer.label, outer.pid, us, zoned, None, outer.level, text, outer.server, outer.kind)


def _server_line(line: bytes, header: Header, outer: Wrapping) -> LogLine:
    us, zoned = header.us, False
    if outer.stamp is not None and (outer.stamp.zoned or us is None or us < DATED_US):
        us, zoned = outer.stamp
    pid = header.pid if header.pid is not None else outer.pid
    native_us = header.us if header.us is not None and header.us >= DATED_US else None
    return LogLine(outer.label, pid, us, zoned, native_us, header.level, line[header.end :], True, outer.kind)


def _better_stamp(first: Stamp | None, second: Stamp | None) -> Stamp | None:
    if first is None or (second is not None and second.zoned and not first.zoned):
        return second
    return first
