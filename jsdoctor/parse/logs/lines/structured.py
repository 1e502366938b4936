"""Log lines that are JSON objects: what collectors, clouds and applications wrap around a message.

The fields are found, not listed: the message is the text that has a server's header, wherever it lies, else the text
under a name that means message. What is known of single collectors is only what they call time, name and level.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from jsdoctor.parse.logs.lines.header import STAMPED, UNSTAMPED
from jsdoctor.parse.logs.lines.sections import server_label
from jsdoctor.parse.logs.lines.stamp import Stamp, epoch_us

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
_LEVEL = ("level", "severity", "log.level", "levelname", "lvl", "severityText", "status", "LogLevel")
_NAMES = frozenset((*_MESSAGE, *_TIME, *_NAME, *_LEVEL))
_LEVELS = {
    **dict.fromkeys(("info", "inf", "information", "notice", "default"), "INF"),
    **dict.fromkeys(("warn", "wrn", "warning"), "WRN"),
    **dict.fromkeys(("err", "error"), "ERR"),
    **dict.fromkeys(("fatal", "ftl", "critical", "emergency", "alert"), "FTL"),
    **dict.fromkeys(("debug", "dbg"), "DBG"),
    **dict.fromkeys(("trace", "trc"), "TRC"),
}
_WRAPPED = ("log", "MESSAGE", "line", "textPayload", "_raw", "LogEntry", "log_s")
"""What only a collector calls a message: the text is that of another program."""

_DOCKER = re.compile(rb'\{"log":"((?:[^"\\]|\\.)*)')
_DOCKER_TIME = re.compile(rb'"time":"([^"]{10,40})"\}?\s*$')
_HEADED = 120
"""A server's header stands this near to the start of the text that has it."""

_DEPTH, _FIELDS = 8, 400
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


def read_structured(line: bytes, year: int) -> Structured | None:
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


def from_entry(entry: Mapping[str, Any], year: int, line: bytes = b"") -> Structured:
    """What one decoded object says. `line` is its text: an event of NATS is its own message."""
    if str(entry.get("type", "")).startswith(_EVENT):
        raw = line or msgspec.json.encode(entry)
        return Structured(raw, wraps=False, label="", stamp=epoch_us(entry.get("timestamp"), year), kind="json")
    fields = list(_fields(entry))
    named: dict[str, list[object]] = {}
    for field in fields:
        if field.name in _NAMES:
            named.setdefault(field.name, []).append(field.value)
    headed = next((text for field in fields if (text := _headed(field.value))), "")
    first = headed or _first(entry, named)
    wraps = bool(headed) or any(name in entry for name in _WRAPPED)
    causes = [] if wraps else [cause for cause in _causes(entry, _CAUSES_DEPTH) if cause]
    kind = "docker" if "log" in entry and "stream" in entry else "journal" if "MESSAGE" in entry else "json"
    return Structured(
        "\n".join([first, *causes]).encode(errors="replace"),
        wraps,
        next(filter(None, map(server_label, _texts(_NAME, named))), ""),
        _time(entry, named, year),
        kind,
        next((level for text in _texts(_LEVEL, named) if (level := _level(text))), ""),
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
                queue.extend((item, depth + 1, name) for item in inner[:20] if isinstance(item, dict))
        value = fields.get("value")
        if isinstance(name_of, str) and isinstance(value, dict):  # OpenTelemetry: {"key": name, "value": {type: text}}
            yield from (_Field(name_of, inner) for inner in value.values() if isinstance(inner, str))


def _headed(value: object) -> str:
    """A text with a server's header near its start, else an empty one."""
    if not isinstance(value, str) or "[" not in value[:_HEADED]:
        return ""
    head = value[:_HEADED].encode(errors="replace")
    return value if STAMPED.search(head) or UNSTAMPED.match(head.lstrip()) else ""


def _first(entry: Mapping[str, Any], named: Mapping[str, list[object]]) -> str:
    """The message by its name: at the top, else the outermost one."""
    known = next((text for name in _MESSAGE if name in entry and (text := _text(entry[name]))), "")
    return known or next((text for value in _values(_MESSAGE, named) if (text := _text(value))), "")


def _time(entry: Mapping[str, Any], named: Mapping[str, list[object]], year: int) -> Stamp | None:
    known = next((stamp for name in _TIME if name in entry and (stamp := epoch_us(entry[name], year))), None)
    if known is not None:
        return known
    return next((stamp for value in _values(_TIME, named) if (stamp := epoch_us(value, year))), None)


def _values(names: Sequence[str], named: Mapping[str, list[object]]) -> Iterator[object]:
    """Values of fields, in the order of the names."""
    return (value for name in names if name in named for value in named[name])


def _texts(names: Sequence[str], named: Mapping[str, list[object]]) -> Iterator[str]:
    return (value for value in _values(names, named) if isinstance(value, str) and value)


def _level(text: str) -> str:
    return _LEVELS.get(text.lower(), "")


def _cut_docker(line: bytes, year: int) -> Structured | None:
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
            yield from (_text(value[name]) for name in _MESSAGE if isinstance(value.get(name), str))
            yield from _causes(value, depth - 1)
        elif isinstance(value, list):
            yield from (_text(item) for item in value[:20] if isinstance(item, str))
        elif value:
            yield _text(value)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(item, int) and 0 <= item < 256 for item in value):
        return bytes(value).decode(errors="replace")
    return "" if value is None or isinstance(value, bool | dict | list) else str(value)
