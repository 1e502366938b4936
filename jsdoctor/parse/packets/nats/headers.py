"""Headers of NATS messages: the status line and the few that JetStream acts on. Names count as they are written."""

from __future__ import annotations

import re

_STATUS = re.compile(rb"NATS/1\.0[ \t]+(\d{3})(?:[ \t]+([^\r\n]{0,256}))?")
_HEADER = re.compile(rb"\r\n(Nats-[A-Za-z-]{1,40}):[ \t]*([^\r\n]{0,4096})")


def status(headers: bytes) -> tuple[int, bytes]:
    """Code and description of a message that is only a status; (0, b"") for any other."""
    match = _STATUS.match(headers)
    return (int(match[1]), (match[2] or b"").strip()) if match else (0, b"")


def nats_headers(headers: bytes) -> dict[bytes, bytes]:
    """All headers named `Nats-…`, the first of each name."""
    header_fields: dict[bytes, bytes] = {}
    for name, value in _HEADER.findall(headers):
        header_fields.setdefault(name, value.strip())
    return header_fields


def number(value: bytes | None) -> int | None:
    """A header's value as a number, or None."""
    return int(value) if value is not None and value.isdigit() and len(value) <= 19 else None
