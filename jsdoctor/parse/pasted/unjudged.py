"""Output that is known by its form and that no rule judges: charts, round trips, stacks, objects of programs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from jsdoctor.parse.pasted.found import Refused

# Blank lines are taken once: patterns that share them take the cube of their number.
_CHART = re.compile(r"^[ \t>]*(CPU|Memory) Usage[^\S\n]*+\n[\s>]*+\S{1,200}: [█-▏]+ \(", re.MULTILINE)
_RTT = re.compile(
    r"^[ \t>]*(?:[\d:]{8} )?Failed to compute rtt for \S"
    r"|^(nats|tls|ws|wss)://\S{1,200}:[^\S\n]*+\n(?:[^\S\n]*+\n)*+ +\1://\S{1,200}: ",
    re.MULTILINE,
)
_OBJECT = re.compile(
    r"^[ \t>]*(?:type: 'io\.nats\.jetstream\.api\.v1\.|stream_name: ')|\b(?:Stream|Consumer|Account)Info\(\w{1,40}=",
    re.MULTILINE,
)
"""As `console.log` of nats.js and `print` of nats.py write replies."""
_STACKS = re.compile(r"^[ \t>]*goroutine \d{1,12} \[[^\]\n]{1,80}\]:$", re.MULTILINE)
_CRASH = re.compile(r"\bpanic: |\bfatal error: |\[signal |\[(?:ERR|FTL)\]")
_SYSTEM = "look at the deployment with a login of the system account: jsdoctor check --context NAME"


def unjudged_text(text: str) -> Iterator[Refused]:
    """Each of these outputs once, wherever it stands in a text."""
    if chart := _CHART.search(text):
        of, lacks = ("processor", "its cores") if chart[1] == "CPU" else ("memory", "its limit")
        yield Refused(f"the {of} report of nats", f"it shows what each server uses, and not {lacks}", _SYSTEM)
    if match := _RTT.search(text):
        failed = "Failed to compute" in match[0] or re.search(r": failed\s*$", text, re.MULTILINE) is not None
        yield Refused(
            "the output of nats rtt",
            "it could not connect, which says nothing of the servers" if failed else "no rule judges round trips alone",
            "for the error of the connection: jsdoctor diagnose FILE; for latency: jsdoctor check --context NAME",
        )
    if _OBJECT.search(text):
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
    """Documents whose keys are names, so that only the form of their values identifies them."""
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
