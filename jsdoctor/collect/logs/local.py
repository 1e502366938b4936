"""Runs an audit of logs in processes of this machine."""

from __future__ import annotations

import gc
import multiprocessing
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from itertools import chain, groupby

from jsdoctor.collect.logs.part import scan_part
from jsdoctor.collect.logs.sorter import RowSorter
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.log_scan import Part, Row, ScanSettings
from jsdoctor.parse.logs.evidence import assemble
from jsdoctor.parse.logs.fold import fold

Progress = Callable[[int], None]
Scan = Callable[[ScanSettings, Part, Progress | None], Iterator[Row]]
"""Scans one part, as `scan_part` does; goes to other processes, so it must pickle."""

_TASK_BYTES = 4 << 20
"""Small series are sent to another process together, up to this many bytes: the call costs more than a small file."""

_Task = tuple[bool, list[Part]]
"""Whether these parts are whole series, which can be aggregated where they are scanned; and the parts."""


def scan_rows(settings: ScanSettings, part: Part, progress: Progress | None) -> Iterator[Row]:
    """The rows of a part, without any other processing of its lines."""
    return scan_part(settings, part, progress=progress)


def run_local(
    settings: ScanSettings,
    parts: Sequence[Part],
    processes: int = 1,
    progress: Progress | None = None,
    scan: Scan = scan_rows,
) -> LogEvidence:
    """Scan, aggregate and assemble here. `progress` gets the stored bytes done since its last call."""
    with _rare_collection():
        if processes > 1 and len(parts) > 1:
            return _in_processes(settings, parts, processes, progress=progress, scan=scan)
        folded = (row for _, mine in _by_series(parts) for row in _folded(settings, mine, progress, scan))
        return assemble(settings, folded)


@contextmanager
def _rare_collection() -> Iterator[None]:
    """Run the garbage collector rarely: rows have no cycles, and its usual interval costs a fifth of the time."""
    usual = gc.get_threshold()
    gc.set_threshold(200_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _by_series(parts: Sequence[Part]) -> list[tuple[str, list[Part]]]:
    ordered = sorted(parts, key=lambda part: (part.series, part.name, part.start))
    return [(series, list(mine)) for series, mine in groupby(ordered, key=lambda part: part.series)]


def _folded(settings: ScanSettings, parts: Sequence[Part], progress: Progress | None, scan: Scan) -> Iterator[Row]:
    """Whole series, scanned and aggregated. An archive among them may hold several."""
    with RowSorter() as sorter:
        for part in parts:
            sorter.add(scan(settings, part, progress))
        yield from fold(sorter.rows())


def _in_processes(
    settings: ScanSettings, parts: Sequence[Part], processes: int, *, progress: Progress | None, scan: Scan
) -> LogEvidence:
    """Small series are aggregated where they are scanned, the parts of large ones here."""
    tasks = _tasks(parts, share=sum(part.weight for part in parts) // (2 * processes))
    tasks.sort(key=lambda task: (-sum(part.weight for part in task[1]), task[1][0].name, task[1][0].start))
    folded: list[Row] = []
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
                    folded.extend(rows)
                else:
                    sorter.add(rows)
                if progress is not None:
                    progress(sum(part.end - part.start for part in mine))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        return assemble(settings, chain(folded, fold(sorter.rows())))


def _tasks(parts: Sequence[Part], share: int) -> list[_Task]:
    """A task has whole series of a few MB together, one larger series, or a part of one above `share` bytes."""
    tasks: list[_Task] = []
    together: list[Part] = []
    weight = 0
    for _, mine in _by_series(parts):
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
        return list(_folded(_settings, parts, None, _scan_part))
    return sorted(row for part in parts for row in _scan_part(_settings, part, None))
