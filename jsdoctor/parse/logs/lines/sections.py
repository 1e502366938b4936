"""Lines that people and tools put between the logs of several servers in one file."""

from __future__ import annotations

import re

STARTS = (b"==> ", b"--- ", b"=== ", b"### ")
LITERALS = tuple(b"\n" + start for start in STARTS)
"""What the search looks for: a section begins a line."""

_TAIL = re.compile(rb"==> (\S.{0,300}?) <==\s*")
_RULED = re.compile(rb"([-=#])\1{2,} ?([\w./-]{1,200}?) ?(\1{3,})?\s*")
_MAX_LABEL = 253
_NO_LABEL = re.compile(r"[*?{}\"\s]")
_FILE = re.compile(r"\.(?:log|txt|out)\b")


def section_name(line: bytes) -> str | None:
    """The server or file that a header names (`==> n1.log <==`, `--- n1 ---`, `=== n1.log`), or None.

    A name between rulers on both sides counts; on one side only, it must look like a file.
    """
    if not line.startswith(STARTS):
        return None
    tail = _TAIL.fullmatch(line)
    if tail is not None:
        return _label(tail[1])
    ruled = _RULED.fullmatch(line)
    if ruled is None or (ruled[3] is None and not _FILE.search(ruled[2].decode(errors="replace"))):
        return None
    return _label(ruled[2])


def _label(raw: bytes) -> str:
    name = server_label(raw.decode(errors="replace"))
    return _FILE.split(name)[0] or name


def server_label(text: str) -> str:
    """What names a server around its lines, without quotes and docker's slash; empty for patterns and other text."""
    name = text.strip(" \"'`").removeprefix("/").removeprefix("-")
    return name if len(name) <= _MAX_LABEL and not _NO_LABEL.search(name) else ""
