"""Text that the `nats` command prints for people (natscli 0.0.35 to 0.5.0), as the documents that it was made from.

What the text rounds or leaves out stays unknown: sizes with a unit, ages, and all settings that have no line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from jsdoctor.model.duration import parse_duration
from jsdoctor.model.jetstream import ConsumerConfig, StreamConfig
from jsdoctor.model.setting import FieldKind, FieldRow, rows
from jsdoctor.pasted.documents import UNKNOWN_NAME, Document

_MAX_LINE_LENGTH = 2_000
_MAX_LINES = 100_000
_STREAM = re.compile(r"(?:Information|State) for Stream (\S+)(?: created (\S+)|\s*$)")
_CONSUMER = re.compile(r"(?:Information|State) for Consumer (\S+) > (\S+)(?: created (\S+))?")
_BUCKET = re.compile(r"Information for (Key-Value|Object) Store Bucket (\S+)")
_BACKED_BY = {"Key-Value": "KV_", "Object": "OBJ_"}
_LABEL = re.compile(r"^[ \t>|*-]*([A-Za-z][A-Za-z /()-]{2,40}?):\s+(\S(?:.*\S)?)\s*$")
_HEADING = re.compile(r"^[ \t>|*-]*([A-Z][A-Za-z ]{2,40}):\s*$")
_REPLICA = re.compile(
    r"^(?:.{0,80}?\bReplica:\s+(?=([^,]{1,200}))\1|[ \t>|*-]*([^\s,]{1,200})),\s*(current|outdated)"
    r"((?:, OFFLINE)?, (?:seen \S+ ago|not seen).*)$"
)
_PEER_ID = re.compile(r"\(peerID: (\w{1,40})\)")
_SEQUENCES = re.compile(r"Consumer sequence: ([\d,]+)\s+Stream sequence: ([\d,]+)", re.IGNORECASE)
_AGO = re.compile(r"Last (?:delivery|ack): ([\dyhdmsµun.]{2,30}) ago", re.IGNORECASE)
_WHOLE_NUMBER = re.compile(r"[\d,]{1,20}(?=$| |/)")
_SEEN = re.compile(r"seen (?:([\dhmsµu.]+) ago|never)")
_BEHIND = re.compile(r"([\d,]+) operations? behind")
_INCOMPLETE = frozenset({"", "config", "state", "delivered", "ack_floor"})

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
_ALWAYS_PRINTED = object()


def count(text: str) -> int | None:
    """A whole number with commas, alone or before a unit of its own; None for anything else."""
    match = _WHOLE_NUMBER.match(text)
    return int(match[0].replace(",", "") or 0) if match and match[0].strip(",") else None


def _exact_bytes(text: str) -> int | None:
    """A number of bytes, -1 for no limit; None if it is rounded to a larger unit."""
    return -1 if text.lower() == "unlimited" else count(text) if re.fullmatch(r"[\d,]+ B", text) else None


def nanoseconds(text: str) -> int | None:
    """A duration as `nats` prints it, 0 for none; None for anything else."""
    if text.lower() in ("unlimited", "never"):
        return 0
    try:
        return parse_duration(text.replace(" ", ""))
    except ValueError:
        return None


def _durations(text: str) -> list[int] | None:
    durations = [nanoseconds(item) for item in re.split(r"[,\s]+", text.strip("[] ")) if item]
    return None if None in durations else [duration for duration in durations if duration is not None]


def _boolean(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text.lower())


def _negated(text: str) -> bool | None:
    reported = _boolean(text)
    return None if reported is None else not reported


def _maximum(text: str) -> int | None:
    match = re.search(r"maximum ([\d,]+)", text)
    return int(match[1].replace(",", "") or 0) if match and match[1].strip(",") else None


def _unread(_: str) -> None:
    return None


class _Label(NamedTuple):
    """The field `key` in object `place` that a label shows. `absent`: its value if a whole page has no such label."""

    place: str
    key: str
    read: Reader
    absent: Any = _ALWAYS_PRINTED


_READERS: Mapping[FieldKind, Reader] = {
    FieldKind.TEXT: str,
    FieldKind.TEXTS: lambda text: [item.strip() for item in text.split(",") if item.strip()],
    FieldKind.FLAG: _boolean,
    FieldKind.NUMBER: lambda text: -1 if text.lower().startswith("unlimited") else count(text),
    FieldKind.BYTES: _exact_bytes,
    FieldKind.DURATION: nanoseconds,
    FieldKind.DURATIONS: _durations,
}


def _choice_reader(row: FieldRow) -> Reader:
    """A function that finds the choice of a setting in printed text: `last_per_subject` in `Last Per Subject`."""
    choices = {choice.replace("_", ""): choice for choice in row.setting.choices}
    return lambda text: choices.get(text.lower().removesuffix(" policy").replace(" ", ""))


def _setting_labels(shape: type[msgspec.Struct]) -> Iterator[tuple[str, _Label]]:
    """The labels of the settings of a configuration. `!` before a label: it prints the opposite. `?`: see `absent`."""
    for row in rows(shape):
        labels = row.setting.labels
        for label in filter(None, (labels,) if isinstance(labels, str) else labels):
            read = _choice_reader(row) if row.setting.choices else _READERS.get(row.kind, _unread)
            absent = msgspec.to_builtins(row.default) if label.endswith("?") else _ALWAYS_PRINTED
            yield label.strip("!?"), _Label("config", row.name, _negated if label.startswith("!") else read, absent)


_STREAM_LABELS: Mapping[str, _Label] = {
    **dict(_setting_labels(StreamConfig)),
    "messages": _Label("state", "messages", count),
    "bytes": _Label("state", "bytes", _exact_bytes),
    "first sequence": _Label("state", "first_seq", count),
    "firstseq": _Label("state", "first_seq", count),
    "last sequence": _Label("state", "last_seq", count),
    "lastseq": _Label("state", "last_seq", count),
    "active consumers": _Label("state", "consumer_count", count),
    "number of subjects": _Label("state", "num_subjects", count),
    "deleted messages": _Label("state", "num_deleted", count, 0),
    "lost": _Label("state", "lost", _unread, None),
    "leader": _Label("", "cluster", _unread, None),
    "mirror information": _Label("", "mirror", _unread, None),
    "source information": _Label("", "sources", _unread, []),
}
_CONSUMER_LABELS: Mapping[str, _Label] = {
    **dict(_setting_labels(ConsumerConfig)),
    "unprocessed messages": _Label("", "num_pending", count),
    "outstanding acks": _Label("", "num_ack_pending", count),
    "redelivered messages": _Label("", "num_redelivered", count),
    "waiting pulls": _Label("", "num_waiting", count, 0),
    "waiting pull requests": _Label("", "num_waiting", count, 0),
    "active interest": _Label("", "push_bound", lambda text: text.lower().startswith("active"), False),
    "paused": _Label("", "paused", _unread, False),
    "leader": _Label("", "cluster", _unread, None),
}


def cli_documents(text: str, at: datetime) -> Iterator[Document]:
    """Streams and consumers of `nats stream info`, `stream state` and `consumer info`; `cli_tables` has the reports.

    `at` is when the text was written: what it prints as ages is relative to that.
    """
    lines = [line[:_MAX_LINE_LENGTH] for line in text.splitlines()[:_MAX_LINES]]
    current, hidden = _untitled_page(lines), set[str]()
    for line in lines:
        new_page = _title_of(line)
        if new_page is not None:
            if current is not None:
                yield _to_document(current, at)
            current = new_page
        elif current is not None and (heading := _HEADING.match(line)):
            current["_section"] = heading[1].lower()
            current["_labels"].add(heading[1].lower())
        elif current is not None and current.get("_section") == "metadata":
            _read_metadata(current, line)
        elif current is not None and (replica := _REPLICA.match(line)):
            current.setdefault("cluster", {}).setdefault("replicas", []).append(_replica(replica))
        elif "Stream" in line and "was created" in line:
            hidden = {"active consumers"}  # of a stream that has just been made, that it has none shows nothing
        elif current is not None and (label := _LABEL.match(line)) and label[1].lower() not in hidden:
            _read_label(current, label[1].lower(), label[2])
    if current is not None:
        yield _to_document(current, at)


def _untitled_page(lines: Sequence[str]) -> dict[str, Any] | None:
    """A page that was copied without its title, known by its labels; None if there is a title, or too few labels."""
    if any(_title_of(line) for line in lines):
        return None
    labels: dict[str, str] = {}
    for line in lines:
        if label := _LABEL.match(line):
            labels.setdefault(label[1].lower(), label[2])  # the cluster has a name, too
    if any(labels.keys() >= section for section in _CONSUMER_SECTIONS):
        name = labels.get("durable name") or labels.get("name") or UNKNOWN_NAME
        return {"stream_name": UNKNOWN_NAME, "name": name, "config": {}, "_labels": set()}
    if any(labels.keys() >= section for section in _STREAM_SECTIONS):
        return _stream_page(UNKNOWN_NAME)
    if any(_REPLICA.match(line) for line in lines):
        group = labels.get("cluster group") or labels.get("raft group") or ""
        if group.startswith("C-"):
            return {"stream_name": UNKNOWN_NAME, "name": UNKNOWN_NAME, "config": {}, "_labels": set()}
        return _stream_page(UNKNOWN_NAME if group.startswith("S-") else UNKNOWN_ASSET)
    return None


def _stream_page(name: str) -> dict[str, Any]:
    return {"config": {"name": name}, "state": {}, "_labels": set()}


def _title_of(line: str) -> dict[str, Any] | None:
    """The empty page that a title line begins; None for another line."""
    if match := _CONSUMER.search(line):
        return {"stream_name": match[1], "name": match[2], "config": {}, "_labels": set(), **_created(match[3])}
    if match := _BUCKET.search(line):
        return _stream_page(_BACKED_BY[match[1]] + match[2])
    if match := _STREAM.search(line):
        return _stream_page(match[1]) | _created(match[2])
    return None


def _created(text: str | None) -> dict[str, str]:
    """The time of creation, where it is printed with its offset from UTC."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return {}
    return {"created": moment.isoformat()} if moment.tzinfo else {}


