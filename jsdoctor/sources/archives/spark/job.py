"""The job: executors scan bins, rows are sorted by series and aggregated; it runs on any Spark, Connect included.

Rows travel as tables of Arrow. Files of events are rows, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from jsdoctor.logs.aggregate.aggregated import packed
from jsdoctor.logs.aggregate.aggregation import aggregate
from jsdoctor.model.log_scan import Part, Row, ScanSettings
from jsdoctor.sources.archives.part import scan_part, uses_native

if TYPE_CHECKING:
    from jsdoctor.sources.archives.event_files import EventStaging

_EVENTS = "\0events"
"""The series of rows that name files of events. No log has such a name."""

_COLUMNS = Row._fields
_SCHEMA = "series string, analysis string, key string, at_us long, seq long, value binary"
_ARROW = pa.schema(
    [
        *((name, pa.string()) for name in ("series", "analysis", "key")),
        *((name, pa.int64()) for name in ("at_us", "seq")),
        ("value", pa.binary()),
    ]
)
_ROWS_IN_BATCH = 4096


class BinScan:
    """Scans bins by their numbers. Bins are kept encoded: a task decodes its own only."""

    def __init__(
        self, settings: ScanSettings, bins: Sequence[Sequence[Part]], events: EventStaging | None = None
    ) -> None:
        self._settings = msgspec.msgpack.encode(settings)
        self._bins = [msgspec.msgpack.encode(parts) for parts in bins]
        self._events = events

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of all bins whose numbers are in the first column."""
        settings = msgspec.msgpack.decode(self._settings, type=ScanSettings)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _to_arrow(self._scan(settings, msgspec.msgpack.decode(self._bins[number], type=list[Part])))

    def _scan(self, settings: ScanSettings, parts: Sequence[Part]) -> Iterator[Row]:
        if self._events is None:
            for part in parts:
                yield from scan_part(settings, part)
            return
        writer = self._events.writer()
        for part in parts:
            yield from scan_part(settings, part, sink=writer.add)
        for file in writer.close():
            yield Row(_EVENTS, "", file.path, 0, file.events, b"")


def run_job(session: Any, scan: BinScan, bins: int, buckets: int) -> tuple[list[Row], list[tuple[str, int]]]:
    """Scan `bins` bins, sort by series, and aggregate in `buckets` tasks.

    Returns the aggregated rows, and the path and number of events of each event file.
    """
    table = (
        session.range(0, bins, 1, bins or 1)
        .mapInArrow(scan, _SCHEMA)
        .repartition(buckets, "series")
        .sortWithinPartitions(*_COLUMNS)
        .mapInArrow(_aggregated, _SCHEMA)
        .toArrow()
    )
    rows = list(_rows_of(table))
    return [row for row in rows if row.series != _EVENTS], [(row.key, row.seq) for row in rows if row.series == _EVENTS]


def _aggregated(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Aggregate the rows of logs; rows that name event files are passed on at the end."""
    files: list[Row] = []

    def logs() -> Iterator[Row]:
        for batch in batches:
            for row in _rows_of(batch):
                if row.series == _EVENTS:
                    files.append(row)
                else:
                    yield row

    yield from _to_arrow(map(packed, aggregate(logs(), uses_native())))
    yield from _to_arrow(files)


def _rows_of(batch: pa.RecordBatch | pa.Table) -> Iterator[Row]:
    return map(Row._make, zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _to_arrow(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    rest = iter(rows)
    while chunk := list(islice(rest, _ROWS_IN_BATCH)):
        columns = zip(*chunk, strict=True)
        arrays = [pa.array(values, type=kind) for values, kind in zip(columns, _ARROW.types, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=_ARROW)
