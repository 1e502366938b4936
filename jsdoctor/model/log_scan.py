"""Input and output of a scan of logs: settings, parts and rows."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from jsdoctor.model.rule import Signature


class ScanSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The signatures to search for. The same for every part of one audit."""

    signatures: tuple[Signature, ...] = ()


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of one input that start in `start <= offset < end`, of the stored bytes when it is plain text.

    `path` is opened, `name` is its name in reports. `series` groups the files of one log and its rotations, which are
    aggregated together. Compressed files and archives are one part each; `weight` estimates the bytes of text. `zone`
    is an IANA name, a fixed offset (`+02:00`) or empty: unknown. `server` is the name that the user gave. `mtime_us` is
    when the file was last written: it supplies the year of times without one. `named`: the user named the file. `form`
    is `paste` if the lines were made from a pasted or exported text. `lines_before` is the number of lines of the file
    that are left out because a time window begins later. `problem` is the reason why the input cannot be read at all;
    such a part yields its file row only.
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
    """One row between scan, aggregation and assembly. Rows sort as tuples; text sorts as its UTF-8."""

    series: str
    analysis: str
    key: str
    at_us: int
    seq: int
    value: bytes


class LogEvent(NamedTuple):
    """One matched line, for callers that need every event and not only the aggregates.

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
