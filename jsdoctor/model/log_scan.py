"""What a scan of logs is given and what it yields: settings, parts and rows."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from jsdoctor.model.rule import Signature


class ScanSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What to look for. The same for every part of one audit."""

    signatures: tuple[Signature, ...] = ()


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of one input that start in `start <= offset < end`, of the stored bytes when it is plain text.

    `path` is opened, `name` is what reports call it. `series` groups the files of one log and its rotations: all of
    them are folded together. `codec` and archives are one part each; `weight` estimates its bytes of text.
    `zone` is an IANA name, a fixed offset (`+02:00`) or empty: unknown. `server` is the name the user gave.
    `mtime_us` is when the file was last written: it gives the year to times without one. `named`: asked for by name.
    `form` is `paste` where the lines were made from a pasted or exported text.
    `lines_before` lines of the file are left out, because a time window begins later.
    `problem` tells why the input cannot be read at all; such a part yields its file row only.
    """

    path: str
    name: str
    series: str
    start: int = 0
    end: int
    size: int
    codec: str = ""
    weight: int
    mtime_us: int = 0
    zone: str = ""
    server: str = ""
    named: bool = False
    problem: str = ""
    form: str = ""
    lines_before: int = 0


class Row(NamedTuple):
    """One row between scan and fold, and between fold and assembly. Rows sort as tuples; text sorts as its UTF-8."""

    series: str
    analysis: str
    key: str
    at_us: int
    seq: int
    value: bytes


class LogEvent(NamedTuple):
    """One matched line, for those who want every event and not only what the fold makes of them.

    `server` is the best name known where the line was read: given, banner of the same part, prefix, or the series.
    """

    server: str
    at_us: int | None
    zoned: bool
    level: str
    signature: str
    fields: tuple[tuple[str, str], ...]
    file: str
    line: int
    offset: int
    text: str
