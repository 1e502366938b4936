"""Text that the `nats` command prints for people (natscli 0.0.35 to 0.5.0), as the documents that it was made from.

What the text rounds or leaves out stays unknown: sizes with a unit, ages, and all settings that have no line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from jsdoctor.parse.duration import parse_duration
from jsdoctor.parse.pasted.documents import UNKNOWN_NAME, Document

_MAX_LINE_LENGTH = 2_000
_MAX_LINES = 100_000
_STREAM = re.compile(r"(?:Information|State) for Stream (\S+)(?: created (\S+)|\s*$)")
_CONSUMER = re.compile(r"(?:Information|State) for Consumer (\S+) > (\S+)(?: created (\S+))?")
_BUCKET = re.compile(r"Information for (Key-Value|Object) Store Bucket (\S+)")
_BACKED_BY = {"Key-Value": "KV_", "Object": "OBJ_"}
_LABEL = re.compile(r"^[ \t>|*-]*([A-Za-z][A-Za-z /()-]{2,40}?):\s+(\S(?:.*\S)?)\s*$")
_HEADING = re.compile(r"^[ \t>|*-]*([A-Z][A-Za-z ]{2,40}):\s*$")
_REPLICA = re.compile(
    r"^[ \t>|*-]*(?:Replica:\s+)?(\S.{0,200}?),\s*(current|outdated)((?:, OFFLINE)?, (?:seen \S+ ago|not seen).*)$"
)
_PEER_ID = re.compile(r"\(peerID: (\w{1,40})\)")
_SEQUENCES = re.compile(r"Consumer sequence: ([\d,]+)\s+Stream sequence: ([\d,]+)", re.IGNORECASE)
_AGO = re.compile(r"Last (?:delivery|ack): ([\dyhdmsµun.]{2,30}) ago", re.IGNORECASE)
_WHOLE = re.compile(r"[\d,]{1,20}(?=$| |/)")
_SEEN = re.compile(r"seen (?:([\dhmsµu.]+) ago|never)")
_BEHIND = re.compile(r"([\d,]+) operations? behind")
_OPEN = frozenset({"", "config", "state", "delivered", "ack_floor"})

UNKNOWN_ASSET = "(unnamed stream or consumer)"
"""Name of an asset of which only the cluster section is there: the pages of streams and consumers both have it."""
_CONSUMER_SECTIONS = (
    frozenset({"last delivered message", "outstanding acks", "unprocessed messages"}),
    frozenset({"deliver policy", "ack policy", "replay policy"}),
)
_STREAM_SECTIONS = (
    frozenset({"retention", "discard policy", "duplicate window"}),
    frozenset({"messages", "bytes", "first sequence", "last sequence", "active consumers"}),
    frozenset({"messages", "bytes", "firstseq", "lastseq", "active consumers"}),
)

Reader = Callable[[str], Any]


def _number(text: str) -> int | None:
    match = _WHOLE.match(text)
    return int(match[0].replace(",", "") or 0) if match and match[0].strip(",") else None


def _limit(text: str) -> int | None:
    return -1 if text.lower().startswith("unlimited") else _number(text)


def _exact_bytes(text: str) -> int | None:
    """Bytes that are not rounded."""
    return -1 if text.lower() == "unlimited" else _number(text) if re.fullmatch(r"[\d,]+ B", text) else None


def _nanoseconds(text: str) -> int | None:
    if text.lower() in ("unlimited", "never"):
        return 0
    try:
        return parse_duration(text.replace(" ", ""))
    except ValueError:
        return None


def _durations(text: str) -> list[int] | None:
    nanoseconds = [_nanoseconds(item) for item in re.split(r"[,\s]+", text.strip("[] ")) if item]
    return None if None in nanoseconds else [number for number in nanoseconds if number is not None]


def _lower(text: str) -> str:
    return text.lower()


def _yes(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text.lower())


def _no(text: str) -> bool | None:
    reported = _yes(text)
    return None if reported is None else not reported


def _maximum(text: str) -> int | None:
    match = re.search(r"maximum ([\d,]+)", text)
    return int(match[1].replace(",", "") or 0) if match and match[1].strip(",") else None


def _subjects(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


_RETENTION = {"limits": "limits", "interest": "interest", "workqueue": "workqueue", "work queue": "workqueue"}
_OF_STREAM: Mapping[str, tuple[str, str, Reader]] = {
    "subjects": ("config", "subjects", _subjects),
    "replicas": ("config", "num_replicas", _number),
    "storage": ("config", "storage", _lower),
    "retention": ("config", "retention", lambda text: _RETENTION.get(text.lower().removesuffix(" policy"))),
    "no acknowledgements": ("config", "no_ack", _yes),
    "discard policy": ("config", "discard", _lower),
    "duplicate window": ("config", "duplicate_window", _nanoseconds),
    "acknowledgments": ("config", "no_ack", _no),
    "acknowledgements": ("config", "no_ack", _no),
    "direct get": ("config", "allow_direct", _yes),
    "allows rollups": ("config", "allow_rollup_hdrs", _yes),
    "allows per-message ttl": ("config", "allow_msg_ttl", _yes),
    "allows msg delete": ("config", "deny_delete", _no),
    "allows purge": ("config", "deny_purge", _no),
    "maximum messages": ("config", "max_msgs", _limit),
    "maximum per subject": ("config", "max_msgs_per_subject", _limit),
    "maximum bytes": ("config", "max_bytes", _exact_bytes),
    "maximum age": ("config", "max_age", _nanoseconds),
    "maximum message size": ("config", "max_msg_size", _exact_bytes),
    "maximum consumers": ("config", "max_consumers", _limit),
    "messages": ("state", "messages", _number),
    "bytes": ("state", "bytes", _exact_bytes),
    "first sequence": ("state", "first_seq", _number),
    "firstseq": ("state", "first_seq", _number),
    "last sequence": ("state", "last_seq", _number),
    "lastseq": ("state", "last_seq", _number),
    "active consumers": ("state", "consumer_count", _number),
    "number of subjects": ("state", "num_subjects", _number),
    "deleted messages": ("state", "num_deleted", _number),
}
_DELIVER = {"all": "all", "last": "last", "new": "new", "last per subject": "last_per_subject"}
_OF_CONSUMER: Mapping[str, tuple[str, str, Reader]] = {
    "delivery subject": ("config", "deliver_subject", str),
    "deliver queue group": ("config", "deliver_group", str),
    "deliver policy": ("config", "deliver_policy", lambda text: _DELIVER.get(text.lower())),
    "ack policy": ("config", "ack_policy", _lower),
    "ack wait": ("config", "ack_wait", _nanoseconds),
    "max ack pending": ("config", "max_ack_pending", _limit),
    "maximum deliveries": ("config", "max_deliver", _limit),
    "backoff": ("config", "backoff", _durations),
    "max waiting pulls": ("config", "max_waiting", _number),
    "filter subject": ("config", "filter_subject", str),
    "filter subjects": ("config", "filter_subjects", _subjects),
    "idle heartbeat": ("config", "idle_heartbeat", _nanoseconds),
    "flow control": ("config", "flow_control", _yes),
    "inactive threshold": ("config", "inactive_threshold", _nanoseconds),
    "replicas": ("config", "num_replicas", _number),
    "unprocessed messages": ("", "num_pending", _number),
    "outstanding acks": ("", "num_ack_pending", _number),
    "redelivered messages": ("", "num_redelivered", _number),
    "waiting pulls": ("", "num_waiting", _number),
    "waiting pull requests": ("", "num_waiting", _number),
    "active interest": ("", "push_bound", lambda text: text.lower().startswith("active")),
}

_ABSENT_OF_STREAM: Mapping[str, tuple[str, str, Any]] = {
    "mirror": ("config", "mirror", None),
    "source": ("config", "sources", []),
    "sealed": ("config", "sealed", False),
    "subject transform": ("config", "subject_transform", None),
    "metadata": ("config", "metadata", {}),
    "consumer limits": ("config", "consumer_limits", {}),
    "deleted": ("state", "num_deleted", 0),
    "lost": ("state", "lost", None),
    "leader": ("", "cluster", None),
    "mirror information": ("", "mirror", None),
    "source information": ("", "sources", []),
}
"""What `nats stream info` prints only where it is set, by how its label begins."""

_ABSENT_OF_CONSUMER: Mapping[str, tuple[str, str, Any]] = {
    "filter": ("config", "filter_subject", ""),
    "filter subjects": ("config", "filter_subjects", []),
    "maximum deliveries": ("config", "max_deliver", -1),
    "backoff": ("config", "backoff", []),
    "paused": ("", "paused", False),
    "delivery subject": ("config", "deliver_subject", ""),
    "deliver queue group": ("config", "deliver_group", ""),
    "idle heartbeat": ("config", "idle_heartbeat", 0),
    "flow control": ("config", "flow_control", False),
    "inactive threshold": ("config", "inactive_threshold", 0),
    "replicas": ("config", "num_replicas", 0),
    "waiting pull": ("", "num_waiting", 0),
    "active interest": ("", "push_bound", False),
    "metadata": ("config", "metadata", {}),
    "leader": ("", "cluster", None),
}


def cli_documents(text: str, at: datetime) -> Iterator[Document]:
    """Streams and consumers of `nats stream info`, `stream state` and `consumer info`; `cli_tables` has the reports.

    `at` is when the text was written: what it prints as ages is relative to that.
    """
    lines = [line[:_MAX_LINE_LENGTH] for line in text.splitlines()[:_MAX_LINES]]
    current = _without_title(lines)
    for line in lines:
        begun = _begun(line)
        if begun is not None:
            if current is not None:
                yield _finished(current, at)
            current = begun
        elif current is not None and (heading := _HEADING.match(line)):
            current["_section"] = heading[1].lower()
            current["_labels"].add(heading[1].lower())
        elif current is not None and current.get("_section") == "metadata":
            _take_metadata(current, line)
        elif current is not None and (replica := _REPLICA.match(line)):
            current.setdefault("cluster", {}).setdefault("replicas", []).append(_replica(replica))
        elif current is not None and (label := _LABEL.match(line)):
            _take(current, label[1].lower(), label[2])
    if current is not None:
        yield _finished(current, at)


def _without_title(lines: Sequence[str]) -> dict[str, Any] | None:
    """A page, or a section of one, whose first line was not copied; None where there is a title, or no section."""
    if any(_begun(line) for line in lines):
        return None
    labels: dict[str, str] = {}
    for line in lines:
        if label := _LABEL.match(line):
            labels.setdefault(label[1].lower(), label[2])  # the cluster has a name, too
    if any(labels.keys() >= section for section in _CONSUMER_SECTIONS):
        name = labels.get("durable name") or labels.get("name") or UNKNOWN_NAME
        return {"stream_name": UNKNOWN_NAME, "name": name, "config": {}, "_labels": set()}
    if any(labels.keys() >= section for section in _STREAM_SECTIONS):
        return _stream_named(UNKNOWN_NAME)
    if any(_REPLICA.match(line) for line in lines):
        group = labels.get("cluster group") or labels.get("raft group") or ""
        if group.startswith("C-"):
            return {"stream_name": UNKNOWN_NAME, "name": UNKNOWN_NAME, "config": {}, "_labels": set()}
        return _stream_named(UNKNOWN_NAME if group.startswith("S-") else UNKNOWN_ASSET)
    return None


def _stream_named(name: str) -> dict[str, Any]:
    return {"config": {"name": name}, "state": {}, "_labels": set()}


def _begun(line: str) -> dict[str, Any] | None:
    if match := _CONSUMER.search(line):
        return {"stream_name": match[1], "name": match[2], "config": {}, "_labels": set(), **_created(match[3])}
    if match := _BUCKET.search(line):
        return _stream_named(_BACKED_BY[match[1]] + match[2])
    if match := _STREAM.search(line):
        return _stream_named(match[1]) | _created(match[2])
    return None


def _created(text: str | None) -> dict[str, str]:
    """The time of creation, where it is printed with its offset from UTC."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return {}
    return {"created": moment.isoformat()} if moment.tzinfo else {}


