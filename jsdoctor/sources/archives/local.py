"""Runs an audit of logs on this machine."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from jsdoctor.logs.aggregate.evidence import assemble
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.log_scan import Part, ScanSettings
from jsdoctor.sources.archives.series import GC_THRESHOLDS, Progress, Scan, aggregated, by_series, scan_rows


def run_local(
    settings: ScanSettings,
    parts: Sequence[Part],
    processes: int = 1,
    progress: Progress | None = None,
    scan: Scan = scan_rows,
) -> LogEvidence:
    """Scan, aggregate and assemble here. `progress` gets the stored bytes done since its last call."""
    with _garbage_collected_rarely():
        if processes > 1 and len(parts) > 1:
            from jsdoctor.sources.archives.processes import run_in_processes

            return run_in_processes(settings, parts, processes, progress=progress, scan=scan)
        rows = (row for _, mine in by_series(parts) for row in aggregated(settings, mine, progress, scan))
        return assemble(settings, rows)


@contextmanager
def _garbage_collected_rarely() -> Iterator[None]:
    """Run the garbage collector rarely: rows have no cycles, and its usual interval costs a fifth of the time.

    At the end, all objects are excluded from later collections: the evidence is needed to the end of a run.
    """
    usual = gc.get_threshold()
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        yield
        gc.freeze()
    finally:
        gc.set_threshold(*usual)