def _read_label(value: dict[str, Any], label: str, text: str) -> None:
    """Write what a line `label: text` says into the page."""
    if label == "retention" and " - " in text:  # until 0.0.23 in one line with the storage
        storage, _, text = text.partition(" - ")
        _read_label(value, "storage", storage)
    value["_labels"].add(label)
    known = (_CONSUMER_LABELS if "stream_name" in value else _STREAM_LABELS).get(label)
    if known is not None and (read_value := known.read(text)) is not None:
        (value[known.place] if known.place else value)[known.key] = read_value
    if label == "outstanding acks" and (maximum := _maximum(text)) is not None:
        value["config"]["max_ack_pending"] = maximum
    elif label in ("last delivered message", "acknowledgment floor", "acknowledgement floor"):
        if match := _SEQUENCES.search(text):
            consumer, stream = (int(group.replace(",", "") or 0) for group in match.groups())
            key = "delivered" if label.startswith("last") else "ack_floor"
            value[key] = {"consumer_seq": consumer, "stream_seq": stream}
            if ago := _AGO.search(text):
                value[key]["_ago"] = nanoseconds(ago[1]) or 0
    elif label == "cluster group" or (label == "name" and "cluster" not in value and "stream_name" not in value):
        value["cluster"] = {"name": text}
    elif label == "leader":
        value.setdefault("cluster", {})["leader"] = text.partition(" ")[0]


