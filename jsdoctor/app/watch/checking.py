"""One check of a watch, made in the background so that keys and screen stay alive."""

from __future__ import annotations

import dataclasses
import gc
import threading
from datetime import UTC, datetime
from typing import NamedTuple

from msgspec.structs import replace

from jsdoctor.app.collecting import collect
from jsdoctor.app.judging import Judging
from jsdoctor.app.messages import LOGGED, Messages
from jsdoctor.collect.problems import Problem
from jsdoctor.model.report import Report
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries
from jsdoctor.parse.scrubbed import scrubbed
from jsdoctor.sources.request import EvidenceRequest


class RoundResult(NamedTuple):
    """What came of a check: a report with the newest snapshot, or the problem that kept us from one.

    `failure` is an error that is none of the deployment's; it ends the watch.
    """

    report: Report | None = None
    snapshot: ClusterSnapshot | None = None
    problem: str = ""
    failure: BaseException | None = None


class BackgroundCheck:
    """Checks in a thread, one at a time."""

    def __init__(self, wanted: EvidenceRequest, judging: Judging, messages: Messages = LOGGED) -> None:
        self._wanted, self._judging, self._messages = wanted, judging, messages
        self._thread: threading.Thread | None = None
        self._result: RoundResult | None = None

    @property
    def is_running(self) -> bool:
        """Whether a check has begun and was not taken yet."""
        return self._thread is not None

    def start(self) -> None:
        """Begin a check. The thread is a daemon: leaving does not wait for a server that is silent."""
        self._result = None
        self._thread = threading.Thread(target=self._run, name="check", daemon=True)
        self._thread.start()

    def take(self) -> RoundResult | None:
        """The result, once the check is over; None before."""
        if self._thread is None or self._thread.is_alive():
            return None
        self._thread.join()
        self._thread = None
        return self._result

    def _run(self) -> None:
        try:
            self._result = check_once(self._wanted, self._judging, self._messages)
        except Exception as error:  # noqa: BLE001 - it is raised again where the watch runs
            self._result = RoundResult(failure=error)
        gc.unfreeze()
        gc.collect()  # a single run hardly ever collects (`jsdoctor.cli.app`); one that goes on for days must


def check_once(wanted: EvidenceRequest, judging: Judging, messages: Messages = LOGGED) -> RoundResult:
    """Collect and judge once."""
    request = dataclasses.replace(judging.request, started=datetime.now(UTC))
    try:
        collected = collect(wanted, replace(judging, request=request), messages)
        if collected.saw_nothing:
            problem = collected.problem
            return RoundResult(problem=problem.message if problem else "no server responded")
        report = collected.report()
    except Problem as problem:
        return RoundResult(problem=problem.message)
    series = collected.evidence.get(SnapshotSeries)
    snapshot = series.last if series is not None else None
    return RoundResult(scrubbed(report), snapshot, collected.problem.message if collected.problem else "")
