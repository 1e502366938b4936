"""Distinguishes logs as servers wrote them from pasted or exported texts, by their first bytes."""

from __future__ import annotations

import re
from itertools import pairwise

REWRITTEN_BYTES = 32 << 20
"""A larger file is read as it is: nobody pastes so much, and it is held in memory as a whole."""

HEAD_BYTES = 16 << 10
"""This much of a file decides whether it is an ordinary log."""

_ORDINARY = re.compile(rb"^(?:\[\d{1,10}\] )?(\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{6}) \[", re.MULTILINE)
_MAX_LINES = 0.9
_DRESSED = (b"\xe2\x80\x98", b"\xe2\x80\x99", b"\xe2\x80\x9c", b"\xc2\xa0", b"&gt;", b"&quot;", b"&#", b" <-")
"""Typographic quotes, HTML and notes: no server writes these (traces have `<<-`)."""


def is_ordinary(head: bytes) -> bool:
    """Whether these first bytes are of a server's log as it was written: most lines have its header, oldest first."""
    stamps: list[bytes] = _ORDINARY.findall(head)
    lines = sum(map(bool, map(bytes.strip, head.split(b"\n"))))
    if len(stamps) < _MAX_LINES * lines or not stamps or any(sign in head for sign in _DRESSED):
        return False
    return stamps[0] <= stamps[-1] or sum(a > b for a, b in pairwise(stamps)) * 2 < len(stamps)
