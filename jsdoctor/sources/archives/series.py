"""Scans the parts of whole series, sorts their rows in bounded memory, and aggregates them where they were scanned."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from itertools import groupby
from typing import IO, Self

from jsdoctor.logs.aggregate.aggregated import Aggregated
from jsdoctor.logs.aggregate.aggregation import aggregate
from jsdoctor.model.log_scan import Part, Row, ScanSettings
from jsdoctor.sources.archives.part import scan_part, uses_native

_IN_MEMORY_BYTES = 4 << 20
"""Maximum size in bytes of the rows that are sorted in memory; more go to temporary files in sorted runs."""

_BATCH_BYTES = 32 << 10
_ROW_BYTES = 300  # estimated size in bytes of a row without its value
GC_THRESHOLDS = (200_000, 20, 20)  # of the garbage collector during a scan, whose rows have no cycles


class RowSorter:
    """Sorts any number of rows in bounded memory."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._bytes = 0
        self._runs: list[IO[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for run in self._runs:
            run.close()

    def add(self, rows: Iterable[Row]) -> None:
        """Take rows in any order."""
        for row in rows:
            self._rows.append(row)
            self._bytes += len(row.value) + _ROW_BYTES
            if self._bytes > _IN_MEMORY_BYTES:
                self._spill()

    def _spill(self) -> None:
        import pickle

        self._rows.sort()
        run = tempfile.TemporaryFile(prefix="jsdoctor-")  # noqa: SIM115  # closed on exit
        for rows in _batches(self._rows):
            pickle.dump([tuple(row) for row in rows], run, pickle.HIGHEST_PROTOCOL)
        run.seek(0)
        self._runs.append(run)
        self._rows, self._bytes = [], 0

    def rows(self) -> Iterator[Row]:
        """All rows in order."""
        self._rows.sort()
        if not self._runs:
            return iter(self._rows)
        return merge(self._rows, *(_read_back(run) for run in self._runs))


def _batches(rows: list[Row]) -> Iterator[list[Row]]:
    """The rows in batches of some `_BATCH_BYTES`: when runs are merged, one batch of each is in memory."""
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += len(row.value) + _ROW_BYTES
        if size > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    yield batch


def _read_back(run: IO[bytes]) -> Iterator[Row]:
    import pickle

    while True:
        try:
            yield from (Row(*row) for row in pickle.load(run))  # noqa: S301  # written by this process
        except EOFError:
            return


Progress = Callable[[int], None]
Scan = Callable[[ScanSettings, Part, Progress | None], Iterator[Row]]
"""Scans one part, as `scan_part` does; goes to other processes, so it must pickle."""


def scan_rows(settings: ScanSettings, part: Part, progress: Progress | None) -> Iterator[Row]:
    """The rows of a part, without any other processing of its lines."""
    return scan_part(settings, part, progress=progress)


def by_series(parts: Sequence[Part]) -> list[tuple[str, list[Part]]]:
    """The parts of each series, in the order in which its lines were written."""
    ordered = sorted(parts, key=lambda part: (part.series, part.name, part.start))
    return [(series, list(mine)) for series, mine in groupby(ordered, key=lambda part: part.series)]


def aggregated(
    settings: ScanSettings, parts: Sequence[Part], progress: Progress | None, scan: Scan
) -> Iterator[Aggregated]:
    """The aggregated rows of whole series. An archive among the parts may hold several series."""
    with RowSorter() as sorter:
        for part in parts:
            sorter.add(scan(settings, part, progress))
        yield from aggregate(sorter.rows(), uses_native())
