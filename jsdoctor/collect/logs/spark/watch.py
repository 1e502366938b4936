"""Progress of a Spark job: each scanning task that has ended counts for its share of the bytes."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from jsdoctor.collect.logs.spark.session import Spark

_EVERY_S = 0.25


@contextlib.contextmanager
def watched(spark: Spark, bins: int, total: int, progress: Callable[[int], None] | None) -> Iterator[None]:
    """Call `progress` with bytes that were read since its last call, while a job runs with `bins` scanning tasks."""
    if progress is None or not bins:
        yield
        return
    share = _Share(bins, total, progress)
    if spark.context is None:

        def handler(stages: Any, **_: Any) -> None:
            share.ended(
                max((stage.num_completed_tasks for stage in stages or () if stage.num_tasks == bins), default=0)
            )

        spark.session.registerProgressHandler(handler)
        try:
            yield
        finally:
            spark.session.removeProgressHandler(handler)
        return
    over = threading.Event()
    thread = threading.Thread(target=_poll, args=(spark.context.statusTracker(), bins, share, over), daemon=True)
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


def _poll(tracker: Any, bins: int, share: _Share, over: threading.Event) -> None:
    with contextlib.suppress(Exception):  # progress is a courtesy: it must not disturb the job
        while not over.wait(_EVERY_S):
            stages = map(tracker.getStageInfo, tracker.getActiveStageIds())
            share.ended(
                max((stage.numCompletedTasks for stage in stages if stage and stage.numTasks == bins), default=0)
            )
