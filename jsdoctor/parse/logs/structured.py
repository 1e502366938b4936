"""Log lines that are JSON objects: docker's json-file, journald's export, and what applications write."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from jsdoctor.parse.logs.stamp import Stamp, epoch_us

_MESSAGE = ("log", "msg", "message", "MESSAGE", "line", "text", "event", "@message", "body")
_CAUSE = ("err", "error", "exception", "reason", "cause", "stack", "stack_trace", "exc_info", "errorVerbose", "data")
_TIME = ("time", "ts", "timestamp", "@timestamp", "__REALTIME_TIMESTAMP", "t", "asctime", "datetime", "eventTime")
_NAME = ("pod", "pod_name", "_HOSTNAME", "hostname", "host", "container_name", "service", "app", "name", "logger")
_NESTED = ("kubernetes", "fields", "attributes", "labels", "resource", "record", "extra")
_DOCKER = re.compile(rb'\{"log":"((?:[^"\\]|\\.)*)')
_DOCKER_TIME = re.compile(rb'"time":"([^"]{10,40})"\}?\s*$')
_DEPTH = 4
_EVENT = "io.nats."
"""Types of advisories and other events of NATS begin so. One that was recorded as it came is its own message."""


class Structured(NamedTuple):
    """What a JSON line says: its message, one text a line; whether it only wraps another line; name and time."""

    message: bytes
    wraps: bool
    label: str
    stamp: Stamp | None
    kind: str


def read_structured(line: bytes, year: int) -> Structured | None:
    """A JSON object as a log line, or None when it is none (or cut short, and not docker's)."""
    try:
        entry = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            entry = msgspec.json.decode(line.decode(errors="replace"))
        except (msgspec.DecodeError, RecursionError):
            return _cut_docker(line, year)
    except RecursionError:
        return None
    if not isinstance(entry, dict):
        return None
    if str(entry.get("type", "")).startswith(_EVENT):
        return Structured(line, wraps=False, label="", stamp=epoch_us(entry.get("timestamp"), year), kind="json")
    first = next((_text(entry[key]) for key in _MESSAGE if entry.get(key)), "")
    wraps = "log" in entry or "MESSAGE" in entry
    kind = "docker" if "log" in entry and "stream" in entry else "journal" if "MESSAGE" in entry else "json"
    causes = [] if wraps else list(_causes(entry, _DEPTH))
    stamp = next((found for key in _TIME if (found := epoch_us(entry.get(key), year))), None)
    message = "\n".join([first, *(cause for cause in causes if cause)]) if causes else first
    return Structured(message.encode(errors="replace"), wraps, _label(entry), stamp, kind)


def _cut_docker(line: bytes, year: int) -> Structured | None:
    found = _DOCKER.match(line)
    if found is None:
        return None
    try:
        text = msgspec.json.decode(b'"' + found[1] + b'"', type=str).encode()
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = found[1]
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


def _label(entry: Mapping[str, Any]) -> str:
    for key in _NAME[:5]:
        if isinstance(entry.get(key), str):
            return str(entry[key])
    for key in _NESTED:
        nested = entry.get(key)
        if isinstance(nested, dict):
            for name in _NAME[:5]:
                if isinstance(nested.get(name), str):
                    return str(nested[name])
    return ""


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, int) and 0 <= item < 256 for item in value):
        return bytes(value).decode(errors="replace")
    return "" if value is None or isinstance(value, bool | dict | list) else str(value)
