"""All that the screen of a watch shows at one moment."""

from __future__ import annotations

from datetime import datetime

import msgspec

from jsdoctor.engine.activity import AssetActivity
from jsdoctor.engine.watch import Watch
from jsdoctor.model.report import Incident, Report
from jsdoctor.render.incidents import summary


class ScreenView(msgspec.Struct, frozen=True, kw_only=True):
    """The newest report and what is remembered.

    `report` is None before the first check ends, `problem` says why the last check came to none. `selected` counts
    incidents from 0. `text` is shown in place of the lists, from line `offset` on. `next_check_s` is None while a check
    is under way. `filter`: only incidents with all of these words are shown; it is `typing` while it is entered.
    """

    deployment: str
    now: datetime
    every_s: float
    watch: Watch = Watch()
    report: Report | None = None
    activities: tuple[AssetActivity, ...] = ()
    problem: str = ""
    selected: int = 0
    text: str | None = None
    offset: int = 0
    paused: bool = False
    next_check_s: float | None = None
    notice: str = ""
    keys: bool = True
    filter: str = ""
    typing: bool = False

    @property
    def incidents(self) -> tuple[Incident, ...]:
        """Those of the newest report that the filter leaves, the worst impact first."""
        words = self.filter.lower().split()
        every = self.report.incidents if self.report else ()
        return tuple(incident for incident in every if all(word in _searched(incident) for word in words))

    @property
    def selected_incident(self) -> Incident | None:
        """The incident that the keys act on."""
        return self.incidents[min(self.selected, len(self.incidents) - 1)] if self.incidents else None


def _searched(incident: Incident) -> str:
    labels = " ".join(result.finding.subject.label for result in incident.results)
    return f"{incident.severity.value} {summary(incident)} {labels}".lower()
