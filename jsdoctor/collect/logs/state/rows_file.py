"""Rows of one range in a file of a state directory: written whole, read whole, and known to be intact."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from jsdoctor.model.log_line import DATED_US
from jsdoctor.model.log_scan import Part, Row
from jsdoctor.parse.logs.scan.hit_runs import renamed
from jsdoctor.parse.logs.scan.rows import HIT, PART, PartRow, read

_DIGEST_BYTES = 16
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Row])


def write_rows(path: Path, rows: list[Row]) -> None:
    """Write a file of rows. It appears whole or not at all, also where several processes write the same one."""
    content = _encoder.encode(rows)
    aside = path.with_name(f"{path.name}.{os.getpid()}.new")
    aside.write_bytes(_digest(content) + content)
    aside.replace(path)


def read_rows(path: Path) -> list[Row] | None:
    """The rows of a file; None where it is missing or damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    content, digest = content[_DIGEST_BYTES:], content[:_DIGEST_BYTES]
    return _decoder.decode(content) if _digest(content) == digest else None


def part_rows(rows: Iterable[Row]) -> list[PartRow]:
    """What became of the parts among these rows; an archive has several."""
    return [read(PartRow, row.value) for row in rows if row.analysis == PART]


def is_dated(part: PartRow) -> bool:
    """Whether no line has a time without a date: days are counted from the beginning of what is scanned at once."""
    spans = [span for span in (part.native, part.local, part.utc) if span is not None]
    return all(first >= DATED_US for first, _ in spans)


def of_part(rows: Iterable[Row], part: Part, before: str) -> list[Row]:
    """Rows of a plain file as a scan of this part would give them now; `before` is the name of the file back then."""
    return [_of_part(row, part, before) for row in rows]


def _of_part(row: Row, part: Part, before: str) -> Row:
    value = row.value
    if row.analysis == PART:
        value = _encoder.encode(msgspec.structs.replace(read(PartRow, value), part=part))
    elif row.analysis == HIT and part.name != before:
        value = renamed(row, part.name)
    key = row.key if row.analysis == HIT else part.name
    return Row(part.series, row.analysis, key, row.at_us, row.seq, value)


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()
