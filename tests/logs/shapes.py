"""One line of a nats-server in the shapes that people have it in."""

import csv
import html
import io
import json
import re
from collections.abc import Callable
from datetime import datetime

_HEADER = re.compile(r"^(\[\d+\] )?(\d{4}/\d\d/\d\d) (\d\d:\d\d:\d\d\.\d{6}) ", re.MULTILINE)

Shape = Callable[[str], str]


def _without_header(text: str) -> str:
    return _HEADER.sub("", text)


UNDATED: dict[str, Shape] = {
    "bare": _without_header,
    "process id": lambda text: _HEADER.sub(lambda match: match[1] or "", text),
    "time": lambda text: _HEADER.sub(lambda match: match[3][:8] + " ", text),
    "process id and time": lambda text: _HEADER.sub(lambda match: f"{match[1] or ''}{match[3]} ", text),
}
"""Lines as `logtime: false` and log viewers leave them."""


_AT, _AT_MS = "2026-11-21T10:00:00.123456Z", 1795255200123
_K8S = {"pod_name": "nats-0", "namespace_name": "nats", "container_name": "nats", "host": "node-7"}


def _json(entry: object) -> str:
    return json.dumps(entry, ensure_ascii=False)


ENVELOPES: dict[str, Callable[[str], object]] = {
    "docker json-file": lambda line: {"log": f"{line}\n", "stream": "stderr", "time": _AT},
    "journald": lambda line: {
        "__REALTIME_TIMESTAMP": f"{_AT_MS}000",
        "PRIORITY": "6",
        "_HOSTNAME": "nats-0",
        "SYSLOG_IDENTIFIER": "nats-server",
        "MESSAGE": line,
    },
    "journald bytes": lambda line: {"__REALTIME_TIMESTAMP": f"{_AT_MS}000", "MESSAGE": list(line.encode())},
    "stern": lambda line: {
        "message": line,
        "nodeName": "node-7",
        "namespace": "nats",
        "podName": "nats-0",
        "containerName": "nats",
    },
    "fluent-bit": lambda line: {"date": _AT_MS / 1000, "stream": "stderr", "_p": "F", "log": line, "kubernetes": _K8S},
    "vector": lambda line: {
        "file": "/var/log/pods/nats_nats-0/nats/0.log",
        "kubernetes": _K8S,
        "message": line,
        "source_type": "kubernetes_logs",
        "timestamp": _AT,
    },
    "filebeat": lambda line: {
        "@timestamp": _AT,
        "@metadata": {"beat": "filebeat"},
        "message": line,
        "kubernetes": {"pod": {"name": "nats-0"}},
        "log": {"offset": 1177, "file": {"path": "/var/log/containers/nats-0.log"}},
    },
    "logcli": lambda line: {"labels": {"app": "nats", "pod": "nats-0"}, "line": line, "timestamp": _AT},
    "datadog": lambda line: {
        "id": "AQAAAY",
        "content": {"timestamp": _AT, "host": "node-7", "service": "nats", "attributes": {}, "message": line},
    },
    "opentelemetry": lambda line: {
        "timeUnixNano": f"{_AT_MS}000000",
        "severityText": "INFO",
        "body": {"stringValue": line},
        "attributes": [{"key": "k8s.pod.name", "value": {"stringValue": "nats-0"}}],
    },
    "opentelemetry batch": lambda line: {
        "resourceLogs": [
            {
                "resource": {"attributes": [{"key": "k8s.pod.name", "value": {"stringValue": "nats-0"}}]},
                "scopeLogs": [{"logRecords": [{"timeUnixNano": f"{_AT_MS}000000", "body": {"stringValue": line}}]}],
            }
        ]
    },
    "google cloud": lambda line: {
        "insertId": "1",
        "textPayload": line,
        "severity": "ERROR",
        "timestamp": _AT,
        "resource": {"type": "k8s_container", "labels": {"pod_name": "nats-0"}},
    },
    "google cloud json": lambda line: {
        "jsonPayload": {"message": line},
        "timestamp": _AT,
        "resource": {"type": "k8s_container", "labels": {"pod_name": "nats-0"}},
    },
    "azure": lambda line: {
        "TimeGenerated": _AT,
        "Computer": "aks-1",
        "ContainerName": "nats",
        "LogEntry": line,
        "LogEntrySource": "stderr",
    },
    "splunk": lambda line: {"preview": False, "result": {"_raw": line, "_time": _AT, "host": "nats-0"}},
    "cloudwatch": lambda line: {"logStreamName": "nats-0", "timestamp": _AT_MS, "message": line, "ingestionTime": 1},
    "elasticsearch": lambda line: {"_index": "logs", "_source": {"@timestamp": _AT, "message": line, "host": "nats-0"}},
    "application": lambda line: {"level": "info", "ts": _AT_MS / 1000, "logger": "tail", "msg": line},
    "unknown": lambda line: {"v": 3, "d": [{"when": _AT, "payload": {"z": line}}]},
}
"""What collectors and clouds make of a line."""

