"""Sorts the rows of a scan in bounded memory, in processes of this machine as on executors of Spark."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from heapq import merge
from typing import IO, Self

from jsdoctor.model.log_scan import Row

_IN_MEMORY_BYTES = 4 << 20
"""Maximum size in bytes of the rows that are sorted in memory; more go to temporary files in sorted runs."""

_BATCH_BYTES = 32 << 10
_ROW_BYTES = 300  # of a row beside its value, roughly


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
    """Rows that are read back together: of each run one batch is in memory."""
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
