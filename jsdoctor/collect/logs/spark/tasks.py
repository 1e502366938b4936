"""What runs on the executors: scanning a bin of parts, and folding sorted rows. Both take and give Arrow batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import msgspec
import pyarrow as pa

from jsdoctor.collect.logs.event_files import EventFile, EventStaging
from jsdoctor.collect.logs.local import Scan, scan_rows
from jsdoctor.collect.logs.part import scan_part
from jsdoctor.collect.logs.spark.progress_file import ProgressFile
from jsdoctor.model.log_scan import Part, Row, ScanSettings
from jsdoctor.parse.logs.fold import fold

COLUMNS = Row._fields
SCHEMA = "series string, analysis string, key string, at_us long, seq long, value binary"
_ARROW = pa.schema(
    [
        *((name, pa.string()) for name in ("series", "analysis", "key")),
        *((name, pa.int64()) for name in ("at_us", "seq")),
        ("value", pa.binary()),
    ]
)
_ROWS_IN_BATCH = 4096


_EVENTS = "\0events"
"""The series of rows that name files of events. No log has such a name."""


class ScanBins:
    """Maps numbers of bins to the rows of their parts. Bins are kept encoded: a task decodes its own only."""

    def __init__(
        self,
        settings: ScanSettings,
        bins: Sequence[Sequence[Part]],
        tally: ProgressFile | None = None,
        events: EventStaging | None = None,
        scan: Scan = scan_rows,
    ) -> None:
        self._settings = msgspec.msgpack.encode(settings)
        self._bins = [msgspec.msgpack.encode(parts) for parts in bins]
        self._tally = tally
        self._events = events
        self._scan_part = scan

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of all bins whose numbers are in the first column."""
        settings = msgspec.msgpack.decode(self._settings, type=ScanSettings)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                parts = msgspec.msgpack.decode(self._bins[number], type=list[Part])
                yield from _packed(self._scan(settings, parts))

    def _scan(self, settings: ScanSettings, parts: Sequence[Part]) -> Iterator[Row]:
        progress = self._tally.add if self._tally else None
        if self._events is None:
            for part in parts:
                yield from self._scan_part(settings, part, progress)
            return
        writer = self._events.writer()
        for part in parts:
            yield from scan_part(settings, part, sink=writer.add, progress=progress)
        for file in writer.close():
            yield Row(_EVENTS, "", file.path, 0, file.events, b"")


def event_files(rows: Iterable[Row]) -> tuple[list[EventFile], list[Row]]:
    """Files of events, and all other rows."""
    files: list[EventFile] = []
    others: list[Row] = []
    for row in rows:
        if row.series == _EVENTS:
            files.append(EventFile(row.key, row.seq))
        else:
            others.append(row)
    return files, others


def fold_sorted(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Fold rows that come sorted, each series in one piece. What names files of events passes as it is."""
    files: list[Row] = []

    def logs() -> Iterator[Row]:
        for batch in batches:
            for row in rows_of(batch):
                if row.series == _EVENTS:
                    files.append(row)
                else:
                    yield row

    yield from _packed(fold(logs()))
    yield from _packed(files)


def rows_of(batch: pa.RecordBatch | pa.Table) -> Iterator[Row]:
    """The rows of a batch or table."""
    return map(Row._make, zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _packed(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    left = iter(rows)
    while some := list(islice(left, _ROWS_IN_BATCH)):
        columns = zip(*some, strict=True)
        arrays = [pa.array(values, type=kind) for values, kind in zip(columns, _ARROW.types, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=_ARROW)
