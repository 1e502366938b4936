"""Outage intervals: how long a problem lasted, and whether a log line ended it."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from jsdoctor.model.log import CLOCK_US, SUBJECT_FIELDS, Histogram, LogTime, Occurrence, OutageInterval
from jsdoctor.model.rule import Signature
from jsdoctor.parse.logs.aggregate.offsets import CommonTime
from jsdoctor.parse.logs.aggregate.series import NO_TIME

PAUSE_US = 300_000_000
"""A problem that is not logged for this time, in microseconds, is over; the next line begins another interval."""

INTERVALS_KEPT = 200
"""Of each signature: the unresolved ones first, then the longest."""


class _OutageLine(NamedTuple):
    us: int
    signature: str


class _OutageLines(NamedTuple):
    """Lines of one trouble: first and last time, how many they are, and what ended them."""

    began: int
    last: int
    lines: int
    ended: _OutageLine | None

    @property
    def importance(self) -> tuple[bool, int]:
        """Those that nothing ended come first, then those that lasted longest; see `_importance`."""
        if self.began < CLOCK_US:
            return self.ended is not None, 0
        return self.ended is not None, self.began - (self.ended.us if self.ended else self.last)


_Key = tuple[str, tuple[str, ...], tuple[bool, str]]
"""A signature, what it has in common with the trouble, and the clock it is on."""


class _Endings:
    """Lines of one signature, of all servers on one clock, that may end a trouble: buckets by both their times."""

    def __init__(self, signature: str) -> None:
        self.signature = signature
        self._times: list[int] = []
        self._sorted = True

    def add(self, buckets: Histogram, shift: int) -> None:
        """`shift`: what to add to be on the common clock."""
        times = (*buckets.firsts(), *buckets.lasts())
        self._times.extend([us + shift for us in times] if shift else times)
        self._sorted = False

    def after(self, us: int) -> int | None:
        """The first known time at or after `us`: that of a first line, or of the last one of a bucket around `us`."""
        if not self._sorted:
            self._times.sort()
            self._sorted = True
        index = bisect_left(self._times, us)
        return self._times[index] if index < len(self._times) else None


class _Resolvers:
    """Lines that end one trouble, by what they and the trouble have in common: subjects, else who logged them.

    They are joined by the clock they are on, so that a subject that thousands of servers name costs no more than its
    lines.
    """

    def __init__(
        self,
        incident: Signature,
        common: Mapping[str, tuple[str, ...]],
        occurrences: Iterable[Occurrence],
        time: CommonTime,
    ) -> None:
        self._common, self._time = common, time
        self._names = incident.resolved_by
        self._endings: dict[_Key, _Endings] = {}
        for occurrence in occurrences:
            if occurrence.signature in common:
                key, shift = self._key(occurrence.signature, occurrence)
                self._endings.setdefault(key, _Endings(occurrence.signature)).add(occurrence.histogram, shift)

    def _key(self, name: str, occurrence: Occurrence) -> tuple[_Key, int]:
        clock, shift = self._time.clock(occurrence.logged_by, occurrence.zoned)
        fields = self._common.get(name, ())
        return (name, tuple(map(occurrence.value, fields)) or (occurrence.logged_by,), clock), shift

    def of(self, incident: Occurrence) -> tuple[list[_Endings], int]:
        """What may end this trouble, and what to add to its times to be on their clock."""
        keys = [self._key(name, incident) for name in self._names]
        result = [self._endings[key] for key, _ in keys if key in self._endings]
        return result, keys[0][1] if keys else 0


def _after(endings: Sequence[_Endings], us: int, shift: int) -> _OutageLine | None:
    """The first line at or after `us` (of the trouble's clock) that ends it."""
    best: _OutageLine | None = None
    for ending in endings:
        at = ending.after(us + shift)
        if at is not None and (best is None or at - shift < best.us):
            best = _OutageLine(at - shift, ending.signature)
    return best


def intervals(
    signatures: Sequence[Signature],
    occurrences: Sequence[Occurrence],
    time: CommonTime,
    ends: Mapping[tuple[str, bool], int],
    cut: Mapping[str, int],
) -> tuple[list[OutageInterval], int]:
    """All outage intervals of signatures with `resolved_by`, and how many were left out.

    `ends` are the last times of servers by whether these are zoned. `cut` has the signatures with subjects that were
    not kept: intervals that those may have ended cannot be called unresolved, and are left out.
    """
    fields = {signature.name: set(signature.fields) for signature in signatures}
    kept: list[OutageInterval] = []
    omitted = 0
    by_name: dict[str, list[Occurrence]] = defaultdict(list)
    for occurrence in occurrences:
        by_name[occurrence.signature].append(occurrence)
    for signature in signatures:
        if not signature.resolved_by or signature.name not in by_name:
            continue
        common = {name: _common(signature, fields.get(name, set())) for name in signature.resolved_by}
        resolvers = _Resolvers(
            signature, common, (occurrence for name in common for occurrence in by_name.get(name, ())), time
        )
        doubtful = any(cut.get(name) for name in signature.resolved_by)
        mine = _Chosen(doubtful)
        for occurrence in by_name[signature.name]:
            end_us = ends.get((occurrence.logged_by, occurrence.zoned))
            mine.add(occurrence, _of(occurrence, *resolvers.of(occurrence)), end_us)
        chosen = mine.most_important()
        omitted += mine.count - len(chosen)
        kept.extend(chosen)
    return sorted(kept, key=_order), omitted


class _Chosen:
    """The most important intervals of one signature, in bounded memory. `doubtful`: unresolved ones are left out."""

    def __init__(self, doubtful: bool) -> None:
        self.count = 0
        self._doubtful = doubtful
        self._intervals: list[OutageInterval] = []
        self._least: tuple[bool, int] | None = None

    def add(self, occurrence: Occurrence, intervals: Iterable[_OutageLines], end_us: int | None) -> None:
        """Those of one more subject. Of thousands few are important: of the others no interval is made."""
        for lines in intervals:
            self.count += 1
            if lines.ended is None and self._doubtful:
                continue
            if self._least is None or lines.importance <= self._least:
                self._intervals.append(_interval(occurrence, lines, end_us))
        if len(self._intervals) > 2 * INTERVALS_KEPT:
            self._intervals = self.most_important()
            least = self._intervals[-1]
            self._least = (least.resolved is not None, -least.duration_ns // 1000)

    def most_important(self) -> list[OutageInterval]:
        """The unresolved ones first, then the longest."""
        return heapq.nsmallest(INTERVALS_KEPT, self._intervals, key=_importance)


def _common(signature: Signature, others: set[str]) -> tuple[str, ...]:
    return tuple(field for field in signature.fields if field in SUBJECT_FIELDS and field in others)


def _of(occurrence: Occurrence, endings: Sequence[_Endings], shift: int) -> Iterator[_OutageLines]:
    """Its intervals: after a pause, or an end between two of its lines, the later line begins another one."""
    began = last = count = 0
    ended, until = None, -NO_TIME  # what ends the trouble whose last line is at this time or before
    for first_us, last_us, lines in occurrence.histogram.spans():
        if count:
            if last > until:
                ended = _after(endings, last, shift)
                until = ended.us if ended is not None else NO_TIME
            if first_us - last > PAUSE_US or (ended is not None and ended.us < first_us):
                yield _OutageLines(began, last, count, ended)
                count = 0
        began = began if count else first_us
        last, count = max(last, last_us) if count else last_us, count + lines
    if count:
        yield _OutageLines(began, last, count, _after(endings, last, shift))


def _interval(occurrence: Occurrence, lines: _OutageLines, end_us: int | None) -> OutageInterval:
    began, last, count, ended = lines
    zoned = occurrence.zoned
    return OutageInterval(
        signature=occurrence.signature,
        logged_by=occurrence.logged_by,
        fields=occurrence.fields,
        began=LogTime(began, zoned),
        last=LogTime(last, zoned),
        count=count,
        resolved=None if ended is None else LogTime(ended.us, zoned),
        resolved_by="" if ended is None else ended.signature,
        log_end=None if end_us is None else LogTime(end_us, zoned),
    )


def _importance(interval: OutageInterval) -> tuple[bool, int, int, str, tuple[tuple[str, str], ...]]:
    return (
        interval.resolved is not None,
        -interval.duration_ns,
        interval.began.us,
        interval.logged_by,
        interval.fields,
    )


def _order(interval: OutageInterval) -> tuple[str, int, str, tuple[tuple[str, str], ...], bool]:
    return (interval.signature, interval.began.us, interval.logged_by, interval.fields, interval.began.zoned)