LINES: dict[str, Shape] = {
    "cri": lambda line: f"{_AT} stderr F {line}",
    "kubectl --timestamps": lambda line: f"{_AT} {line}",
    "kubectl --prefix": lambda line: f"[pod/nats-0/nats] {line}",
    "stern text": lambda line: f"nats-0 nats {line}",
    "compose": lambda line: f"nats-0  | {line}",
    "syslog": lambda line: f"Nov 21 10:00:00 nats-0 nats-server[7]: {line}",
}


def enveloped(name: str, text: str) -> str:
    """Each line of a text in an envelope of that name."""
    if name in LINES:
        return "\n".join(_timed(LINES[name](line), line) for line in text.splitlines())
    return "\n".join(_timed(_json(ENVELOPES[name](line)), line) for line in text.splitlines())


def _timed(enveloped_line: str, line: str) -> str:
    """The envelope with the time of its line: collectors write it as lines come."""
    match = _NATIVE.match(line)
    if match is None:
        return enveloped_line
    year, month, day, time, us, _, _ = match.groups("")
    at = datetime.fromisoformat(f"{year}-{month}-{day}T{time}.{us}+00:00")
    at_ms = int(at.timestamp() * 1000)
    written = enveloped_line.replace(_AT, f"{at:%Y-%m-%dT%H:%M:%S.%f}Z")
    return written.replace(str(_AT_MS), str(at_ms)).replace(str(_AT_MS / 1000), str(at_ms / 1000))


_PODS = ("nats-0", "nats-1", "nats-2")
_LEVEL_WORDS = {"INF": "INFO", "WRN": "WARN", "ERR": "ERROR", "FTL": "FATAL"}
_NATIVE = re.compile(r"^(?:\[\d+\] )?(\d{4})/(\d\d)/(\d\d) (\d\d:\d\d:\d\d)\.(\d{6}) (?:\[(\w+)\] ?)?(.*)$")


def _fields(line: str) -> tuple[str, str, str, str, str, str, str]:
    """Year, month, day, time, microseconds, level and message."""
    match = _NATIVE.match(line)
    assert match, line
    return tuple(match.groups(""))  # type: ignore[return-value]


def _each(dress: Callable[[int, str], str]) -> Shape:
    return lambda text: "\n".join(dress(number, line) for number, line in enumerate(text.splitlines(), 1))


def _wrapped(width: int, words: bool) -> Shape:
    def wrap(_: int, line: str) -> str:
        pieces = []
        while len(line) > width:
            cut = line.rfind(" ", 0, width) + 1 if words and " " in line[:width] else width
            pieces.append(line[:cut].rstrip() if words else line[:cut])
            line = line[cut:]
        return "\n".join([*pieces, line])

    return _each(wrap)


def _message(_: int, line: str) -> str:
    return _fields(line)[6]


def _viewer(form: str) -> Shape:
    def show(_: int, line: str) -> str:
        year, month, day, time, us, level, message = _fields(line)
        months = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
        return form.format(
            y=year,
            mo=month,
            d=day,
            mon=months[int(month) - 1],
            t=time,
            ms=us[:3],
            level=_LEVEL_WORDS.get(level, level),
            lvl=level,
            text=message,
            line=line,
        )

    return _each(show)