def _take(value: dict[str, Any], label: str, text: str) -> None:
    if label == "retention" and (both := text.partition(" - "))[1]:  # until 0.0.23 in one line with the storage
        _take(value, "storage", both[0])
        text = both[2]
    value["_labels"].add(label)
    known = (_OF_CONSUMER if "stream_name" in value else _OF_STREAM).get(label)
    if known is not None:
        place, key, read = known
        if (read_value := read(text)) is not None:
            (value[place] if place else value)[key] = read_value
    if label == "outstanding acks" and (most := _maximum(text)) is not None:
        value["config"]["max_ack_pending"] = most
    elif label in ("last delivered message", "acknowledgment floor", "acknowledgement floor"):
        if match := _SEQUENCES.search(text):
            consumer, stream = (int(group.replace(",", "") or 0) for group in match.groups())
            key = "delivered" if label.startswith("last") else "ack_floor"
            value[key] = {"consumer_seq": consumer, "stream_seq": stream}
            if ago := _AGO.search(text):
                value[key]["_ago"] = _nanoseconds(ago[1]) or 0
    elif label == "cluster group" or (label == "name" and "cluster" not in value and "stream_name" not in value):
        value["cluster"] = {"name": text}
    elif label == "leader":
        value.setdefault("cluster", {})["leader"] = text.partition(" ")[0]


