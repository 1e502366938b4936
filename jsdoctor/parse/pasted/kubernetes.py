"""Pages of `kubectl describe`: what they say is wrong with a pod or a volume claim. No rule judges those."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jsdoctor.parse.pasted.found import Refused

_MAX_LINE_LENGTH = 2_000
_MAX_LINES = 100_000
_MAX = 5
_NAME = re.compile(r"^[\s>]{0,8}Name: +([a-z0-9][a-z0-9.-]{0,252})\s*$")
_FIELD = re.compile(r"^[\s>]*([A-Z][A-Za-z ]{2,30}): +(\S(?:.*\S)?)\s*$")
_WARNING = re.compile(r"^[\s>]+Warning +(\S{1,80}) +(.{1,2000})$")
_BEHIND_AGE = re.compile(r"^(?:<\w+>|[\dhmsd]+(?: \(x\d+ over [\dhmsd]+\))?) +[\w-]+(?:, [\w.-]+)? +(.*)$")
_POD = frozenset({"Node", "Restart Count", "Container ID", "QoS Class", "Controlled By"})
_CLAIM = frozenset({"StorageClass", "Access Modes", "Used By", "VolumeMode"})
_QUOTED = 160


def kubernetes_descriptions(text: str) -> Iterator[Refused]:
    """Each pod and volume claim that a text describes, with what is wrong with it."""
    if "Name:" not in text or "Namespace:" not in text:
        return
    name, fields, incidents = "", set[str](), list[str]()
    for line in (line[:_MAX_LINE_LENGTH] for line in text.splitlines()[:_MAX_LINES]):
        if (match := _NAME.match(line)) and (not name or "Namespace" in fields):
            yield from _described(name, fields, incidents)
            name, fields, incidents = match[1], set(), []
        elif name and (field := _FIELD.match(line)):
            fields.add(field[1])
            incidents.extend(_incident(field[1], field[2], fields))
        elif name and (event := _WARNING.match(line)):
            behind = _BEHIND_AGE.match(event[2].strip())
            words = behind[1] if behind else event[2].strip()
            incidents.append(f"event {event[1]}: {words[:_QUOTED]}")
    yield from _described(name, fields, incidents)


def _incident(field: str, value: str, fields: set[str]) -> Iterator[str]:
    """What a field says is wrong, in its own words."""
    if field == "Reason" and value != "Completed":
        yield f"reason {value}"
    elif field == "Exit Code" and value != "0":
        yield f"exit code {value}"
    elif field == "Restart Count" and value != "0":
        yield f"restarted {value} times"
    elif field == "Status" and value not in {"Running", "Succeeded", "Bound"} and "Conditions" not in fields:
        yield f"status {value}"


def _described(name: str, fields: set[str], incidents: list[str]) -> Iterator[Refused]:
    if not name or "Namespace" not in fields:
        return
    if fields & _POD:
        what, how = "pod", f"kubectl logs {name} --previous, and give its output"
    elif fields & _CLAIM:
        what, how = "volume claim", "kubectl get events --field-selector involvedObject.kind=PersistentVolumeClaim"
    else:
        return
    reported = list(dict.fromkeys(incidents))
    shown = "; ".join(reported[:_MAX]) + (f" and {len(reported) - _MAX} more" if len(reported) > _MAX else "")
    yield Refused(
        f"the description of {what} {name} by kubectl",
        f"no rule judges {what}s; {shown or 'nothing in it is wrong'}",
        how,
    )
