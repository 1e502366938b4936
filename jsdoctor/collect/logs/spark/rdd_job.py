"""The scan as a job on RDDs: rows pass the JVM as opaque bytes, and no SQL is planned.

The shuffle brings the rows of a series together; they are sorted where they are aggregated, as in local processes.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec

from jsdoctor.collect.logs.sorter import RowSorter
from jsdoctor.collect.logs.spark.tasks import BinScan, aggregated
from jsdoctor.model.log_scan import Row

_ROWS_IN_CHUNK = 4096

_Chunk = tuple[int, bytes]
"""The number of the task that aggregates these rows, and the rows."""


def run_rdd_job(context: Any, scan: BinScan, bins: int, buckets: int) -> Iterator[Row]:
    """Scan `bins` bins, bring series together, sort and aggregate. Only aggregated rows are returned."""
    chunks = (
        context.parallelize(range(bins), bins or 1)
        .mapPartitions(_ScanToChunks(scan, buckets))
        .partitionBy(buckets, _number)
        .mapPartitions(_aggregate_chunks)
        .collect()
    )
    return (row for chunk in chunks for row in _rows_of(chunk))


class _ScanToChunks:
    def __init__(self, scan: BinScan, buckets: int) -> None:
        self._scan = scan
        self._buckets = buckets

    def __call__(self, numbers: Iterable[int]) -> Iterator[_Chunk]:
        waiting: dict[int, list[Row]] = defaultdict(list)
        for row in self._scan.rows(numbers):
            bucket = zlib.crc32(row.series.encode(errors="surrogateescape")) % self._buckets
            waiting[bucket].append(row)
            if len(waiting[bucket]) == _ROWS_IN_CHUNK:
                yield bucket, msgspec.msgpack.encode(waiting.pop(bucket))
        for bucket, rows in waiting.items():
            yield bucket, msgspec.msgpack.encode(rows)


def _number(bucket: int) -> int:
    return bucket


def _aggregate_chunks(chunks: Iterable[_Chunk]) -> Iterator[bytes]:
    with RowSorter() as sorter:
        for _, chunk in chunks:
            sorter.add(_rows_of(chunk))
        left = aggregated(sorter.rows())
        while some := list(islice(left, _ROWS_IN_CHUNK)):
            yield msgspec.msgpack.encode(some)


def _rows_of(chunk: bytes) -> list[Row]:
    return msgspec.msgpack.decode(chunk, type=list[Row])
