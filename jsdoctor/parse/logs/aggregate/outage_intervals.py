"""Outage intervals: how long a problem lasted, and whether a log line ended it."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from jsdoctor.model.log import SUBJECT_FIELDS, LogTime, Occurrence, OutageInterval
from jsdoctor.model.rule import Signature
from jsdoctor.parse.logs.aggregate.offsets import CommonTime
from jsdoctor.parse.logs.aggregate.outages import Endings, Importance, Outage, finder

INTERVALS_KEPT = 200
"""Of each signature: the unresolved ones first, then the longest."""


_Key = tuple[str, tuple[str, ...], tuple[bool, str]]
"""A signature, what it has in common with the trouble, and the clock it is on."""


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
        self._incident = incident
        self._endings: dict[_Key, Endings] = {}
        for occurrence in occurrences:
            if occurrence.signature in common:
                key, shift = self._key(occurrence.signature, occurrence)
                self._endings.setdefault(key, Endings(occurrence.signature)).add(occurrence.histogram, shift)

    def _key(self, name: str, occurrence: Occurrence) -> tuple[_Key, int]:
        clock, shift = self._time.clock(occurrence.logged_by, occurrence.zoned)
        fields = self._common.get(name, ())
        return (name, tuple(map(occurrence.value, fields)) or (occurrence.logged_by,), clock), shift

    def of(self, incident: Occurrence) -> tuple[list[Endings], int]:
        """What may end this trouble, and what to add to its times to be on their clock."""
        names = self._incident.endings_of(value for _, value in incident.fields)
        keys = [self._key(name, incident) for name in names]
        result = [self._endings[key] for key, _ in keys if key in self._endings]
        return result, keys[0][1] if keys else 0


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
        common = {name: _common(signature, fields.get(name, set())) for name in signature.endings}
        resolvers = _Resolvers(
            signature, common, (occurrence for name in common for occurrence in by_name.get(name, ())), time
        )
        doubtful = any(cut.get(name) for name in signature.endings)
        mine = _Chosen(doubtful)
        for occurrence in by_name[signature.name]:
            end_us = ends.get((occurrence.logged_by, occurrence.zoned))
            mine.add(occurrence, *resolvers.of(occurrence), end_us)
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
        self._least: Importance | None = None
        self._find = finder()

    def add(self, occurrence: Occurrence, endings: Sequence[Endings], shift: int, end_us: int | None) -> None:
        """Those of one more subject. Of thousands few are important: of the others no interval is made."""
        count, outages = self._find(occurrence.histogram, endings, shift, self._doubtful, self._least)
        self.count += count
        self._intervals += [_interval(occurrence, outage, end_us) for outage in outages]
        if len(self._intervals) > 2 * INTERVALS_KEPT:
            self._intervals = self.most_important()
            least = self._intervals[-1]
            self._least = (least.resolved is not None, -least.duration_ns // 1000)

    def most_important(self) -> list[OutageInterval]:
        """The unresolved ones first, then the longest."""
        return heapq.nsmallest(INTERVALS_KEPT, self._intervals, key=_importance)


def _common(signature: Signature, others: set[str]) -> tuple[str, ...]:
    return tuple(field for field in signature.fields if field in SUBJECT_FIELDS and field in others)


def _interval(occurrence: Occurrence, outage: Outage, end_us: int | None) -> OutageInterval:
    began, last, count, ended = outage
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
