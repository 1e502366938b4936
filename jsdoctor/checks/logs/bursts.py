"""Events that have no end of their own: who logged them, how often, when, apart from what starts and stops bring."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from jsdoctor.checks.logs.log_incidents import Subjects
from jsdoctor.checks.logs.timeline import timeline_of
from jsdoctor.checks.logs.windows import most_within
from jsdoctor.checks.logs.words import earliest, latest, listed, subject_of, times, when, zoned
from jsdoctor.model.finding import Observation, Subject
from jsdoctor.model.log import LogEvidence, LogTime, Occurrence, exemplars_of

WINDOW_US = 600_000_000


@dataclass(frozen=True, slots=True)
class Burst:
    """All lines of one subject. `count` leaves out those of a server's own starts and stops; `most` is the largest
    number within ten minutes, of one server (an upper bound: buckets are a minute or more).
    """

    subject: Subject
    found: tuple[Occurrence, ...]
    count: int
    most: int

    @property
    def servers(self) -> str:
        """The servers or applications that logged it."""
        return listed(one.logged_by for one in self.found)

    @property
    def first(self) -> LogTime | None:
        """The first line with a time."""
        return earliest([one.first for one in self.found])

    @property
    def last(self) -> LogTime | None:
        """The last line with a time."""
        return latest([one.last for one in self.found])

    @property
    def first_seen(self) -> datetime | None:
        """When it was first logged, where the zone is known."""
        return zoned(self.first)

    @property
    def last_seen(self) -> datetime | None:
        """When it was last logged, where the zone is known."""
        return zoned(self.last)

    @property
    def evidence(self) -> tuple[Observation, ...]:
        """Some of the lines."""
        return exemplars_of(self.found)

    @property
    def story(self) -> str:
        """Who, how often, when."""
        return f"logged {times(self.count)} by {self.servers}{when(self.first, self.last)}"

    def values(self, field: str) -> str:
        """The different values of a captured field, as a list in words."""
        return listed(one.value(field) for one in self.found if one.value(field))

    def largest(self, field: str) -> int | None:
        """The largest value of a numeric field (durations in nanoseconds, sizes in bytes), or None."""
        return max((measure.largest for one in self.found if (measure := one.measure(field))), default=None)


def bursts(logs: LogEvidence, *signatures: str, subjects: Subjects = subject_of, calm: bool = True) -> list[Burst]:
    """Lines of these signatures by subject, most lines first. `calm` False: those of starts and stops count too."""
    timeline = timeline_of(logs)
    by_subject: dict[Subject, list[tuple[Occurrence, int]]] = defaultdict(list)
    for one in logs.occurrences(*signatures):
        noise = sum(
            count
            for first_us, last_us, count in one.histogram.spans()
            if calm and timeline.noise(one.logged_by, first_us, last_us)
        )
        if one.count > noise:
            by_subject[subjects(dict(one.fields), one.logged_by)].append((one, one.count - noise))
    found = [
        Burst(
            subject=subject,
            found=tuple(one for one, _ in mine),
            count=sum(count for _, count in mine),
            most=_most([one for one, _ in mine]),
        )
        for subject, mine in by_subject.items()
    ]
    return sorted(found, key=lambda burst: -burst.count)


def _most(found: list[Occurrence]) -> int:
    by_server: dict[str, list[Occurrence]] = defaultdict(list)
    for one in found:
        by_server[one.logged_by].append(one)
    return max(_most_of_one(mine) for mine in by_server.values())


def _most_of_one(found: list[Occurrence]) -> int:
    """Lines of one server; those without any time count as one moment."""
    return most_within([one for one in found if one.histogram], WINDOW_US) + sum(
        one.count for one in found if not one.histogram
    )
