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
from typing import NamedTuple

from jsdoctor.logs.aggregate.aggregated import packed
from jsdoctor.logs.aggregate.aggregation import aggregate
from jsdoctor.logs.aggregate.evidence import assemble
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.log_scan import Part, Row, ScanSettings
from jsdoctor.sources.archives.part import uses_native
from jsdoctor.sources.archives.series import GC_THRESHOLDS, Progress, RowSorter, Scan, aggregated, by_series, scan_rows

_TASK_BYTES = 4 << 20
"""Maximum size in bytes of small series that one task scans together: a task costs more than a small file."""


_TASKS_EACH = 2
"""A series larger than this part of a process's share is split, so that none waits for one large series at the end."""


class _Task(NamedTuple):
    """Parts that one process scans. Those of `whole` series can be aggregated there."""

    whole: bool
    parts: list[Part]


def run_in_processes(
    settings: ScanSettings, parts: Sequence[Part], processes: int, *, progress: Progress | None, scan: Scan
) -> LogEvidence:
    """Scan in several processes, which also aggregate small series; large ones are aggregated here."""
    tasks = _plan_tasks(parts, share=sum(part.weight for part in parts) // (_TASKS_EACH * processes))
    tasks.sort(key=lambda task: (-sum(part.weight for part in task.parts), task.parts[0].name, task.parts[0].start))
    rows_of_series: list[Row] = []
    pool = ProcessPoolExecutor(
        min(processes, len(tasks)), mp_context=_process_context(), initializer=_init_worker, initargs=(settings, scan)
    )
    with RowSorter() as sorter:
        try:
            waiting = {pool.submit(_run_task, *task): task for task in tasks}
            for done in as_completed(waiting):
                task = waiting.pop(done)
                rows = done.result()
                if task.whole:
                    rows_of_series.extend(rows)
                else:
                    sorter.add(rows)
                if progress is not None:
                    progress(sum(part.end - part.start for part in task.parts))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        return assemble(settings, chain(rows_of_series, aggregate(sorter.rows(), uses_native())))


def _plan_tasks(parts: Sequence[Part], share: int) -> list[_Task]:
    """A task has whole series of a few MB together, one larger series, or a part of one above `share` bytes."""
    tasks: list[_Task] = []
    together: list[Part] = []
    weight = 0
    for _, parts_of_series in by_series(parts):
        own = sum(part.weight for part in parts_of_series)
        if own > share:
            tasks.extend(_Task(False, [part]) for part in parts_of_series)
            continue
        if weight + own > min(share, _TASK_BYTES):
            tasks.append(_Task(True, together))
            together, weight = [], 0
        together.extend(parts_of_series)
        weight += own
    return [task for task in (*tasks, _Task(True, together)) if task.parts]


def _process_context() -> multiprocessing.context.BaseContext:
    """Fork on Linux while there is one thread: that is fastest, and then safe. Otherwise processes are spawned."""
    can_fork = threading.active_count() == 1 and sys.platform == "linux"
    return multiprocessing.get_context("fork" if can_fork else "spawn")


_settings = ScanSettings()
_scan_part: Scan = scan_rows


def _init_worker(settings: ScanSettings, scan: Scan) -> None:
    """Prepare a process of the pool: Ctrl-C is left to the main process."""
    global _settings, _scan_part  # each process of the pool gets them once
    _settings, _scan_part = settings, scan
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(*GC_THRESHOLDS)


def _run_task(whole: bool, parts: list[Part]) -> list[Row]:
    """The aggregated rows of whole series, or the sorted rows of other parts."""
    if whole:
        return list(map(packed, aggregated(_settings, parts, None, _scan_part)))
    return sorted(row for part in parts for row in _scan_part(_settings, part, None))
