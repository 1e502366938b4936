"""Spells: how long a trouble lasted, and whether something ended it."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from jsdoctor.model.log import SUBJECT_FIELDS, Histogram, LogTime, Occurrence, Spell
from jsdoctor.model.rule import Signature
from jsdoctor.parse.logs.offsets import CommonTime

PAUSE_US = 300_000_000
"""A trouble that is not logged for so long is over; the next line begins another spell."""

SPELLS_KEPT = 200
"""Of each signature: the unresolved ones first, then the longest."""


class _Line(NamedTuple):
    us: int
    signature: str


class _Ending(NamedTuple):
    """What may end a trouble: a signature, its buckets with their last times, and what to add to be on its clock."""

    signature: str
    buckets: Histogram
    lasts: list[int]
    shift: int


class _Resolvers:
    """Lines that end one trouble, by what they and the trouble have in common: subjects, else who logged them."""

    def __init__(self, trouble: Signature, common: Mapping[str, tuple[str, ...]], found: Sequence[Occurrence]) -> None:
        self._common = common
        self._by_subject: dict[tuple[str, tuple[str, ...]], list[tuple[Occurrence, list[int]]]] = defaultdict(list)
        self._names = trouble.resolved_by
        for occurrence in found:
            if occurrence.signature in common:
                values = tuple(occurrence.value(field) for field in common[occurrence.signature])
                who = values if common[occurrence.signature] else (occurrence.logged_by,)
                self._by_subject[occurrence.signature, who].append((occurrence, occurrence.histogram.lasts()))

    def of(self, trouble: Occurrence, time: CommonTime) -> list[_Ending]:
        """What may end this trouble."""
        endings = []
        for name in self._names:
            fields = self._common.get(name, ())
            who = tuple(trouble.value(field) for field in fields) or (trouble.logged_by,)
            for occurrence, lasts in self._by_subject.get((name, who), ()):
                shift = time.between(trouble.logged_by, occurrence.logged_by, trouble.zoned, occurrence.zoned)
                if shift is not None:
                    endings.append(_Ending(name, occurrence.histogram, lasts, shift))
        return endings


def _after(endings: Sequence[_Ending], us: int) -> _Line | None:
    """The first line at or after `us` (of the trouble's clock) that ends it.

    Of a bucket that `us` falls into that is the last line; else the first one.
    """
    best: _Line | None = None
    for name, buckets, lasts, shift in endings:
        index = bisect_left(lasts, us - shift)
        if index < len(lasts):
            first = buckets[index].first_us + shift
            at = first if first >= us else lasts[index] + shift
            if best is None or at < best.us:
                best = _Line(at, name)
    return best


def spells(
    signatures: Sequence[Signature],
    found: Sequence[Occurrence],
    time: CommonTime,
    ends: Mapping[tuple[str, bool], int],
    cut: Mapping[str, int],
) -> tuple[list[Spell], int]:
    """All spells of signatures with `resolved_by`, and how many were left out.

    `ends` are the last times of servers by whether these are zoned. `cut` tells which signatures had subjects that were
    not kept: what those may have ended cannot be called unresolved, and is left out.
    """
    fields = {signature.name: set(signature.fields) for signature in signatures}
    kept: list[Spell] = []
    omitted = 0
    by_name: dict[str, list[Occurrence]] = defaultdict(list)
    for occurrence in found:
        by_name[occurrence.signature].append(occurrence)
    for signature in signatures:
        if not signature.resolved_by or signature.name not in by_name:
            continue
        common = {name: _common(signature, fields.get(name, set())) for name in signature.resolved_by}
        resolvers = _Resolvers(signature, common, [one for name in common for one in by_name.get(name, ())])
        doubtful = any(cut.get(name) for name in signature.resolved_by)
        mine = _Chosen(doubtful)
        for occurrence in by_name[signature.name]:
            end_us = ends.get((occurrence.logged_by, occurrence.zoned))
            mine.add(_of(occurrence, resolvers.of(occurrence, time), end_us))
        chosen = mine.most_important()
        omitted += mine.count - len(chosen)
        kept.extend(chosen)
    return sorted(kept, key=_order), omitted


class _Chosen:
    """The most important spells of one signature, in bounded memory. `doubtful`: unresolved ones are left out."""

    def __init__(self, doubtful: bool) -> None:
        self.count = 0
        self._doubtful = doubtful
        self._spells: list[Spell] = []

    def add(self, spells: Iterable[Spell]) -> None:
        """Those of one more subject."""
        for spell in spells:
            self.count += 1
            if spell.resolved is not None or not self._doubtful:
                self._spells.append(spell)
        if len(self._spells) > 10 * SPELLS_KEPT:
            self._spells = self.most_important()

    def most_important(self) -> list[Spell]:
        """The unresolved ones first, then the longest."""
        return heapq.nsmallest(SPELLS_KEPT, self._spells, key=_importance)


def _common(signature: Signature, others: set[str]) -> tuple[str, ...]:
    return tuple(field for field in signature.fields if field in SUBJECT_FIELDS and field in others)


def _of(occurrence: Occurrence, endings: Sequence[_Ending], end_us: int | None) -> Iterator[Spell]:
    """Its spells: a pause, or an end between two of its lines, and the later one begins another."""
    began = last = count = 0
    for first_us, last_us, lines in occurrence.histogram.spans():
        if count:
            ended = _after(endings, last)
            if first_us - last > PAUSE_US or (ended is not None and ended.us < first_us):
                yield _spell(occurrence, (began, last, count), ended, end_us)
                count = 0
        began = began if count else first_us
        last, count = max(last, last_us) if count else last_us, count + lines
    if count:
        yield _spell(occurrence, (began, last, count), _after(endings, last), end_us)


def _spell(occurrence: Occurrence, lines: tuple[int, int, int], ended: _Line | None, end_us: int | None) -> Spell:
    began, last, count = lines
    zoned = occurrence.zoned
    return Spell(
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


def _importance(spell: Spell) -> tuple[bool, int, int, str, tuple[tuple[str, str], ...]]:
    return (spell.resolved is not None, -spell.duration_ns, spell.began.us, spell.logged_by, spell.fields)


def _order(spell: Spell) -> tuple[str, int, str, tuple[tuple[str, str], ...], bool]:
    return (spell.signature, spell.began.us, spell.logged_by, spell.fields, spell.began.zoned)
