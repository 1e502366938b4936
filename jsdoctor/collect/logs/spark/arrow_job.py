"""The scan as a job on tables of Arrow: the only form that a Spark Connect server accepts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import pyarrow as pa

from jsdoctor.collect.logs.spark.tasks import BinScan, aggregated
from jsdoctor.model.log_scan import Row

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


def run_arrow_job(session: Any, scan: BinScan, bins: int, buckets: int) -> Iterator[Row]:
    """Scan `bins` bins, sort by series, and aggregate. Only aggregated rows are returned."""
    table = (
        session.range(0, bins, 1, bins or 1)
        .mapInArrow(_ScanToArrow(scan), _SCHEMA)
        .repartition(buckets, "series")
        .sortWithinPartitions(*_COLUMNS)
        .mapInArrow(_aggregate_sorted, _SCHEMA)
        .toArrow()
    )
    return _rows_of(table)


class _ScanToArrow:
    def __init__(self, scan: BinScan) -> None:
        self._scan = scan

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of all bins whose numbers are in the first column."""
        for batch in batches:
            yield from _packed(self._scan.rows(batch.column(0).to_pylist()))


def _aggregate_sorted(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from _packed(aggregated(row for batch in batches for row in _rows_of(batch)))


def _rows_of(batch: pa.RecordBatch | pa.Table) -> Iterator[Row]:
    return map(Row._make, zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _packed(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    left = iter(rows)
    while some := list(islice(left, _ROWS_IN_BATCH)):
        columns = zip(*some, strict=True)
        arrays = [pa.array(values, type=kind) for values, kind in zip(columns, _ARROW.types, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=_ARROW)
