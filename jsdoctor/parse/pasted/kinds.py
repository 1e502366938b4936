"""What a file or a pasted text is, told by its content; its name decides nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from enum import StrEnum

from jsdoctor.parse.logs.line import read_line
from jsdoctor.parse.metrics.replies import replies_in
from jsdoctor.parse.metrics.series import exposition_series, is_exposition
from jsdoctor.parse.packets.pcap import MAGICS
from jsdoctor.parse.packets.pcapng import MAGIC
from jsdoctor.parse.pasted.cli_text import cli_documents
from jsdoctor.parse.pasted.documents import Document, documents
from jsdoctor.parse.pasted.found import Found, Refused, found_in

PEEK = 256 * 1024
"""So many bytes of a file tell its kind."""

_YEAR = 2000
_ANY_TIME = datetime(_YEAR, 1, 1, tzinfo=UTC)
_LINES = 400
_MANIFEST = re.compile(
    r"^\s*(?:apiVersion:\s*\S|\"?(?:terraform_version|planned_values)\"?:?"
    r"|(?:jetstream|accounts|cluster|leafnodes|gateway|authorization|mqtt|websocket|operator|resolver)\s*[:=]?\s*\{"
    r"|(?:server_name|http_port|http|listen|port|pid_file|system_account|max_payload)\s*[:=]\s*\S)",
    re.MULTILINE,
)
_DECLARED = re.compile(r'"(?:apiVersion|planned_values|terraform_version)"\s*:')


class Kind(StrEnum):
    """Kinds of evidence that jsdoctor reads from files."""

    BUNDLE = "bundle"
    PACKETS = "packet capture"
    MANIFEST = "manifest"
    LOG = "log"
    REPLY = "reply or command output"


def of_bytes(head: bytes) -> Kind | None:
    """The kind of a binary file; None where it may be text. A packed text counts as a log."""
    if head[:4] in MAGICS or head[:4] == MAGIC:
        return Kind.PACKETS
    return None


def pasted_documents(text: str, at: datetime) -> Iterator[Document]:
    """All documents in a text: JSON and output of the `nats` command."""
    yield from documents(text)
    yield from cli_documents(text, at)


def pasted_replies(text: str, at: datetime) -> list[Found | Refused]:
    """All replies that rules can judge, and those that are known and cannot be judged. `at`: when it was written."""
    found = [found for document in pasted_documents(text, at) for found in found_in(document)]
    return [*found, *replies_in(exposition_series(text, at.timestamp()))] if is_exposition(text) else found


def of_text(text: str, known_line: Callable[[bytes], bool]) -> tuple[Kind, ...]:
    """Every kind of evidence in a text. `known_line`: whether a line has a signature of a rule."""
    kinds = []
    if pasted_replies(text, _ANY_TIME):
        kinds.append(Kind.REPLY)
    if not kinds and (_MANIFEST.search(text) or _DECLARED.search(text)) and not _is_log(text, known_line):
        return (Kind.MANIFEST,)
    if _is_log(text, known_line, dates=not kinds):
        kinds.append(Kind.LOG)
    return tuple(kinds)


def _is_log(text: str, known_line: Callable[[bytes], bool], dates: bool = True) -> bool:
    """Whether nats-server wrote a line of it, a rule knows one, or (`dates`) most lines begin with a time."""
    lines = [line for line in text.splitlines() if line.strip()]
    dated = 0
    for line in lines[:_LINES]:
        raw = line.encode(errors="replace")
        read = read_line(raw, _YEAR)
        if read.server or known_line(raw):
            return True
        dated += read.us is not None
    return dates and dated * 2 > len(lines[:_LINES]) > 0
