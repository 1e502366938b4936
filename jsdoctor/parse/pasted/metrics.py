"""Exposition text of exporters (prometheus-nats-exporter, surveyor) as the documents that it was made from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from jsdoctor.parse.pasted.documents import Document

_LONGEST_LINE = 4_000
_MOST_LINES = 200_000
_LINE = re.compile(r"^([a-zA-Z_:][\w:]*)\{([^}]*)\} ([-+.\deE]{1,30})(?: \d+)?\s*$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_OPEN = frozenset({"", "config", "state", "delivered", "ack_floor"})
_OF_CONSUMER = {
    "num_pending": ("", "num_pending"),
    "num_ack_pending": ("", "num_ack_pending"),
    "num_redelivered": ("", "num_redelivered"),
    "num_waiting": ("", "num_waiting"),
    "delivered_consumer_seq": ("delivered", "consumer_seq"),
    "delivered_stream_seq": ("delivered", "stream_seq"),
    "ack_floor_consumer_seq": ("ack_floor", "consumer_seq"),
    "ack_floor_stream_seq": ("ack_floor", "stream_seq"),
}
_OF_STREAM = {
    "total_messages": ("state", "messages"),
    "total_bytes": ("state", "bytes"),
    "first_seq": ("state", "first_seq"),
    "last_seq": ("state", "last_seq"),
    "consumer_count": ("state", "consumer_count"),
    "subject_count": ("state", "num_subjects"),
    "limit_bytes": ("config", "max_bytes"),
    "limit_messages": ("config", "max_msgs"),
}
_PREFIX = re.compile(r"^(?:nats_|gnatsd_)?jetstream_(consumer|stream)_")


def is_exposition(text: str) -> bool:
    """Whether it looks like the text that Prometheus scrapes from an exporter of NATS."""
    return bool(re.search(r"^(?:# (?:HELP|TYPE) )?(?:nats_|gnatsd_|jetstream_)\w+[ {]", text, re.MULTILINE))


def metric_documents(text: str) -> Iterator[Document]:
    """Streams and consumers as their leaders report them. Followers' values of the same asset are left out."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for line in text.splitlines()[:_MOST_LINES]:
        match = _LINE.match(line[:_LONGEST_LINE])
        kind = _PREFIX.match(match[1]) if match else None
        if match is None or kind is None:
            continue
        labels = {key: value[:256] for key, value in _LABEL.findall(match[2])}
        if labels.get(f"is_{kind[1]}_leader") == "false":
            continue
        known = (_OF_CONSUMER if kind[1] == "consumer" else _OF_STREAM).get(match[1][kind.end() :])
        stream, name = labels.get("stream_name", ""), labels.get("consumer_name", "")
        if known and stream and (name or kind[1] == "stream"):
            _put(found, (stream, name if kind[1] == "consumer" else ""), known, match[3])
    yield from (Document(value, _OPEN) for value in found.values())


def _put(found: dict[tuple[str, str], dict[str, Any]], key: tuple[str, str], place: tuple[str, str], text: str) -> None:
    try:
        number = int(float(text))
    except (ValueError, OverflowError):
        return
    if not -1 <= number < 2**63:
        return
    stream, name = key
    value = found.setdefault(
        key,
        {"stream_name": stream, "name": name, "config": {}} if name else {"config": {"name": stream}, "state": {}},
    )
    (value.setdefault(place[0], {}) if place[0] else value)[place[1]] = number