def _csv(rows: list[dict[str, str]]) -> str:
    target = io.StringIO()
    writer = csv.DictWriter(target, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return target.getvalue()


def _rows(text: str) -> list[dict[str, str]]:
    return [
        {"timestamp": f"{year}-{month}-{day}T{time}.{us}Z", "host": "nats-0", "message": line}
        for line in text.splitlines()
        for year, month, day, time, us, _, _ in [_fields(line)]
    ]


def _drawn(text: str) -> str:
    rows = [f"| {row['timestamp']} | {row['message']} |" for row in _rows(text)]
    return "\n".join(["| @timestamp | @message |", "|---|---|", *rows])


def _without_side_bars(text: str) -> str:
    rows = [f"{row['timestamp']} | {row['host']} | {row['message']}" for row in _rows(text)]
    return "\n".join(["Time | Server | Log", "-- | -- | --", *rows])


def _boxed(text: str) -> str:
    lines = text.splitlines()
    width = max(map(len, lines))
    return "\n".join(
        ["╭" + "─" * (width + 2) + "╮", *(f"│ {line:<{width}} │" for line in lines), "╰" + "─" * (width + 2) + "╯"]
    )


def _smart(text: str) -> str:
    return re.sub(r"'([^']*)'", "\u2018\\1\u2019", re.sub(r'"([^"]*)"', "\u201c\\1\u201d", text))


def _loki(text: str) -> str:
    values = [[f"{1795255200 + number}000000000", line] for number, line in enumerate(text.splitlines())]
    return _json(
        {
            "status": "success",
            "data": {"resultType": "streams", "result": [{"stream": {"pod": "nats-0"}, "values": values}]},
        }
    )


DRESSED: dict[str, Shape] = {
    "markdown quote": _each(lambda _, line: f"> {line}"),
    "mail quote": _each(lambda _, line: f">> {line}"),
    "bullets": _each(lambda _, line: f"- {line}"),
    "stars": _each(lambda _, line: f"  * {line}"),
    "numbered list": _each(lambda number, line: f"{number}. {line}"),
    "fence": lambda text: f"Our log:\n\n```\n{text}\n```\n",
    "code": _each(lambda _, line: f"`{line}`"),
    "grep -n": _each(lambda number, line: f"{100 + number}:{line}"),
    "grep -H": _each(lambda _, line: f"nats.log:{line}"),
    "grep -Hn": _each(lambda number, line: f"/var/log/nats/nats-0.log:{number}:{line}"),
    "grep -C": _each(lambda number, line: f"nats-0.log-{number}-{line}"),
    "cat -n": _each(lambda number, line: f"{number:>6}\t{line}"),
    "editor numbers": _each(lambda number, line: f"{number:>3} | {line}"),
    "wrapped at 80": _wrapped(80, words=False),
    "wrapped at 100": _wrapped(100, words=False),
    "wrapped between words": _wrapped(90, words=True),
    "note behind": _each(lambda number, line: line + ("   <-- here it begins" if number == 1 else "")),
    "html": lambda text: "<pre>" + html.escape(text) + "</pre>",
    "html lines": _each(lambda _, line: f"<p>{html.escape(line)}</p>"),
    "smart quotes": _smart,
    "no-break spaces": _each(lambda _, line: line.replace(" ", "\u00a0", 3)),
    "pod in front": _each(lambda _, line: f"nats-0: {line}"),
    "pod in brackets": _each(lambda _, line: f"[nats-0] {line}"),
    "pod and tab": _each(lambda _, line: f"nats-0\t{line}"),
    "several pods": _each(lambda _, line: "\n".join(f"{pod} | {line}" for pod in _PODS)),
    "message alone": _each(_message),
    "process id and message": _each(lambda number, line: f"[7] {_message(number, line)}"),
    "message in a quote": _each(lambda number, line: f"> {_message(number, line)}"),
    "message in a list": _each(lambda number, line: f"- {_message(number, line)}"),
    "level in words": _viewer("{level} {text}"),
    "level with a colon": _viewer("{level}: {text}"),
    "time and level in words": _viewer("{t} {level} {text}"),
    "kibana": _viewer("{mon} {d}, {y} @ {t}.{ms} {line}"),
    "kibana message": _viewer("{mon} {d}, {y} @ {t}.{ms}\tnats-0\t[{lvl}] {text}"),
    "datadog": _viewer("{mon} {d} {t}.{ms} nats-0 {level} {text}"),
    "splunk": _viewer("{mo}/{d}/{y} {t}.{ms} {line}"),
    "grafana": _viewer("{y}-{mo}-{d} {t}.{ms} {line}"),
    "grafana message": _viewer("{y}-{mo}-{d} {t}.{ms} [{lvl}] {text}"),
    "zone in front": _viewer("{y}-{mo}-{d} {t}.{ms} ICT{line}"),
    "csv": lambda text: _csv(_rows(text)),
    "csv, newest first": lambda text: _csv(_rows(text)[::-1]),
    "markdown table": _drawn,
    "markdown table without side bars": _without_side_bars,
    "notepad search": _each(lambda number, line: f"\tLine {36 + number:>5}: {line}"),
    "box": _boxed,
    "json array": lambda text: json.dumps([ENVELOPES["google cloud"](line) for line in text.splitlines()], indent=2),
    "json documents": lambda text: "\n".join(
        json.dumps(ENVELOPES["datadog"](line), indent=1) for line in text.splitlines()
    ),
    "loki answer": _loki,
    "elasticsearch answer": lambda text: json.dumps(
        {"took": 3, "hits": {"total": 2, "hits": [ENVELOPES["elasticsearch"](line) for line in text.splitlines()]}}
    ),
    "crlf": lambda text: text.replace("\n", "\r\n"),
}
"""Texts as people paste them, and as log viewers export them."""


def dressed(shape: str, text: str) -> str:
    """A text of server lines in a shape of any of these kinds."""
    if shape in DRESSED:
        return DRESSED[shape](text)
    if shape in UNDATED:
        return UNDATED[shape](text)
    return enveloped(shape, text)


SHAPES = (*UNDATED, *ENVELOPES, *LINES, *DRESSED)
