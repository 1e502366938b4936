"""All that the screen of a watch shows at one moment."""

from __future__ import annotations

from datetime import datetime
from enum import Enum

import msgspec

from jsdoctor.engine.activity import AssetActivity
from jsdoctor.engine.watch import OpenFinding, Watch
from jsdoctor.model.report import Incident, Report
from jsdoctor.render.incidents import names_of, summary


class Order(Enum):
    """What incidents are sorted by, as the title of that column: impact (the worst first), age (the newest first)."""

    IMPACT = "severity"
    SINCE = "since"
    WHERE = "where"

    @property
    def following(self) -> Order:
        """The order that the key selects after this one."""
        orders = list(Order)
        return orders[(orders.index(self) + 1) % len(orders)]


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
    order: Order = Order.IMPACT

    @property
    def incidents(self) -> tuple[Incident, ...]:
        """Those of the newest report that the filter leaves, in the order that is selected."""
        words = self.filter.lower().split()
        every = self.report.incidents if self.report else ()
        matching = [incident for incident in every if all(word in _searched(incident) for word in words)]
        if self.order is Order.SINCE:
            matching.sort(key=self._appeared, reverse=True)
        elif self.order is Order.WHERE:
            matching.sort(key=lambda incident: names_of(incident.causes))
        return tuple(matching)

    def oldest(self, incident: Incident) -> OpenFinding | None:
        """The finding of an incident that has been there longest; None if the watch remembers none of them."""
        known = (self.watch.open.get(result.fingerprint) for result in incident.results)
        return min((finding for finding in known if finding), key=lambda finding: finding.appeared, default=None)

    def _appeared(self, incident: Incident) -> datetime:
        oldest = self.oldest(incident)
        return oldest.appeared if oldest else self.now

    @property
    def selected_incident(self) -> Incident | None:
        """The incident that the keys act on."""
        return self.incidents[min(self.selected, len(self.incidents) - 1)] if self.incidents else None


def _searched(incident: Incident) -> str:
    labels = " ".join(result.finding.subject.label for result in incident.results)
    return f"{incident.severity.value} {summary(incident)} {labels}".lower()