def _read_metadata(value: dict[str, Any], line: str) -> None:
    key, colon, text = line.strip().partition(": ")
    if colon:
        value["config"].setdefault("metadata", {})[key.strip()] = text.strip()


def _replica(match: re.Match[str]) -> dict[str, Any]:
    name, rest = (match[1] or match[2]).strip(), match[4]
    seen, behind, peer = _SEEN.search(rest), _BEHIND.search(rest), _PEER_ID.search(name)
    return {
        "name": name,
        **({"peer": peer[1]} if peer else {}),
        "current": match[3] == "current",
        "offline": "OFFLINE" in rest,
        "active": (nanoseconds(seen[1]) or 0) if seen and seen[1] else 0,
        "lag": int(behind[1].replace(",", "") or 0) if behind else 0,
    }


def _to_document(value: dict[str, Any], at: datetime) -> Document:
    """Make a document of a page, and fill in the fields that a whole page leaves out because they have no value.

    Fields that a page lacks because it was cut before its end stay unknown.
    """
    labels = value.pop("_labels")
    value.pop("_section", None)
    is_consumer = "stream_name" in value
    is_whole = bool(
        {"ack policy", "outstanding acks", "unprocessed messages"} <= labels
        if is_consumer
        else {"last sequence", "lastseq"} & labels and "retention" in labels
    )
    for label, row in (_CONSUMER_LABELS if is_consumer else _STREAM_LABELS).items() if is_whole else ():
        if row.absent is not _ALWAYS_PRINTED and not any(candidate.startswith(label) for candidate in labels):
            (value.setdefault(row.place, {}) if row.place else value).setdefault(row.key, row.absent)
    if "leader" not in labels and isinstance(value.get("cluster"), dict):
        value["cluster"]["leader"] = UNKNOWN_NAME
    if is_consumer and is_whole and "inactive threshold" not in labels:
        value["config"].setdefault("durable_name", value["name"])  # what is not durable always has a threshold
    if "stream_name" in value:
        value["ts"] = at.isoformat()
        for key in ("delivered", "ack_floor"):
            ago = value.get(key, {}).pop("_ago", None)
            if key in value:
                value[key]["last_active"] = (at - timedelta(microseconds=ago // 1000)).isoformat() if ago else None
    return Document(value, _INCOMPLETE)
