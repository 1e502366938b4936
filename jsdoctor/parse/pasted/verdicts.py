"""Text in which a tool already judged: `nats server check`, `nats audit analyze` and tables of `kubectl`.

No rule judges a verdict again, nor volumes and events in tables. Each is refused with its own words, and with what to
give instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from jsdoctor.parse.pasted.found import RecognisedDocument, Refused
from jsdoctor.parse.pasted.kubernetes_pods import pods_of_event_rows, pods_of_rows
from jsdoctor.parse.pasted.tables import Table

_CHECK = re.compile(r"^[ \t>]*(OK|WARNING|CRITICAL|UNKNOWN) (\S{1,80})([^|\n]{0,500})(?:\| ?\w+=.*)?$", re.MULTILINE)
_AUDIT = re.compile(r"^[ \t>]*\[(\w[\w ]{1,20})\] \[([A-Z]{2,12}_\d{3})\] ", re.MULTILINE)
_PASSED = frozenset({"PASS", "PASSED", "OK", "SKIP", "SKIPPED"})
_READY = re.compile(r"(\d+)/(\d+)")
_DONE = frozenset({"Completed", "Succeeded"})
_MAX = 5


def verdicts_in(text: str) -> Iterator[Refused]:
    """Every verdict of a check, and one summary of an audit."""
    for entry in dict.fromkeys(
        match.groups() for match in _CHECK.finditer(text) if "| " in match[0] or "Crit:" in match[3]
    ):
        status, name, words = entry[0], entry[1], entry[2].strip()
        yield Refused(
            f"the result of nats server check for {name}",
            f"it is {status}{f' ({words})' if words else ''}, and it has no state to judge",
            "look at the deployment: jsdoctor check --context NAME, or give nats stream info --json",
        )
    if outcomes := _AUDIT.findall(text):
        failed = [code for outcome, code in outcomes if outcome.upper() not in _PASSED]
        yield Refused(
            "the report of nats audit analyze",
            f"{len(failed)} of its {len(outcomes)} checks failed{_few(failed)}, and it has no state to judge",
            "give the archive that it was made from: jsdoctor check ARCHIVE.zip",
        )


def kubernetes_tables(tables: Iterable[Table], at: datetime) -> Iterator[RecognisedDocument | Refused]:
    """Pods, volume claims and events of `kubectl get`. Server pods are judged where the table says enough of them."""
    for table in tables:
        if table.has("name", "ready", "status", "restarts"):
            pods, rest = pods_of_rows(table.rows, at)
            bad = [f"{row['name']} is {_pod(row)}" for row in rest if _pod(row)]
            if pods is not None:
                yield pods
            if bad or pods is None:
                yield _of_kubectl("pods", bad, "all are ready", "kubectl get pods -o json, and give its output")
        elif table.has("name", "status", "volume"):
            bad = [f"{row['name']} is {row['status']}" for row in table.rows if row["status"] != "Bound"]
            yield _of_kubectl("volume claims", bad, "all are bound", "kubectl describe pvc NAME")
        elif table.has("type", "reason", "message"):
            pods = pods_of_event_rows(table.rows, at)
            if pods is not None:
                yield pods
            bad = [
                f"{row.get('object', 'an object')}: {row['reason']}" for row in table.rows if row["type"] == "Warning"
            ]
            yield _of_kubectl("events", bad, "none is a warning", "jsdoctor diagnose REASON")


def _of_kubectl(what: str, bad: list[str], healthy: str, how: str) -> Refused:
    shown = "; ".join(bad[:_MAX]) + (f" and {len(bad) - _MAX} more" if len(bad) > _MAX else "")
    return Refused(f"the {what} of kubectl", f"the table says too little of them; {shown or healthy}", how)


def _pod(row: Mapping[str, str]) -> str:
    """What is wrong with a pod; empty where nothing is."""
    ready, restarts = _READY.match(row["ready"]), re.match(r"\d+", row["restarts"])
    words = [] if row["status"] in {"Running", *_DONE} else [row["status"]]
    if ready and ready[1] != ready[2] and row["status"] not in _DONE:
        words.append(f"{row['ready']} ready")
    if restarts and int(restarts[0]):
        words.append(f"restarted {restarts[0]} times")
    return ", ".join(words)


def _few(codes: list[str]) -> str:
    return f" ({', '.join(codes[:_MAX])}{' and more' if len(codes) > _MAX else ''})" if codes else ""
