"""Incidents in logs: where trouble began and ended, apart from what every start and stop of a server brings.

For signatures with `resolved_by`. `log_incidents` gathers them; `LogIncident.severity` and `LogIncident.story` judge
and describe one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

import msgspec

from jsdoctor.checks.logs.words import earliest, latest, listed, subject_of, times, when
from jsdoctor.model.finding import Observation, Severity, Subject
from jsdoctor.model.log import LogEvidence, LogTime, OutageInterval, ProcessRun, exemplars_of
from jsdoctor.model.wording import counted, span

SETTLING_US = 15_000_000
"""After a start (and after "Server is ready") servers still connect to each other: missing peers are normal then."""

STOPPING_US = 15_000_000
"""Before its last line a server that stops in order takes its parts down; in lame duck mode it takes its time."""

LAME_DUCK_US = 180_000_000

AROUND_US = 30_000_000
"""When a server starts or stops, the others elect leaders and connect again within so long."""

_BYTES_A_SECOND = 400
"""Where lines have no times, so much of the text stands for a second: a server that starts logs four lines in one."""


class ProcessTimeline:
    """The processes of all servers: finds whether a moment was near a start or stop. Times are microseconds.

    Where lines have no times, their places in the text are compared.
    """

    def __init__(self, logs: LogEvidence) -> None:
        self._starts: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._stops: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._moments: list[int] = []
        self._openings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for run in logs.runs:
            if run.started is not None:
                calm = (run.ready or run.started).us + _length(run.started, SETTLING_US)
                self._starts[run.server].append((run.started.us, calm))
                self._moments.append(run.started.us)
            elif run.exemplar is not None and (first := run.exemplar.at) is not None:
                self._openings[run.server].append((first.us, first.us + _length(first, SETTLING_US)))
            window = _stop(run)
            if window is not None:
                self._stops[run.server].append(window)
            if run.last is not None and run.end != "open":
                self._moments.append(run.last.us)
        self._moments.sort()

    def starting(self, server: str, us: int) -> bool:
        """Whether that server had just started."""
        return any(began <= us <= calm for began, calm in self._starts.get(server, ()))

    def stopping(self, server: str, us: int) -> bool:
        """Whether that server was being stopped, in order."""
        return any(began <= us <= end for began, end in self._stops.get(server, ()))

    def stopped_after(self, server: str, us: int) -> bool:
        """Whether that server was stopped in order soon after."""
        within_us = _length(LogTime(us), STOPPING_US)
        return any(us <= end and began - within_us <= us for began, end in self._stops.get(server, ()))

    def any_start_or_end_near(self, us: int) -> bool:
        """Whether a server started or ended around then. Times without a zone are compared as if all had the same."""
        within_us = _length(LogTime(us), AROUND_US)
        index = bisect_left(self._moments, us - within_us)
        return index < len(self._moments) and self._moments[index] <= us + within_us

    def may_be_noise(self, server: str, first_us: int, last_us: int) -> bool:
        """Whether the lines of that process begin just before, without its start: it may have started then."""
        return any(began <= first_us and last_us <= calm for began, calm in self._openings.get(server, ()))

    def noise(self, server: str, first_us: int, last_us: int) -> bool:
        """Whether all of it fell into a start or a stop of that server."""
        return (self.starting(server, first_us) and self.starting(server, last_us)) or (
            self.stopping(server, first_us) and self.stopping(server, last_us)
        )


_latest: list[tuple[LogEvidence, ProcessTimeline]] = []


def timeline_of(logs: LogEvidence) -> ProcessTimeline:
    """The timeline of this evidence, made once for all rules."""
    if not _latest or _latest[0][0] is not logs:
        _latest[:] = [(logs, ProcessTimeline(logs))]
    return _latest[0][1]


def _stop(run: ProcessRun) -> tuple[int, int] | None:
    if run.last is None or run.end not in ("clean", "lame duck"):
        return None
    began = min(run.last.us, run.jetstream_stopped.us if run.jetstream_stopped else run.last.us)
    return began - _length(run.last, LAME_DUCK_US if run.end == "lame duck" else STOPPING_US), run.last.us


def _length(at: LogTime, length_us: int) -> int:
    """A length of time as the clock of that line counts it."""
    return length_us if at.timed else length_us // 1_000_000 * _BYTES_A_SECOND


REPEATED = 4
"""If one thing fails this often within an hour and no restart explains it, it recurs, however short each outage is."""

_HOUR_US = 3_600_000_000

LONG_NS = 60_000_000_000
"""An interval of this length was an outage, though it is over."""

YOUNG_US = 20_000_000
"""An interval that began this shortly before the log ends may be an election that is under way."""

CERTAIN_LINES = 3
"""An election logs the loss of a leader once or twice: an interval with this many lines is no election under way."""

_WITNESS = "healthcheck-failed"
"""A failed health check of the same server confirms the incident, however short the log is."""

_NEAR_END_US = 600_000_000

PAUSE_US, SILENT_US = 30_000_000, 300_000_000
"""What is logged again and again while it lasts is over after a pause far longer than usual, between these two."""

Subjects = Callable[[Mapping[str, str], str], Subject]
"""Makes the subject of a line from its fields and the server that logged it."""


class LogIncident(msgspec.Struct, frozen=True):
    """All outage intervals of one subject that no start or stop of the server itself explains, oldest first.

    `unresolved`: those that had not ended when the log ends. `unexplained`: those that no restart nearby explains.
    `opening`: starts of the servers explain them, if there were some just before the logs begin.
    `short`: the unresolved ones began just before the log ends, or have no times. `blind`: the log has no line of level
    INF, which would show the end.
    """

    subject: Subject
    intervals: tuple[OutageInterval, ...]
    unresolved: tuple[OutageInterval, ...]
    unexplained: tuple[OutageInterval, ...]
    evidence: tuple[Observation, ...]
    opening: bool = False
    short: bool = False
    blind: bool = False

    @property
    def notable(self) -> bool:
        """Whether it is worth a word: it lasts, was long, or no restart explains it."""
        return bool(self.unresolved or self.unexplained) or self.longest_ns >= LONG_NS

    @property
    def lines(self) -> int:
        """Number of lines in all intervals."""
        return sum(interval.count for interval in self.intervals)

    @property
    def servers(self) -> str:
        """The servers that logged it."""
        return listed(interval.logged_by for interval in self.intervals)

    @property
    def first(self) -> LogTime | None:
        """When it began."""
        return earliest([interval.began for interval in self.intervals])

    @property
    def last(self) -> LogTime | None:
        """When it was last logged, or ended."""
        return latest([interval.resolved or interval.last for interval in self.intervals])

    @property
    def longest_ns(self) -> int:
        """Duration of the longest interval, in nanoseconds."""
        return max(interval.duration_ns for interval in self.intervals)

    def values(self, field: str) -> str:
        """The different values of a captured field, as a list in words."""
        return listed(value for interval in self.intervals if (value := dict(interval.fields).get(field)))

    def severity(self, unresolved: Severity | None = None, repeated: Severity = Severity.WARNING) -> Severity | None:
        """`unresolved` (None: the rule's own) while it lasts, `repeated` if it recurred or was long, else info."""
        if self.unresolved and (self.short or self.blind):
            return min(unresolved or Severity.WARNING, Severity.WARNING, key=lambda severity: severity.rank)
        if self.unresolved:
            return unresolved
        return repeated if _often(self.unexplained) or self.longest_ns >= LONG_NS else Severity.INFO

    @property
    def _silence(self) -> str:
        """What is known of an incident without a line that ends it."""
        newest = max(self.intervals, key=lambda interval: interval.last.us)
        left_us = newest.log_end.us - newest.last.us if newest.log_end else 0
        if left_us > PAUSE_US and newest.last.timed:
            return "it is not logged any more"
        return f"the log ends {span(left_us * 1000)} later" if newest.last.timed else "no line shows whether it ended"

    @property
    def story(self) -> str:
        """The servers, the times, the number of lines, and how it ended."""
        if self.unresolved:
            return self._lasting
        ended = [interval for interval in self.intervals if interval.resolved is not None]
        over = "it ended" if ended else self._silence
        length = (
            f" after {span(self.longest_ns // 1_000_000 * 1_000_000)}" if ended and self.longest_ns >= 1_000_000 else ""
        )
        if len(self.intervals) > 1:
            longest = f", the longest {span(self.longest_ns // 1_000_000 * 1_000_000)}" if self.longest_ns else ""
            newest = max(self.intervals, key=lambda interval: interval.last.us)
            over = "all are over" if newest.resolved else f"no line shows how the last one ended: {self._silence}"
            intervals = counted(len(self.intervals), "interval")
            return f"{intervals} on {self.servers}{when(self.first, self.last)}{longest}; {over}"
        return f"logged {times(self.lines)} by {self.servers}{when(self.first, self.last)}; {over}{length}"

    @property
    def _lasting(self) -> str:
        """Since when it lasts, as far as the lines have times."""
        newest = max(self.unresolved, key=lambda interval: interval.last.us)
        since, end = min(interval.began for interval in self.unresolved), newest.log_end or newest.last
        before = len(self.intervals) - len(self.unresolved)
        earlier = f", after {counted(before, 'earlier interval')}" if before else ""
        logged = times(sum(interval.count for interval in self.unresolved))
        where = listed(interval.logged_by for interval in self.unresolved)
        if not since.timed:
            over = "no later line shows that it ended, and without times it is not known how long it lasted"
            return f"logged {logged} by {where}{earlier}; {over}"
        if self.blind:
            over = f"the log (to {end}) has no lines of level INF, so nothing in it could tell when it ended"
            return f"logged {logged} by {where}{when(since, newest.last)}{earlier}; {over}"
        return f"since {since} on {where}, logged {logged}{earlier}; no line ends it before the log does ({end})"


def log_incidents(
    logs: LogEvidence, *signatures: str, subjects: Subjects = subject_of, repeats: bool = False, calm: bool = True
) -> list[LogIncident]:
    """Incidents of these signatures by subject. `repeats`: logged repeatedly while it lasts, so silence ends it.

    Lines that a server logs only while it starts or stops are left out, and what began just before the log ends is not
    called unresolved. `calm` False: for lines that need no such excuse.
    """
    timeline = timeline_of(logs)
    witnesses = logs.intervals_of(_WITNESS)
    by_subject: dict[Subject, list[OutageInterval]] = defaultdict(list)
    for interval in logs.intervals_of(*signatures):
        noise = calm and timeline.noise(interval.logged_by, interval.began.us, interval.last.us)
        if not (noise and _passing(interval)):
            by_subject[subjects(dict(interval.fields), interval.logged_by)].append(interval)
    incidents = []
    for subject, mine in by_subject.items():
        mine.sort(key=lambda interval: (interval.began.us, interval.logged_by))
        keys = {(interval.signature, interval.logged_by, interval.fields) for interval in mine}
        lines = [
            occurrence
            for occurrence in logs.occurrences(*signatures)
            if (occurrence.signature, occurrence.logged_by, occurrence.fields) in keys
        ]
        lasting = [interval for interval in mine if _lasts(interval, timeline, repeats)]
        blind = not repeats and any(index_of(logs).lacks_level(interval.logged_by, "INF") for interval in lasting)
        often = {key for key, count in Counter(map(_thing, lasting)).items() if count > 1}
        if blind:
            newest = {_thing(interval): interval for interval in lasting}
            lasting = [interval for interval in newest.values() if _near_end(interval)]
        old = [interval for interval in lasting if not calm or not _young(interval) or _thing(interval) in often]
        unresolved = old or [interval for interval in lasting if _confirmed(interval, witnesses)]
        incidents.append(
            LogIncident(
                subject=subject,
                intervals=tuple(mine),
                unresolved=tuple(unresolved),
                unexplained=tuple(
                    interval for interval in mine if not timeline.any_start_or_end_near(interval.began.us)
                ),
                evidence=exemplars_of(lines),
                opening=calm and all(timeline.may_be_noise(i.logged_by, i.began.us, i.last.us) for i in mine),
                short=not old,
                blind=blind,
            )
        )
    return incidents


def _often(intervals: Sequence[OutageInterval]) -> bool:
    """Whether the same thing began again and again on the same server within an hour."""
    begun: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for interval in intervals:
        begun[interval.signature, interval.logged_by, interval.fields].append(interval.began.us)
    return any(
        sum(first <= us < first + _HOUR_US for us in times_) >= REPEATED
        for times_ in begun.values()
        for first in times_
    )


def _passing(interval: OutageInterval) -> bool:
    """Whether it was over soon, or the log is."""
    end = interval.resolved or interval.log_end or interval.last
    return (end.us - interval.began.us) * 1000 < LONG_NS


def _thing(interval: OutageInterval) -> tuple[object, ...]:
    return (interval.signature, interval.logged_by, interval.fields)


def _young(interval: OutageInterval) -> bool:
    """Whether it may be an election under way: too little time, or too few lines where there are no times."""
    if not interval.began.timed:
        return interval.count < CERTAIN_LINES
    return (interval.log_end or interval.last).us - interval.began.us < YOUNG_US


def _confirmed(interval: OutageInterval, witnesses: Sequence[OutageInterval]) -> bool:
    """Whether a young interval is certain nevertheless. Without times, its position at the end of the text counts."""
    if interval.count >= CERTAIN_LINES or not interval.began.timed:
        return True
    return any(
        witness.logged_by == interval.logged_by and witness.resolved is None and witness.last.us >= interval.began.us
        for witness in witnesses
        if witness.signature != interval.signature
    )


def _near_end(interval: OutageInterval) -> bool:
    return not interval.last.timed or (interval.log_end or interval.last).us - interval.last.us <= _NEAR_END_US


def _lasts(interval: OutageInterval, timeline: ProcessTimeline, repeats: bool) -> bool:
    """Whether it had not ended when the log does, nor when its server was stopped in order."""
    end = interval.log_end or interval.last
    if interval.resolved is not None:
        return False
    if repeats and end.us - interval.last.us > _usual_pause_us(interval):
        return False
    return not timeline.stopped_after(interval.logged_by, interval.last.us)


def _usual_pause_us(interval: OutageInterval) -> int:
    """A pause that ends an interval: far longer than those between its lines."""
    between = (interval.last.us - interval.began.us) // max(1, interval.count - 1)
    return min(SILENT_US, max(PAUSE_US, 6 * between))


class Index:
    """The processes of each server, and the levels of its lines at both ends of its files."""

    def __init__(self, logs: LogEvidence) -> None:
        runs: dict[str, list[ProcessRun]] = defaultdict(list)
        for run in logs.runs:
            runs[run.server].append(run)
        self._runs = {server: tuple(mine) for server, mine in runs.items()}
        self._lasts = {server.name: server.last for server in logs.servers}
        self._levels: dict[str, set[str]] = defaultdict(set)
        self._shared: set[str] = set()
        for file in logs.files:
            for server in file.servers if file.server_lines else ():
                self._levels[server].update(file.levels)
            if file.server_lines and not file.servers:
                self._shared.update(file.levels)

    def runs_of(self, server: str) -> tuple[ProcessRun, ...]:
        """The processes of a server, oldest first."""
        return self._runs.get(server, ())

    def last_of(self, server: str) -> LogTime | None:
        """The last time in the logs of a server, None for others."""
        return self._lasts.get(server)

    def lacks_level(self, server: str, level: str) -> bool:
        """Whether the files of a server look as if lines of that level had been left out: `grep WRN` does that."""
        levels = self._levels.get(server, set()) | self._shared
        return bool(levels) and level not in levels


_latest_index: list[tuple[LogEvidence, Index]] = []


def index_of(logs: LogEvidence) -> Index:
    """The index of this evidence. It is built once, and all rules share it."""
    if not _latest_index or _latest_index[0][0] is not logs:
        _latest_index[:] = [(logs, Index(logs))]
    return _latest_index[0][1]
