"""Runs of hits: rows that hold many hits in the order of their keys.

Where nearly every line names a subject of its own, a row for each would take longer than to scan the lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from jsdoctor.model.log_scan import Part, Row
from jsdoctor.parse.logs.scan.rows import HIT, HitRow, read

_RUN_BYTES = 32 << 10
"""A run ends behind the hit that exceeds so many bytes: of each run of a log one is in memory while they are merged."""


class Hit(msgspec.Struct, array_like=True, gc=False):
    """A `HitRow` with its place in a run: signature and subject, and the time of its first line."""

    key: str
    at_us: int
    row: msgspec.Raw


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Hit])


def hit(key: str, row: HitRow) -> Hit:
    """A row on its way into a run."""
    first_us = row.minutes[0].first_us if row.minutes else 0
    return Hit(key, first_us, msgspec.Raw(_encoder.encode(row)))


def runs_of(part: Part, hits: Iterable[Hit]) -> Iterator[Row]:
    """The hits of a part as rows. The key and the time of a row are those of its first hit."""
    run: list[Hit] = []
    size = 0
    for packed in sorted(hits, key=lambda hit: (hit.key, hit.at_us, bytes(hit.row))):
        run.append(packed)
        size += len(bytes(packed.row))
        if size > _RUN_BYTES:
            yield _run(part, run)
            run, size = [], 0
    if run:
        yield _run(part, run)


def _run(part: Part, run: list[Hit]) -> Row:
    return Row(part.series, HIT, run[0].key, run[0].at_us, part.start, _encoder.encode(run))


def hits_of(run: Row) -> list[Hit]:
    """The hits of a row."""
    return _decoder.decode(run.value)


def renamed(run: Row, file: str) -> bytes:
    """The content of a run as if the file had this name."""
    hits = [hit(packed.key, msgspec.structs.replace(read(HitRow, packed.row), file=file)) for packed in hits_of(run)]
    return _encoder.encode(hits)
