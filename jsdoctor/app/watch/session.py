"""The state of a watch between two checks, and the parts of it that the screen shows."""

from __future__ import annotations

from datetime import UTC, datetime

from jsdoctor.app.judging import Judging
from jsdoctor.app.watch.checking import RoundResult
from jsdoctor.app.watch.request import WatchRequest
from jsdoctor.engine.activity import Activities, busiest, follow
from jsdoctor.engine.verdict import ExitCode, NagiosState
from jsdoctor.engine.watch import FindingChange, Watch, observe
from jsdoctor.model.report import Report
from jsdoctor.parse.redact import scrub_line
from jsdoctor.parse.scrubbed import scrubbed
from jsdoctor.render.watch.notification import Notification
from jsdoctor.render.watch.view import ScreenView

_MOVING_SHOWN = 40


class Session:
    """The newest report, the changes since the watch began, and the rates of streams and consumers."""

    def __init__(self, request: WatchRequest, judging: Judging) -> None:
        self._request, self._judging = request, judging
        self._activities: Activities = {}
        self.watch = Watch()
        self.report: Report | None = None
        self.problem = ""

    def take(self, result: RoundResult) -> tuple[FindingChange, ...]:
        """Store a check and return the changes. Raises its error, unless that was a problem of the deployment."""
        if result.failure is not None:
            raise result.failure
        self.problem = result.problem
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
        """That of the newest check."""
        if self.report is None or self.problem:
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
                tuple(activity for activity in busiest(self._activities, _MOVING_SHOWN) if activity.movement)
            ),
            problem=scrub_line(self.problem),
            paused=paused,
            next_check_s=next_check_s,
        )

    def notification(self, changes: tuple[FindingChange, ...]) -> Notification:
        """The notification for receivers after a check: findings at or above the severity that fails a run."""
        least = self._judging.fail_on.rank
        return Notification(
            deployment=self.deployment,
            at=self.report.finished if self.report else datetime.now(UTC),
            every_s=self._request.every_s,
            changes=tuple(change for change in changes if change.result.severity.rank >= least),
            open=tuple(
                (finding.result, finding.appeared)
                for finding in self.watch.open.values()
                if finding.result.severity.rank >= least
            ),
        )
