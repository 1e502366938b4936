"""Scans the parts of whole series, and aggregates their rows where they were scanned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from jsdoctor.collect.logs.part import scan_part, uses_native
from jsdoctor.collect.logs.sorter import RowSorter
from jsdoctor.model.log_scan import Part, Row, ScanSettings
from jsdoctor.parse.logs.aggregate.aggregated import Aggregated
from jsdoctor.parse.logs.aggregate.aggregation import aggregate

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
    """Whole series, scanned and aggregated. An archive among them may hold several."""
    with RowSorter() as sorter:
        for part in parts:
            sorter.add(scan(settings, part, progress))
        yield from aggregate(sorter.rows(), uses_native())
