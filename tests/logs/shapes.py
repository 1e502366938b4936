"""One line of a nats-server in the shapes that people have it in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

_HEADER = re.compile(r"^(\[\d+\] )?(\d{4}/\d\d/\d\d) (\d\d:\d\d:\d\d\.\d{6}) ", re.MULTILINE)

Shape = Callable[[str], str]


def _without_header(text: str) -> str:
    return _HEADER.sub("", text)


UNDATED: dict[str, Shape] = {
    "bare": _without_header,
    "process id": lambda text: _HEADER.sub(lambda found: found[1] or "", text),
    "time": lambda text: _HEADER.sub(lambda found: found[3][:8] + " ", text),
    "process id and time": lambda text: _HEADER.sub(lambda found: f"{found[1] or ''}{found[3]} ", text),
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
        return "\n".join(map(LINES[name], text.splitlines()))
    return "\n".join(_json(ENVELOPES[name](line)) for line in text.splitlines())
