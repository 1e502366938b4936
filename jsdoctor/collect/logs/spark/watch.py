"""Progress of a Spark job, from the available source: a tally, the status tracker, or the Connect server."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from jsdoctor.collect.logs.spark.progress_file import ProgressFile
from jsdoctor.collect.logs.spark.session import Spark

_EVERY_S = 0.25
_GROUP = "jsdoctor-scan"


@contextlib.contextmanager
def watched(
    spark: Spark, tally: ProgressFile | None, bins: int, total: int, progress: Callable[[int], None] | None
) -> Iterator[None]:
    """Call `progress` with bytes that were read since its last call, while a job runs that has `bins` scanning tasks.

    Without a tally each task that has ended counts for its share of `total`.
    """
    if progress is None or not bins:
        yield
        return
    if spark.remote is not None and tally is None:
        share = _Share(bins, total, progress)

        def handler(stages: Any, **_: Any) -> None:
            share.ended(
                max((stage.num_completed_tasks for stage in stages or () if stage.num_tasks == bins), default=0)
            )

        spark.remote.registerProgressHandler(handler)
        try:
            yield
        finally:
            spark.remote.removeProgressHandler(handler)
        return
    over = threading.Event()
    thread = threading.Thread(target=_poll, args=(spark, tally, _Share(bins, total, progress), over), daemon=True)
    if tally is None:
        spark.context.setJobGroup(_GROUP, "jsdoctor: scan of logs")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(_EVERY_S * 8)


class _Share:
    """Turns tasks that have ended into bytes."""

    def __init__(self, bins: int, total: int, progress: Callable[[int], None]) -> None:
        self.progress = progress
        self._bins = bins
        self._total = total
        self._told = 0

    def ended(self, tasks: int) -> None:
        """`tasks` scanning tasks have ended."""
        done = self._total * tasks // self._bins
        if done > self._told:
            self.progress(done - self._told)
            self._told = done


def _poll(spark: Spark, tally: ProgressFile | None, share: _Share, over: threading.Event) -> None:
    with contextlib.suppress(Exception):  # progress is a courtesy: it must not disturb the job
        while not over.wait(_EVERY_S):
            if tally is not None:
                if new := tally.new():
                    share.progress(new)
            else:
                share.ended(_ended(spark))


def _ended(spark: Spark) -> int:
    """Ended tasks of the first stage, which is the scan."""
    tracker = spark.context.statusTracker()
    stages = [stage for job in tracker.getJobIdsForGroup(_GROUP) for stage in tracker.getJobInfo(job).stageIds]
    info = tracker.getStageInfo(min(stages)) if stages else None
    return info.numCompletedTasks if info else 0
