"""The copy of a message as a dead letter: its content, and its origin in headers."""

from __future__ import annotations

from datetime import UTC, datetime

from jsdoctor.remedy.backup.live import LiveMessage

_ACTING = ("nats-expected-", "nats-msg-id", "nats-rollup", "nats-ttl", "nats-schedule", "nats-batch-", "nats-incr")
"""Headers that trigger an action of the server: they were intended for the first stream."""


def copy_of(message: LiveMessage, stream: str, consumer: str, into: str) -> tuple[dict[str, str], bytes]:
    """Headers and payload of the copy. Its origin is in the headers that servers use for it (DIRECT.GET).

    The `Nats-Expected-…` headers ensure that it is stored in that stream, and once.
    """
    kept = {key: value for key, value in headers_of(message.headers).items() if not key.lower().startswith(_ACTING)}
    seconds, rest_ns = divmod(message.date_ns, 1_000_000_000)
    date = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    origin = {
        "Nats-Stream": stream,
        "Nats-Subject": message.subject.decode(errors="replace"),
        "Nats-Sequence": str(message.stream_seq),
        "Nats-Time-Stamp": f"{date}.{rest_ns:09d}Z",
        "Jsdoctor-Consumer": consumer,
        "Nats-Expected-Stream": into,
        "Nats-Expected-Last-Subject-Sequence": "0",
    }
    if identity := headers_of(message.headers).get("Nats-Msg-Id"):
        origin["Jsdoctor-Msg-Id"] = identity
    return {**kept, **origin}, message.payload


def headers_of(block: bytes) -> dict[str, str]:
    """The headers of a stored message; the values of one that stands there repeatedly are joined by commas."""
    headers: dict[str, str] = {}
    for line in block.decode(errors="replace").split("\r\n")[1:]:
        key, colon, value = line.partition(":")
        if colon:
            headers[key] = f"{headers[key]}, {value.strip()}" if key in headers else value.strip()
    return headers
