"""Scans log archives as one Spark job: scan bins, sort by series, aggregate. Only aggregated rows are returned."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from jsdoctor.logs.aggregate.evidence import assemble
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.log_scan import Part, ScanSettings
from jsdoctor.sources.archives.spark.session import Spark, SparkProblem
from jsdoctor.sources.archives.split import bins
from jsdoctor.sources.archives.store import is_uri

if TYPE_CHECKING:
    from jsdoctor.sources.archives.event_files import EventStore


_POLL_S = 0.25
_POLL_STOP_S = 2.0


@contextlib.contextmanager
def watched(spark: Spark, bins: int, total: int, progress: Callable[[int], None] | None) -> Iterator[None]:
    """Call `progress` with bytes that were read since its last call, while a job runs with `bins` scanning tasks."""
    if progress is None or not bins:
        yield
        return
    reporter = _TaskProgress(bins, total, progress)
    if spark.context is None:

        def handler(stages: Any, **_: Any) -> None:
            reporter.tasks_ended(
                max((stage.num_completed_tasks for stage in stages or () if stage.num_tasks == bins), default=0)
            )

        spark.session.registerProgressHandler(handler)
        try:
            yield
        finally:
            spark.session.removeProgressHandler(handler)
        return
    over = threading.Event()
    thread = threading.Thread(target=_poll, args=(spark.context.statusTracker(), bins, reporter, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(_POLL_STOP_S)


class _TaskProgress:
    """Reports tasks that have ended as bytes: each counts as an equal share of `total`."""

    def __init__(self, bins: int, total: int, progress: Callable[[int], None]) -> None:
        self.progress = progress
        self._bins = bins
        self._total = total
        self._reported = 0

    def tasks_ended(self, tasks: int) -> None:
        """Report the bytes that `tasks` ended tasks stand for and that were not reported yet."""
        done = self._total * tasks // self._bins
        if done > self._reported:
            self.progress(done - self._reported)
            self._reported = done


def _poll(tracker: Any, bins: int, reporter: _TaskProgress, over: threading.Event) -> None:
    """Report the progress of the stage with `bins` tasks until `over` is set."""
    with contextlib.suppress(Exception):  # progress is a courtesy: it must not disturb the job
        while not over.wait(_POLL_S):
            stages = map(tracker.getStageInfo, tracker.getActiveStageIds())
            reporter.tasks_ended(
                max((stage.numCompletedTasks for stage in stages if stage and stage.numTasks == bins), default=0)
            )


_BIN_BYTES = 256 * 1024 * 1024
"""Bytes of text that one task reads on a cluster. A task costs some 50 ms, so one task per file would be too slow."""

_BINS_FOR_EACH_CORE = 2
_DEFAULT_BUCKETS = 16
"""Number of aggregating tasks on a Connect server, which does not report its number of cores."""


def run_spark(
    spark: Spark,
    settings: ScanSettings,
    parts: Sequence[Part],
    progress: Callable[[int], None] | None = None,
    events: EventStore | None = None,
) -> LogEvidence:
    """Scan the parts on Spark. `progress` gets stored bytes that were read since its last call.

    The same functions as in-process produce the same evidence. Raises `SparkProblem` if the job fails; read errors are
    part of the evidence. `events` is committed only if the job succeeds.
    """
    from jsdoctor.sources.archives.spark.job import BinScan, run_job

    total = sum(part.end - part.start for part in parts)
    packed = plan_tasks(parts, spark.cores)
    buckets = min(spark.cores or _DEFAULT_BUCKETS, max(len(packed), 1))
    bin_scan = BinScan(settings, packed, events.staging if events else None)
    try:
        with watched(spark, len(packed), total, progress):
            rows, files = run_job(spark.session, bin_scan, len(packed), buckets)
    except Exception as error:  # of Spark, of py4j, of the connection when the JVM dies
        if isinstance(error.__context__, KeyboardInterrupt):  # the job was cancelled by Ctrl-C
            raise KeyboardInterrupt from error
        raise explained(_error_text(error)) from error
    evidence = assemble(settings, rows)
    if events is not None:
        from jsdoctor.sources.archives.event_files import EventFile, server_names

        try:
            events.commit(server_names(parts, evidence), [EventFile(*file) for file in files])
        except OSError as error:
            raise SparkProblem(
                f"the events that executors wrote are not to be seen from here: {error}",
                "give --events a place that this machine and all executors share",
            ) from error
    return evidence


def _absolute(part: Part) -> Part:
    """The part with an absolute path: workers have another working directory."""
    return part if is_uri(part.path) else msgspec.structs.replace(part, path=str(Path(part.path).absolute()))


def plan_tasks(parts: Sequence[Part], cores: int | None) -> list[list[Part]]:
    """The parts of each scanning task, in the order in which tasks begin. Tasks have about the same amount of text."""
    text = sum(part.weight for part in parts)
    return bins(list(map(_absolute, parts)), bin_count(cores, len(parts), text))


def bin_count(cores: int | None, parts: int, total: int) -> int:
    """How many tasks scan: two for each core, more where that would make them large, never more than parts."""
    wanted = max((cores or _DEFAULT_BUCKETS) * _BINS_FOR_EACH_CORE, -(-total // _BIN_BYTES))
    return max(1, min(wanted, parts))


def _error_text(error: Exception) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - the text of some errors comes from a JVM that may be gone
        return f"{type(error).__name__}: the connection to Spark was lost"


def explained(stated: str) -> SparkProblem:
    """The problem for an error of a Spark job, whose text is a page long with the cause in the middle."""
    if missing := re.search(r"ModuleNotFoundError: No module named '([^']+)'", stated):
        return SparkProblem(
            f"the Python of the executors has no module {missing[1]}",
            "they need msgspec, pyarrow, pandas, numpy and google-re2; name a Python that has them with"
            " --conf spark.pyspark.python=/path/to/python",
        )
    if "PYTHON_VERSION_MISMATCH" in stated:
        return SparkProblem(
            "the executors have another version of Python than this driver",
            "name one that fits with --conf spark.pyspark.python=/path/to/python",
        )
    lines = [line.strip() for line in stated.splitlines() if line.strip()]
    cause = next((line for line in reversed(lines) if re.match(r"[\w.]*(Error|Exception)\b", line)), None)
    return SparkProblem(
        f"Spark could not do it: {cause or (lines[0] if lines else 'it gives no reason')}",
        "its own log shows more; the same without Spark: --engine local",
    )
