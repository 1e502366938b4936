"""Scans parts of logs in several processes of this machine."""

from __future__ import annotations

import gc
import multiprocessing
import signal
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import chain

from jsdoctor.logs.aggregate.aggregated import packed
from jsdoctor.logs.aggregate.aggregation import aggregate
from jsdoctor.logs.aggregate.evidence import assemble
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.log_scan import Part, Row, ScanSettings
from jsdoctor.sources.archives.part import uses_native
from jsdoctor.sources.archives.series import Progress, RowSorter, Scan, aggregated, by_series, scan_rows

_TASK_BYTES = 4 << 20
"""Small series are sent to another process together, up to this many bytes: the call costs more than a small file."""

_Task = tuple[bool, list[Part]]
"""Whether these parts are whole series, which can be aggregated where they are scanned; and the parts."""


def run_in_processes(
    settings: ScanSettings, parts: Sequence[Part], processes: int, *, progress: Progress | None, scan: Scan
) -> LogEvidence:
    """Small series are aggregated where they are scanned, the parts of large ones here."""
    tasks = _tasks(parts, share=sum(part.weight for part in parts) // (2 * processes))
    tasks.sort(key=lambda task: (-sum(part.weight for part in task[1]), task[1][0].name, task[1][0].start))
    rows_of_series: list[Row] = []
    pool = ProcessPoolExecutor(
        min(processes, len(tasks)), mp_context=_context(), initializer=_begin, initargs=(settings, scan)
    )
    with RowSorter() as sorter:
        try:
            waiting = {pool.submit(_work, *task): task for task in tasks}
            for done in as_completed(waiting):
                whole, mine = waiting.pop(done)
                rows = done.result()
                if whole:
                    rows_of_series.extend(rows)
                else:
                    sorter.add(rows)
                if progress is not None:
                    progress(sum(part.end - part.start for part in mine))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        return assemble(settings, chain(rows_of_series, aggregate(sorter.rows(), uses_native())))


def _tasks(parts: Sequence[Part], share: int) -> list[_Task]:
    """A task has whole series of a few MB together, one larger series, or a part of one above `share` bytes."""
    tasks: list[_Task] = []
    together: list[Part] = []
    weight = 0
    for _, mine in by_series(parts):
        own = sum(part.weight for part in mine)
        if own > share:
            tasks.extend((False, [part]) for part in mine)
            continue
        if weight + own > min(share, _TASK_BYTES):
            tasks.append((True, together))
            together, weight = [], 0
        together.extend(mine)
        weight += own
    return [task for task in (*tasks, (True, together)) if task[1]]


def _context() -> multiprocessing.context.BaseContext:
    """Forking is fastest and safe while there is one thread; else processes start afresh."""
    alone = threading.active_count() == 1 and sys.platform == "linux"
    return multiprocessing.get_context("fork" if alone else "spawn")


_settings = ScanSettings()
_scan_part: Scan = scan_rows


def _begin(settings: ScanSettings, scan: Scan) -> None:
    global _settings, _scan_part  # each process of the pool gets them once
    _settings, _scan_part = settings, scan
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(200_000, 20, 20)


def _work(whole: bool, parts: list[Part]) -> list[Row]:
    if whole:
        return list(map(packed, aggregated(_settings, parts, None, _scan_part)))
    return sorted(row for part in parts for row in _scan_part(_settings, part, None))
