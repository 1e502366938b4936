"""The kind of a file or a pasted text, by its content; its name decides nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice

from jsdoctor.logs.lines.line import read_line
from jsdoctor.logs.lines.stamp import ANY_YEAR
from jsdoctor.metrics.replies import replies_in
from jsdoctor.metrics.series import exposition_series, is_exposition
from jsdoctor.packets.capture_file import MAGIC, MAGICS
from jsdoctor.pasted.cli_tables import replies_of_tables
from jsdoctor.pasted.cli_text import cli_documents
from jsdoctor.pasted.documents import MAX, documents
from jsdoctor.pasted.found import RecognisedDocument, Refused, found_in
from jsdoctor.pasted.kubernetes_pods import pods_of_document, pods_of_yaml
from jsdoctor.pasted.server_pages import server_pages
from jsdoctor.pasted.tables import boxed_tables, spaced_tables, without_tables
from jsdoctor.pasted.verdicts import (
    kubernetes_descriptions,
    kubernetes_tables,
    shows_stacks,
    unjudged_document,
    unjudged_text,
    verdicts_in,
)

PEEK = 256 * 1024
"""Number of bytes from which the kind of a file is recognised."""

_ANY_TIME = datetime(ANY_YEAR.year, 1, 1, tzinfo=UTC)
_MAX_READ_LINES = 400
IsLog = Callable[[str], bool]
_MANIFEST = re.compile(
    r"^[^\S\n]*+(?:apiVersion:\s*\S|\"?(?:terraform_version|planned_values)\"?:?"
    r"|(?:jetstream|accounts|cluster|leafnodes|gateway|authorization|mqtt|websocket|operator|resolver)\s*+(?:[:=]\s*+)?\{"
    r"|(?:file|mem)Storage:[^\S\n]*+$"
    r"|config:[^\S\n]*+\n(?:[^\S\n]*+#[^\n]*+\n)*+[^\S\n]++(?:cluster|jetstream|nats|merge|monitor|leafnodes|resolver):"
    r"|(?:server_name|http_port|http|listen|port|pid_file|system_account|max_payload)\s*[:=]\s*\S)",
    re.MULTILINE,
)
_DECLARED = re.compile(r'"(?:apiVersion|planned_values|terraform_version)"\s*:')


class FileKind(StrEnum):
    """Kinds of evidence that jsdoctor reads from files."""

    BUNDLE = "bundle"
    PACKETS = "packet capture"
    MANIFEST = "manifest"
    LOG = "log"
    REPLY = "reply or command output"


def of_bytes(head: bytes) -> FileKind | None:
    """PACKETS for a packet capture, else None: other formats are recognised by their text."""
    if head[:4] in MAGICS or head[:4] == MAGIC:
        return FileKind.PACKETS
    return None


def pasted_replies(text: str, at: datetime) -> list[RecognisedDocument | Refused]:
    """All replies that rules can judge, and those that are known and cannot be judged. `at`: when it was written."""
    result: list[RecognisedDocument | Refused] = []
    replies = list(documents(text))
    for document in (*replies, *cli_documents(text, at)):
        known = list(found_in(document))
        if not known and (pods := pods_of_document(document.value, at)):
            known.append(pods)
        if not known and not document.open and isinstance(document.value, dict):
            known.extend(unjudged_document(document.value))
        result.extend(known)
    if any(reply.open for reply in replies) and result and not any(isinstance(item, Refused) for item in result):
        result.append(Refused("the end of a reply", "the text is cut short in it, and what follows is not seen"))
    lines = text[:MAX].splitlines()
    result.extend(replies_of_tables(boxed_tables(lines), text))
    result.extend(server_pages(text[:MAX]))
    result.extend(verdicts_in(text[:MAX]))
    result.extend(unjudged_text(text[:MAX]))
    result.extend(kubernetes_descriptions(text[:MAX]))
    result.extend(pods_of_yaml(text[:MAX], at))
    result.extend(kubernetes_tables(spaced_tables(lines), at))
    return [*result, *replies_in(exposition_series(text, at.timestamp()))] if is_exposition(text) else result


def of_text(text: str, is_log: IsLog) -> tuple[FileKind, ...]:
    """Every kind of evidence in a text. `is_log`: whether a server wrote a line of it, or a rule knows one."""
    kinds = []
    if pasted_replies(text, _ANY_TIME):
        kinds.append(FileKind.REPLY)
    if not kinds and (_MANIFEST.search(text) or _DECLARED.search(text)) and not _is_log(text, is_log):
        return (FileKind.MANIFEST,)
    if kinds and shows_stacks(text):
        return tuple(kinds)  # the names of functions of a server are no log
    outside_tables = without_tables(text) if kinds else text  # errors in the cells of a report are no log
    if _is_log(outside_tables, is_log, dates=not kinds):
        kinds.append(FileKind.LOG)
    return tuple(kinds)


_MAX_LINES_WITH_BLANKS = 4 * _MAX_READ_LINES
"""Of so many lines those that are not empty are read: logs in a paste have blank lines between theirs."""


def _is_log(text: str, has_known_line: IsLog, dates: bool = True) -> bool:
    """Whether it is a log: a rule knows a line of it, or a server wrote one of its first lines.

    With `dates` also if most of its first lines begin with a time.
    """
    lines = [line for line in islice(text.splitlines(), _MAX_LINES_WITH_BLANKS) if line.strip()][:_MAX_READ_LINES]
    read = [read_line(line.encode(errors="replace"), ANY_YEAR) for line in lines]
    if any(line.server for line in read) or has_known_line(text):
        return True
    return dates and sum(line.us is not None for line in read) * 2 > len(lines) > 0
