"""Scans the logs: selects the engine, and describes it for the report."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from jsdoctor.logs.scan.native_core import have_native
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.log_scan import Part, ScanSettings
from jsdoctor.model.problems import UsageProblem
from jsdoctor.model.wording import span
from jsdoctor.render.wording import quantity
from jsdoctor.sources.archives.discover import ReadPlan
from jsdoctor.sources.archives.local import run_local
from jsdoctor.sources.archives.series import scan_rows
from jsdoctor.sources.archives.split import longest_packed, split
from jsdoctor.sources.base import Run
from jsdoctor.sources.log_engine import choose_engine

if TYPE_CHECKING:
    from jsdoctor.sources.archives.event_files import EventStore

_LONG_BYTES = 256 * 1024 * 1024
"""Amount of text in bytes from which a notice names a faster way to read it."""

_WORTH_A_PROCESS_BYTES = 32 * 1024 * 1024
_RATE_AFTER_S = 1.0
_SHOW_INTERVAL_S = 0.05
"""Minimum time between two updates of the progress; small files take less."""
_NS = 1_000_000_000


def scan_logs(settings: ScanSettings, plan: ReadPlan, run: Run) -> tuple[LogEvidence, str]:
    """The evidence, and as text how it was read and why (empty by default). Raises SparkProblem and UsageProblem."""
    parts = split(plan.files)
    text = sum(part.weight for part in parts)
    choice = choose_engine(run.reader.engine, run.reader.spark, text)
    with _event_store(run.events.directory) if run.events.directory else contextlib.nullcontext() as events:
        if text >= _LONG_BYTES and not (choice.spark or events or have_native()):
            run.notice(
                "logs are scanned in Python, which takes several times as long as the compiled scan",
                "pip install 'jsdoctor[native]' adds it; the findings are the same",
            )
        progress = LogProgress(run.show, sum(part.size for part in plan.files))
        scan = _LogScan(run, settings, parts, text, progress, events)
        evidence, how = _with_spark(scan) if choice.spark else _in_processes(scan)
        return evidence, f"{how}: {choice.why}" if choice.why else ""


class _LogScan(msgspec.Struct, frozen=True):
    """The common input of both engines. `text` is the size of all text in bytes."""

    run: Run
    settings: ScanSettings
    parts: Sequence[Part]
    text: int
    progress: LogProgress
    events: EventStore | None


def _notice_longest_file(scan: _LogScan, workers: int) -> None:
    """Print a notice if one packed file will take longer than all others."""
    packed = longest_packed(scan.parts, workers)
    if packed is not None and packed.weight >= _LONG_BYTES:
        text = quantity(packed.weight, "bytes")
        scan.run.notice(
            f"{packed.name} is packed, so it is one task and comes first: some {text} for one of {workers} cores",
            "unpacked, or packed in several files, it is read by several cores",
        )


def _in_processes(scan: _LogScan) -> tuple[LogEvidence, str]:
    processes = _process_count(scan.text, len(scan.parts))
    _notice_longest_file(scan, processes)
    scan_one = scan.events.staging.scan if scan.events else scan_rows
    evidence = run_local(scan.settings, scan.parts, processes, scan.progress, scan=scan_one)
    if scan.events is not None:
        from jsdoctor.sources.archives.event_files import server_names

        scan.events.commit(server_names(scan.parts, evidence))
    return evidence, f"read in-process ({processes} process{'es' if processes > 1 else ''})"


def _with_spark(scan: _LogScan) -> tuple[LogEvidence, str]:
    from jsdoctor.sources.archives.spark.driver import run_spark
    from jsdoctor.sources.archives.spark.session import open_spark

    spark_choice = scan.run.reader.spark
    scan.run.show("starting Spark" if spark_choice.is_local else f"reaching {spark_choice.place}")
    with open_spark(spark_choice) as spark:
        _notice_longest_file(scan, spark.cores or 1)
        evidence = run_spark(spark, scan.settings, scan.parts, scan.progress, scan.events)
        return evidence, f"read with Spark ({spark.place})"


def _event_store(place: str) -> EventStore:
    try:
        from jsdoctor.sources.archives.event_files import EventStore
    except ImportError as error:
        raise UsageProblem(
            f"--events writes Parquet with {error.name}, which is not installed", "pip install 'jsdoctor[logs]'"
        ) from error
    return EventStore(place)


def _process_count(text: int, parts: int) -> int:
    """The number of processes: one for little text, else one for each core."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 1 if text < _WORTH_A_PROCESS_BYTES else max(1, min(cores, parts))


class LogProgress:
    """Shows the progress of reading. `total` is the size of all files in bytes, as stored."""

    def __init__(self, show: Callable[[str], None], total: int) -> None:
        self._show = show
        self._total = total
        self._done = 0
        self._started = time.monotonic()
        self._next = 0.0

    def __call__(self, count: int) -> None:
        """Add `count` bytes that have been read."""
        self._done = min(self._done + count, self._total)
        now = time.monotonic()
        if now >= self._next or self._done == self._total:
            self._next = now + _SHOW_INTERVAL_S
            self._show(f"reading logs: {self.text(now - self._started)}")

    def text(self, elapsed_s: float) -> str:
        """`1.2 GiB of 4.0 GiB, 310 MiB/s, 9s left`."""
        text = f"{quantity(self._done, 'bytes')} of {quantity(self._total, 'bytes')}"
        if elapsed_s < _RATE_AFTER_S or not self._done:
            return text
        rate = self._done / elapsed_s
        left_s = round((self._total - self._done) / rate)
        return f"{text}, {quantity(rate, 'bytes_per_second')}, {span(left_s * _NS)} left"
