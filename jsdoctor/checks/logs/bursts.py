"""Events that have no end of their own: who logged them, how often, when, apart from what starts and stops bring."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

import msgspec

from jsdoctor.checks.logs.log_incidents import Subjects
from jsdoctor.checks.logs.timeline import timeline_of
from jsdoctor.checks.logs.windows import most_within
from jsdoctor.checks.logs.words import earliest, latest, listed, subject_of, times, when, zoned
from jsdoctor.model.finding import Observation, Subject
from jsdoctor.model.log import LogEvidence, LogTime, Occurrence, exemplars_of

WINDOW_US = 600_000_000


class Burst(msgspec.Struct, frozen=True):
    """All lines of one subject. `count` leaves out those of a server's own starts and stops."""

    subject: Subject
    found: tuple[Occurrence, ...]
    count: int

    @property
    def most(self) -> int:
        """The most lines of one server within ten minutes: an upper bound, as buckets are a minute or more.

        Few rules use it, and to count takes long.
        """
        return _most(self.found)

    @property
    def servers(self) -> str:
        """The servers or applications that logged it."""
        return listed(occurrence.logged_by for occurrence in self.found)

    @property
    def first(self) -> LogTime | None:
        """The first line with a time."""
        return earliest([occurrence.first for occurrence in self.found])

    @property
    def last(self) -> LogTime | None:
        """The last line with a time."""
        return latest([occurrence.last for occurrence in self.found])

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
        return listed(occurrence.value(field) for occurrence in self.found if occurrence.value(field))

    def largest(self, field: str) -> int | None:
        """The largest value of a numeric field (durations in nanoseconds, sizes in bytes), or None."""
        return max(
            (measure.largest for occurrence in self.found if (measure := occurrence.measure(field))), default=None
        )


def bursts(logs: LogEvidence, *signatures: str, subjects: Subjects = subject_of, calm: bool = True) -> list[Burst]:
    """Lines of these signatures by subject, most lines first. `calm` False: those of starts and stops count too."""
    timeline = timeline_of(logs)
    by_subject: dict[Subject, list[tuple[Occurrence, int]]] = defaultdict(list)
    for occurrence in logs.occurrences(*signatures):
        noise = sum(
            count
            for first_us, last_us, count in occurrence.histogram.spans()
            if calm and timeline.noise(occurrence.logged_by, first_us, last_us)
        )
        if occurrence.count > noise:
            by_subject[subjects(dict(occurrence.fields), occurrence.logged_by)].append(
                (occurrence, occurrence.count - noise)
            )
    log_bursts = [
        Burst(
            subject=subject,
            found=tuple(occurrence for occurrence, _ in mine),
            count=sum(count for _, count in mine),
        )
        for subject, mine in by_subject.items()
    ]
    return sorted(log_bursts, key=lambda burst: -burst.count)


def _most(occurrences: Iterable[Occurrence]) -> int:
    by_server: dict[str, list[Occurrence]] = defaultdict(list)
    for occurrence in occurrences:
        by_server[occurrence.logged_by].append(occurrence)
    return max(_most_of_one(mine) for mine in by_server.values())


def _most_of_one(occurrences: list[Occurrence]) -> int:
    """Lines of one server; those without any time count as one moment."""
    return most_within([occurrence for occurrence in occurrences if occurrence.histogram], WINDOW_US) + sum(
        occurrence.count for occurrence in occurrences if not occurrence.histogram
    )
