"""What runs on the executors, whatever carries the rows: scanning the parts of a bin. Files of events are rows, too.

Executors need pyarrow for files of events only, so it is not loaded here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from jsdoctor.collect.logs.part import scan_part, uses_native
from jsdoctor.collect.logs.spark.progress_file import ProgressFile
from jsdoctor.model.log_scan import Part, Row, ScanSettings
from jsdoctor.parse.logs.aggregate.aggregated import packed
from jsdoctor.parse.logs.aggregate.aggregation import aggregate

if TYPE_CHECKING:
    from jsdoctor.collect.logs.event_files import EventStaging

_EVENTS = "\0events"
"""The series of rows that name files of events. No log has such a name."""


class BinScan:
    """Scans bins by their numbers. Bins are kept encoded: a task decodes its own only."""

    def __init__(
        self,
        settings: ScanSettings,
        bins: Sequence[Sequence[Part]],
        tally: ProgressFile | None = None,
        events: EventStaging | None = None,
    ) -> None:
        self._settings = msgspec.msgpack.encode(settings)
        self._bins = [msgspec.msgpack.encode(parts) for parts in bins]
        self._tally = tally
        self._events = events

    def rows(self, numbers: Iterable[int]) -> Iterator[Row]:
        """Rows of all bins of these numbers."""
        settings = msgspec.msgpack.decode(self._settings, type=ScanSettings)
        for number in numbers:
            yield from self._scan(settings, msgspec.msgpack.decode(self._bins[number], type=list[Part]))

    def _scan(self, settings: ScanSettings, parts: Sequence[Part]) -> Iterator[Row]:
        progress = self._tally.add if self._tally else None
        if self._events is None:
            for part in parts:
                yield from scan_part(settings, part, progress=progress)
            return
        writer = self._events.writer()
        for part in parts:
            yield from scan_part(settings, part, sink=writer.add, progress=progress)
        for file in writer.close():
            yield Row(_EVENTS, "", file.path, 0, file.events, b"")


def without_event_files(rows: Iterable[Row]) -> tuple[list[Row], list[tuple[str, int]]]:
    """Rows of logs; and files of events, each with its path and number of events."""
    files: list[tuple[str, int]] = []
    others: list[Row] = []
    for row in rows:
        if row.series == _EVENTS:
            files.append((row.key, row.seq))
        else:
            others.append(row)
    return others, files


def aggregated(rows: Iterable[Row]) -> Iterator[Row]:
    """Aggregate rows that are sorted, each series in one piece. Rows that name files of events pass unchanged."""
    files: list[Row] = []

    def logs() -> Iterator[Row]:
        for row in rows:
            if row.series == _EVENTS:
                files.append(row)
            else:
                yield row

    yield from map(packed, aggregate(logs(), uses_native()))
    yield from files
