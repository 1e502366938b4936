"""Log lines without an end of their own: who logged them, how often and when, without those of starts and stops."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, chain, repeat
from operator import sub

import msgspec

from jsdoctor.checks.logs.log_incidents import Subjects, timeline_of
from jsdoctor.checks.logs.words import earliest, latest, listed, subject_of, times, when
from jsdoctor.model.finding import Observation, Subject
from jsdoctor.model.histogram import Histogram
from jsdoctor.model.log import LogEvidence, LogTime, Occurrence, exemplars_of

_ALL = "all"


def most_within(
    occurrences: Iterable[Occurrence], window_us: int, group: Callable[[Occurrence], str] | None = None
) -> int:
    """The most lines of one group in any window that begins with a line of any group; lines of group "" do not count.

    Without `group` all lines are one group. An upper bound: a bucket counts if it touches the window.
    """
    groups: dict[str, list[Histogram]] = defaultdict(list)
    for occurrence in occurrences:
        groups[group(occurrence) if group else _ALL].append(occurrence.histogram)
    starts = sorted(set(_firsts([histogram for histograms in groups.values() for histogram in histograms])))
    most = 0
    for name, histograms in groups.items():
        if name and _may_exceed(most, histograms, window_us):
            most = _most_lines(histograms, starts, window_us, most)
    return most


def are_within(lines: int, occurrences: Sequence[Occurrence], window_us: int) -> bool:
    """Whether any window has at least `lines` lines; quick where far more lines are dense."""
    firsts = sorted(_firsts([occurrence.histogram for occurrence in occurrences]))
    dense = any(last - first < window_us for first, last in zip(firsts, firsts[max(0, lines - 1) :], strict=False))
    return dense or most_within(occurrences, window_us) >= lines


def _firsts(histograms: Iterable[Histogram]) -> Iterable[int]:
    return chain.from_iterable([histogram.firsts() for histogram in histograms])


def _may_exceed(most: int, histograms: Sequence[Histogram], window_us: int) -> bool:
    """Whether a window may have more than `most` lines, by how close the beginnings of that many buckets are."""
    firsts = sorted(_firsts(histograms))
    lines = max([max(histogram.counts(), default=1) for histogram in histograms])
    longest = max([max(map(sub, histogram.lasts(), histogram.firsts()), default=0) for histogram in histograms])
    return any(last - first < window_us + longest for first, last in zip(firsts, firsts[most // lines :], strict=False))


def _most_lines(histograms: Sequence[Histogram], starts: Sequence[int], window_us: int, most: int) -> int:
    """The most lines in a window, or `most` if that is more.

    A window has the buckets that began before its end, without those that ended before its beginning. For each bucket,
    only the last window that touches it is tried. A window that began at the bucket's end would have no fewer lines:
    it is computed first, as that needs no search.
    """
    counts = list(chain.from_iterable([histogram.counts() for histogram in histograms]))
    firsts, entered = _running_totals(_firsts(histograms), counts)
    lasts, left = _running_totals(chain.from_iterable([histogram.lasts() for histogram in histograms]), counts)
    inside = map(bisect_left, repeat(firsts), [last + window_us for last in lasts])
    for last, number, gone in zip(lasts, inside, left, strict=False):
        if entered[number] - gone > most:
            begin = starts[bisect_right(starts, last) - 1]
            most = max(most, entered[bisect_left(firsts, begin + window_us)] - gone)
    return most


def _running_totals(times: Iterable[int], counts: Sequence[int]) -> tuple[list[int], list[int]]:
    """The times in order; and the number of lines before each of them, followed by the number of all lines."""
    given = list(times)
    ordered = sorted(given)
    if given != ordered:
        lines: dict[int, int] = defaultdict(int)
        for us, count in zip(given, counts, strict=True):
            lines[us] += count
        ordered = sorted(lines)
        counts = list(map(lines.__getitem__, ordered))
    return ordered, list(accumulate(counts, initial=0))


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
        by_server: dict[str, list[Occurrence]] = defaultdict(list)
        for occurrence in self.found:
            by_server[occurrence.logged_by].append(occurrence)
        # Lines of one server without any time count as one moment.
        return max(
            most_within([timed for timed in mine if timed.histogram], WINDOW_US)
            + sum(occurrence.count for occurrence in mine if not occurrence.histogram)
            for mine in by_server.values()
        )

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
    def evidence(self) -> tuple[Observation, ...]:
        """Some of the lines."""
        return exemplars_of(self.found)

    @property
    def story(self) -> str:
        """Who logged it, how often and when, in words."""
        return f"logged {times(self.count)} by {self.servers}{when(self.first, self.last)}"

    def values(self, field: str) -> str:
        """The different values of a captured field, as a list in words."""
        return listed(occurrence.value(field) for occurrence in self.found if occurrence.value(field))

    def in_brackets(self, field: str) -> str:
        """` (a, b)` with the values of a field; empty where no line has one."""
        values = self.values(field)
        return f" ({values})" if values else ""

    def largest(self, field: str) -> int | None:
        """The largest value of a numeric field (durations in nanoseconds, sizes in bytes), or None."""
        measures = (occurrence.measure(field) for occurrence in self.found)
        return max((measure.largest for measure in measures if measure), default=None)


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
            subject = subjects(dict(occurrence.fields), occurrence.logged_by)
            by_subject[subject].append((occurrence, occurrence.count - noise))
    log_bursts = [
        Burst(subject=subject, found=tuple(occurrence for occurrence, _ in mine), count=sum(count for _, count in mine))
        for subject, mine in by_subject.items()
    ]
    return sorted(log_bursts, key=lambda burst: -burst.count)


NOT_CREATED = "consumer-create-failed"
"""A signature of JSD411; lines that name a refusal are reported by JSD418."""

_REFUSALS = ("workqueue stream", "consumers limit reached", "can not be updated")


def refusals_in(burst: Burst) -> list[str]:
    """The refusals among the causes that the lines name, each once."""
    causes = dict.fromkeys(occurrence.value("reason") for occurrence in burst.found)
    return [cause for cause in causes if any(words in cause for words in _REFUSALS)]
