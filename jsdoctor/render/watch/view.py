"""All that the screen of a watch shows at one moment."""

from __future__ import annotations

from datetime import datetime

import msgspec

from jsdoctor.engine.activity import AssetActivity
from jsdoctor.engine.watch import Watch
from jsdoctor.model.report import Incident, Report


class ScreenView(msgspec.Struct, frozen=True, kw_only=True):
    """The newest report and what is remembered.

    `report` is None before the first check ends, `problem` says why the last check came to none. `selected` counts
    incidents from 0. `text` is shown in place of the lists, from line `offset` on. `next_check_s` is None while a check
    is under way.
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

    @property
    def incidents(self) -> tuple[Incident, ...]:
        """Those of the newest report, the worst impact first."""
        return self.report.incidents if self.report else ()

    @property
    def selected_incident(self) -> Incident | None:
        """The incident that the keys act on."""
        return self.incidents[min(self.selected, len(self.incidents) - 1)] if self.incidents else None
