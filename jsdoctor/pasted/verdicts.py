"""Texts that no rule judges: verdicts of other tools, charts, round trips, stacks, pages and tables of `kubectl`.

No rule judges a verdict again, nor volumes and events in tables. Each is refused with its own words, and with what to
give instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from jsdoctor.pasted.found import RecognisedDocument, Refused
from jsdoctor.pasted.kubernetes_pods import pods_of_event_rows, pods_of_rows
from jsdoctor.pasted.tables import Table

# Blank lines are taken once: patterns that share them take the cube of their number.
_CHART = re.compile(r"^[ \t>]*(CPU|Memory) Usage[^\S\n]*+\n[\s>]*+\S{1,200}: [█-▏]+ \(", re.MULTILINE)
_RTT = re.compile(
    r"^[ \t>]*(?:[\d:]{8} )?Failed to compute rtt for \S"
    r"|^(nats|tls|ws|wss)://\S{1,200}:[^\S\n]*+\n(?:[^\S\n]*+\n)*+ +\1://\S{1,200}: ",
    re.MULTILINE,
)
_PRINTED_OBJECT = re.compile(
    r"^[ \t>]*(?:type: 'io\.nats\.jetstream\.api\.v1\.|stream_name: ')|\b(?:Stream|Consumer|Account)Info\(\w{1,40}=",
    re.MULTILINE,
)
"""As `console.log` of nats.js and `print` of nats.py write replies."""
_STACKS = re.compile(r"^[ \t>]*goroutine \d{1,12} \[[^\]\n]{1,80}\]:$", re.MULTILINE)
_CRASH = re.compile(r"\bpanic: |\bfatal error: |\[signal |\[(?:ERR|FTL)\]")
_SYSTEM_HINT = "look at the deployment with a login of the system account: jsdoctor check --context NAME"


def unjudged_text(text: str) -> Iterator[Refused]:
    """Refuse, once each, the outputs of a text that no rule judges, with what to give instead."""
    if chart := _CHART.search(text):
        what, lacks = ("processor", "its cores") if chart[1] == "CPU" else ("memory", "its limit")
        yield Refused(f"the {what} report of nats", f"it shows what each server uses, and not {lacks}", _SYSTEM_HINT)
    if match := _RTT.search(text):
        failed = "Failed to compute" in match[0] or re.search(r": failed\s*$", text, re.MULTILINE) is not None
        yield Refused(
            "the output of nats rtt",
            "it could not connect, which says nothing of the servers" if failed else "no rule judges round trips alone",
            "for the error of the connection: jsdoctor diagnose FILE; for latency: jsdoctor check --context NAME",
        )
    if _PRINTED_OBJECT.search(text):
        yield Refused(
            "a reply that a program printed as an object of its language",
            "only JSON is read",
            "print it as JSON (JSON.stringify(info), json.dumps(info.as_dict())), or take nats consumer info --json",
        )
    if shows_stacks(text):
        yield Refused(
            "the goroutine stacks of a server",
            "they show what it did at one moment, and no crash",
            "give them to the maintainers with /jsz and /raftz of the same moment",
        )


def shows_stacks(text: str) -> bool:
    """Whether a text has stacks of goroutines that no crash left behind, as `/stacksz` shows them."""
    return _STACKS.search(text) is not None and not _CRASH.search(text)


def unjudged_document(value: Mapping[str, Any]) -> Iterator[Refused]:
    """Refuse a document of internal queues or subjects. Its keys are names: it is known by the form of its values."""
    if not value:
        return
    if all(
        isinstance(item, dict) and {"pending"} <= item.keys() <= {"pending", "in_progress"} for item in value.values()
    ):
        waiting = {name: item["pending"] for name, item in value.items() if isinstance(item["pending"], int)}
        most = max(waiting, key=lambda name: waiting[name], default="")
        shown = f"the longest, {most!r}, has {waiting[most]:,} entries" if most and waiting[most] else "all are empty"
        yield Refused(
            "the internal queues of a server", f"no rule judges them; {shown}", "give /varz, /jsz, /healthz and /raftz"
        )
    elif all(type(item) is int and item > 0 for item in value.values()) and sum(
        "." in name for name in value
    ) * 2 > len(value):
        yield Refused(
            "the subjects of a stream",
            "it does not name the stream",
            "nats stream info STREAM --json, or nats stream subjects STREAM without --json",
        )


_MAX_LINE_LENGTH = 2_000
_MAX_LINES = 100_000
_SHOWN = 5
_NAME = re.compile(r"^[\s>]{0,8}Name: +([a-z0-9][a-z0-9.-]{0,252})\s*$")
_FIELD = re.compile(r"^[\s>]*([A-Z][A-Za-z ]{2,30}): +(\S(?:.*\S)?)\s*$")
_WARNING = re.compile(r"^[\s>]+Warning +(\S{1,80}) +(.{1,2000})$")
_BEHIND_AGE = re.compile(r"^(?:<\w+>|[\dhmsd]+(?: \(x\d+ over [\dhmsd]+\))?) +[\w-]+(?:, [\w.-]+)? +(.*)$")
_POD_FIELDS = frozenset({"Node", "Restart Count", "Container ID", "QoS Class", "Controlled By"})
_CLAIM_FIELDS = frozenset({"StorageClass", "Access Modes", "Used By", "VolumeMode"})
_MAX_QUOTED = 160


def kubernetes_descriptions(text: str) -> Iterator[Refused]:
    """Each pod and volume claim that a text describes, with what is wrong with it."""
    if "Name:" not in text or "Namespace:" not in text:
        return
    name, fields, incidents = "", set[str](), list[str]()
    for line in (line[:_MAX_LINE_LENGTH] for line in text.splitlines()[:_MAX_LINES]):
        if (match := _NAME.match(line)) and (not name or "Namespace" in fields):
            yield from _description(name, fields, incidents)
            name, fields, incidents = match[1], set(), []
        elif name and (field := _FIELD.match(line)):
            fields.add(field[1])
            incidents.extend(_incident(field[1], field[2], fields))
        elif name and (event := _WARNING.match(line)):
            behind = _BEHIND_AGE.match(event[2].strip())
            words = behind[1] if behind else event[2].strip()
            incidents.append(f"event {event[1]}: {words[:_MAX_QUOTED]}")
    yield from _description(name, fields, incidents)


def _incident(field: str, value: str, fields: set[str]) -> Iterator[str]:
    """The fault that a field of a description shows, if any."""
    if field == "Reason" and value != "Completed":
        yield f"reason {value}"
    elif field == "Exit Code" and value != "0":
        yield f"exit code {value}"
    elif field == "Restart Count" and value != "0":
        yield f"restarted {value} times"
    elif field == "Status" and value not in {"Running", "Succeeded", "Bound"} and "Conditions" not in fields:
        yield f"status {value}"


def _description(name: str, fields: set[str], incidents: list[str]) -> Iterator[Refused]:
    if not name or "Namespace" not in fields:
        return
    if fields & _POD_FIELDS:
        what, how = "pod", f"kubectl logs {name} --previous, and give its output"
    elif fields & _CLAIM_FIELDS:
        what, how = "volume claim", "kubectl get events --field-selector involvedObject.kind=PersistentVolumeClaim"
    else:
        return
    reported = list(dict.fromkeys(incidents))
    shown = "; ".join(reported[:_SHOWN]) + (f" and {len(reported) - _SHOWN} more" if len(reported) > _SHOWN else "")
    yield Refused(
        f"the description of {what} {name} by kubectl",
        f"no rule judges {what}s; {shown or 'nothing in it is wrong'}",
        how,
    )


_VERDICT = re.compile(r"^[ \t>]*(OK|WARNING|CRITICAL|UNKNOWN) (\S{1,80})([^|\n]{0,500})(?:\| ?\w+=.*)?$", re.MULTILINE)
_AUDIT = re.compile(r"^[ \t>]*\[(\w[\w ]{1,20})\] \[([A-Z]{2,12}_\d{3})\] ", re.MULTILINE)
_PASSED = frozenset({"PASS", "PASSED", "OK", "SKIP", "SKIPPED"})
_READY = re.compile(r"(\d+)/(\d+)")
_ENDED = frozenset({"Completed", "Succeeded"})


def verdicts_in(text: str) -> Iterator[Refused]:
    """Every verdict of a check, and one summary of an audit."""
    for status, name, rest in dict.fromkeys(
        match.groups() for match in _VERDICT.finditer(text) if "| " in match[0] or "Crit:" in match[3]
    ):
        words = rest.strip()
        yield Refused(
            f"the result of nats server check for {name}",
            f"it is {status}{f' ({words})' if words else ''}, and it has no state to judge",
            "look at the deployment: jsdoctor check --context NAME, or give nats stream info --json",
        )
    if outcomes := _AUDIT.findall(text):
        failed = [code for outcome, code in outcomes if outcome.upper() not in _PASSED]
        yield Refused(
            "the report of nats audit analyze",
            f"{len(failed)} of its {len(outcomes)} checks failed{_codes_text(failed)}, and it has no state to judge",
            "give the archive that it was made from: jsdoctor check ARCHIVE.zip",
        )


def kubernetes_tables(tables: Iterable[Table], at: datetime) -> Iterator[RecognisedDocument | Refused]:
    """Pods, volume claims and events of `kubectl get`. Server pods are judged where the table says enough of them."""
    for table in tables:
        if table.has("name", "ready", "status", "restarts"):
            pods, rest = pods_of_rows(table.rows, at)
            bad = [f"{row['name']} is {_pod_fault(row)}" for row in rest if _pod_fault(row)]
            if pods is not None:
                yield pods
            if bad or pods is None:
                yield _kubectl_table("pods", bad, "all are ready", "kubectl get pods -o json, and give its output")
        elif table.has("name", "status", "volume"):
            bad = [f"{row['name']} is {row['status']}" for row in table.rows if row["status"] != "Bound"]
            yield _kubectl_table("volume claims", bad, "all are bound", "kubectl describe pvc NAME")
        elif table.has("type", "reason", "message"):
            pods = pods_of_event_rows(table.rows, at)
            if pods is not None:
                yield pods
            bad = [
                f"{row.get('object', 'an object')}: {row['reason']}" for row in table.rows if row["type"] == "Warning"
            ]
            yield _kubectl_table("events", bad, "none is a warning", "jsdoctor diagnose REASON")


def _kubectl_table(what: str, bad: list[str], healthy: str, how: str) -> Refused:
    shown = "; ".join(bad[:_SHOWN]) + (f" and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else "")
    return Refused(f"the {what} of kubectl", f"the table says too little of them; {shown or healthy}", how)


def _pod_fault(row: Mapping[str, str]) -> str:
    """What is wrong with a pod; empty where nothing is."""
    ready, restarts = _READY.match(row["ready"]), re.match(r"\d+", row["restarts"])
    words = [] if row["status"] in {"Running", *_ENDED} else [row["status"]]
    if ready and ready[1] != ready[2] and row["status"] not in _ENDED:
        words.append(f"{row['ready']} ready")
    if restarts and int(restarts[0]):
        words.append(f"restarted {restarts[0]} times")
    return ", ".join(words)


def _codes_text(codes: list[str]) -> str:
    return f" ({', '.join(codes[:_SHOWN])}{' and more' if len(codes) > _SHOWN else ''})" if codes else ""
