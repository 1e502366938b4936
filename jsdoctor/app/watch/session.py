"""A watch: each check in the background so that keys and screen stay alive, and its state between two checks."""

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
from jsdoctor.app.watch.request import WatchRequest
from jsdoctor.engine.activity import Activities, busiest, follow
from jsdoctor.engine.verdict import ExitCode, NagiosState
from jsdoctor.engine.watch import FindingChange, Watch, observe
from jsdoctor.model.problems import Problem
from jsdoctor.model.report import Report
from jsdoctor.model.snapshot import ClusterSnapshot, SnapshotSeries
from jsdoctor.redaction.redact import scrub_line
from jsdoctor.redaction.scrubbed import scrubbed
from jsdoctor.render.watch.notification import Notification
from jsdoctor.render.watch.view import ScreenView
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
        """Whether a check was started and its result was not taken yet."""
        return self._thread is not None

    def start(self) -> None:
        """Start a check in a daemon thread, so that the process can end while a server does not respond."""
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


_MAX_ACTIVITIES = 40


class Session:
    """The newest report, the changes since the watch began, and the rates of streams and consumers."""

    def __init__(self, request: WatchRequest, judging: Judging) -> None:
        self._request, self._judging = request, judging
        self._activities: Activities = {}
        self.watch = Watch()
        self.report: Report | None = None
        self.problem = ""
        self._is_reported = False

    def take(self, result: RoundResult) -> tuple[FindingChange, ...]:
        """Store the result of a check and return the changes. Raises its `failure`, if it has one."""
        if result.failure is not None:
            raise result.failure
        self.problem = result.problem
        self._is_reported = result.report is not None
        if result.report is None:
            return ()
        self.report = result.report
        self.watch, changes = observe(self.watch, result.report)
        if result.snapshot is not None:
            self._activities = follow(self._activities, result.snapshot)
        return changes

    @property
    def has_begun(self) -> bool:
        """Whether a check was completed, with a report or with a problem of the deployment."""
        return self.report is not None or bool(self.problem)

    @property
    def deployment(self) -> str:
        """The deployment by the addresses of its login."""
        sources = self.report.sources if self.report else ()
        return ", ".join(dict.fromkeys(source.name for source in sources if source.kind == "live"))

    def exit_code(self) -> ExitCode | NagiosState:
        """The exit code of the newest check."""
        if self.report is None or not self._is_reported:
            return ExitCode.INCONCLUSIVE
        return self._judging.exit_code(self.report)

    def view(self, next_check_s: float | None, paused: bool) -> ScreenView:
        """The current content of the screen."""
        return ScreenView(
            deployment=self.deployment,
            now=datetime.now(UTC),
            every_s=self._request.every_s,
            watch=self.watch,
            report=self.report,
            activities=scrubbed(
                tuple(activity for activity in busiest(self._activities, _MAX_ACTIVITIES) if activity.movement)
            ),
            problem=scrub_line(self.problem),
            paused=paused,
            next_check_s=next_check_s,
        )

    def notification(self, changes: tuple[FindingChange, ...]) -> Notification:
        """The notification for receivers after a check: findings at or above the severity that fails a run.

        Of what is resolved, those that were so bad at any time: receivers know of them.
        """
        least = self._judging.fail_on.rank
        return Notification(
            deployment=self.deployment,
            at=self.report.finished if self.report and self._is_reported else datetime.now(UTC),
            every_s=self._request.every_s,
            changes=tuple(change for change in changes if change.worst.rank >= least),
            open=tuple(
                (finding.result, finding.appeared)
                for finding in self.watch.open.values()
                if finding.result.severity.rank >= least
            ),
            problem="" if self._is_reported else scrub_line(self.problem),
        )