def _take_metadata(value: dict[str, Any], line: str) -> None:
    key, colon, text = line.strip().partition(": ")
    if colon:
        value["config"].setdefault("metadata", {})[key.strip()] = text.strip()


def _replica(match: re.Match[str]) -> dict[str, Any]:
    rest = match[3]
    seen, behind = _SEEN.search(rest), _BEHIND.search(rest)
    peer = _PEER_ID.search(match[1])
    return {
        "name": match[1],
        **({"peer": peer[1]} if peer else {}),
        "current": match[2].lower() == "current",
        "offline": "OFFLINE" in rest,
        "active": (_nanoseconds(seen[1]) or 0) if seen and seen[1] else 0,
        "lag": int(behind[1].replace(",", "") or 0) if behind else 0,
    }


def _finished(value: dict[str, Any], at: datetime) -> Document:
    """What a whole page does not print does not exist; of a page that was cut before its end, the rest is unknown."""
    labels = value.pop("_labels")
    value.pop("_section", None)
    if "stream_name" in value and {"ack policy", "outstanding acks", "unprocessed messages"} <= labels:
        absent: Mapping[str, tuple[str, str, Any]] = _ABSENT_OF_CONSUMER
    elif "state" in value and {"last sequence", "lastseq"} & labels and "retention" in labels:
        absent = _ABSENT_OF_STREAM
    else:
        absent = {}
    for label, (place, key, nothing) in absent.items():
        target = value.setdefault(place, {}) if place else value
        if not any(candidate.startswith(label) for candidate in labels):
            target.setdefault(key, nothing)
    if "leader" not in labels and isinstance(value.get("cluster"), dict):
        value["cluster"]["leader"] = UNKNOWN_NAME
    if absent is _ABSENT_OF_CONSUMER and "inactive threshold" not in labels:
        value["config"].setdefault("durable_name", value["name"])  # what is not durable always has a threshold
    if "stream_name" in value:
        value["ts"] = at.isoformat()
        for key in ("delivered", "ack_floor"):
            ago = value.get(key, {}).pop("_ago", None)
            if key in value:
                value[key]["last_active"] = (at - timedelta(microseconds=ago // 1000)).isoformat() if ago else None
    return Document(value, _OPEN)
