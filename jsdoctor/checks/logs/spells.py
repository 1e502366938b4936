"""Spells of trouble, by subject: over or not, how long, how often, and how grave that makes them.

For signatures with `resolved_by`. `troubles` gathers, `Trouble.severity` and `Trouble.story` judge and tell.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from jsdoctor.checks.logs.timeline import Timeline
from jsdoctor.checks.logs.words import earliest, latest, listed, subject_of, times, when, zoned
from jsdoctor.model.finding import Observation, Severity, Subject
from jsdoctor.model.log import LogEvidence, LogTime, Spell, exemplars_of
from jsdoctor.model.wording import counted, span

REPEATED = 4
"""So many spells that no restart explains are a trouble that comes back, however short each is."""

LONG_NS = 60_000_000_000
"""A spell so long was an outage, though it is over."""

YOUNG_US = 20_000_000
"""A spell that began so shortly before the log ends may be an election that is under way."""

SILENT_US = 300_000_000
"""What is logged again and again while it lasts, and was not for so long, is over."""

Subjects = Callable[[Mapping[str, str], str], Subject]
"""Makes the subject of a line from its fields and the server that logged it."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """All spells of one subject that no start or stop of the server itself explains, oldest first.

    `unresolved` are those that had not ended when the log does; `unexplained` those that no restart nearby explains.
    """

    subject: Subject
    spells: tuple[Spell, ...]
    unresolved: tuple[Spell, ...]
    unexplained: tuple[Spell, ...]
    evidence: tuple[Observation, ...]

    @property
    def lines(self) -> int:
        """How many lines tell of it."""
        return sum(spell.count for spell in self.spells)

    @property
    def servers(self) -> str:
        """Who logged it."""
        return listed(spell.logged_by for spell in self.spells)

    @property
    def first(self) -> LogTime | None:
        """When it began."""
        return earliest([spell.began for spell in self.spells])

    @property
    def last(self) -> LogTime | None:
        """When it was last logged, or ended."""
        return latest([spell.resolved or spell.last for spell in self.spells])

    @property
    def first_seen(self) -> datetime | None:
        """When it began, where the zone is known."""
        return zoned(self.first)

    @property
    def last_seen(self) -> datetime | None:
        """When it was last seen, where the zone is known."""
        return zoned(self.last)

    @property
    def longest_ns(self) -> int:
        """The longest spell."""
        return max((spell.duration_ns for spell in self.spells), default=0)

    def values(self, field: str) -> str:
        """The different values of a captured field, as a list in words."""
        return listed(value for spell in self.spells if (value := dict(spell.fields).get(field)))

    def severity(self, unresolved: Severity | None = None, repeated: Severity = Severity.WARNING) -> Severity | None:
        """`unresolved` (None: the rule's own) while it lasts, `repeated` when it came back or was long, else info."""
        if self.unresolved:
            return unresolved
        often = len(self.unexplained) >= REPEATED
        long = any(spell.duration_ns >= LONG_NS for spell in self.unexplained)
        return repeated if often or long else Severity.INFO

    @property
    def story(self) -> str:
        """Who, when, how often, and how it ended."""
        if self.unresolved:
            newest = max(self.unresolved, key=lambda spell: spell.last.us)
            since, end = min(spell.began for spell in self.unresolved), newest.log_end or newest.last
            before = len(self.spells) - len(self.unresolved)
            earlier = f", after {counted(before, 'earlier spell')}" if before else ""
            return (
                f"since {since} on {listed(spell.logged_by for spell in self.unresolved)}, logged"
                f" {times(sum(spell.count for spell in self.unresolved))}{earlier}; it had not ended when the log does"
                f" ({end})"
            )
        ended = [spell for spell in self.spells if spell.resolved is not None]
        over = "it ended" if ended else "it is not logged any more"
        length = f" after {span(self.longest_ns // 1_000_000 * 1_000_000)}" if self.longest_ns >= 1_000_000 else ""
        if len(self.spells) > 1:
            length, over = f"the longest {length[7:] or 'under 1ms'}", "all are over"
            return (
                f"{counted(len(self.spells), 'spell')} on {self.servers}{when(self.first, self.last)}, {length}; {over}"
            )
        return f"logged {times(self.lines)} by {self.servers}{when(self.first, self.last)}; {over}{length}"


def troubles(
    logs: LogEvidence, *signatures: str, subjects: Subjects = subject_of, repeats: bool = False
) -> list[Trouble]:
    """Troubles of these signatures by subject. `repeats`: logged again and again while it lasts, so silence ends it.

    Left out is what a server says only while it starts or stops itself.
    """
    timeline = Timeline(logs)
    by_subject: dict[Subject, list[Spell]] = defaultdict(list)
    for spell in logs.spells_of(*signatures):
        if not (timeline.noise(spell.logged_by, spell.began.us, spell.last.us) and _short(spell)):
            by_subject[subjects(dict(spell.fields), spell.logged_by)].append(spell)
    found = []
    for subject, mine in by_subject.items():
        mine.sort(key=lambda spell: (spell.began.us, spell.logged_by))
        keys = {(spell.signature, spell.logged_by, spell.fields) for spell in mine}
        lines = [one for one in logs.occurrences(*signatures) if (one.signature, one.logged_by, one.fields) in keys]
        found.append(
            Trouble(
                subject=subject,
                spells=tuple(mine),
                unresolved=tuple(spell for spell in mine if _lasts(spell, timeline, repeats)),
                unexplained=tuple(spell for spell in mine if not timeline.restarting(spell.began.us)),
                evidence=exemplars_of(lines),
            )
        )
    return found


def _short(spell: Spell) -> bool:
    return spell.resolved is None or spell.duration_ns < LONG_NS


def _lasts(spell: Spell, timeline: Timeline, repeats: bool) -> bool:
    """Whether it had not ended when the log does, nor when its server was stopped in order."""
    end = spell.log_end or spell.last
    if spell.resolved is not None or end.us - spell.began.us < YOUNG_US:
        return False
    if repeats and end.us - spell.last.us > SILENT_US:
        return False
    return not timeline.stopped_after(spell.logged_by, spell.last.us)
