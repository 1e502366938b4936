"""Spells: how long a trouble lasted, and whether something ended it."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from jsdoctor.model.log import SUBJECT_FIELDS, LogTime, Occurrence, Spell
from jsdoctor.model.rule import Signature
from jsdoctor.parse.logs.offsets import CommonTime

PAUSE_US = 300_000_000
"""A trouble that is not logged for so long is over; the next line begins another spell."""

SPELLS_KEPT = 200
"""Of each signature: the unresolved ones first, then the longest."""


class _Line(NamedTuple):
    us: int
    signature: str


class _Resolvers:
    """Lines that end one trouble, by what they and the trouble have in common."""

    def __init__(self, trouble: Signature, common: Mapping[str, tuple[str, ...]], found: Sequence[Occurrence]) -> None:
        self._common = common
        self._by_subject: dict[tuple[str, tuple[str, ...]], list[Occurrence]] = defaultdict(list)
        self._names = trouble.resolved_by
        for occurrence in found:
            if occurrence.signature in common:
                values = tuple(occurrence.value(field) for field in common[occurrence.signature])
                self._by_subject[occurrence.signature, values].append(occurrence)

    def after(self, trouble: Occurrence, us: int, time: CommonTime) -> _Line | None:
        """The first line at or after `us` (of the trouble's clock) that ends it."""
        best: _Line | None = None
        for name in self._names:
            fields = self._common.get(name, ())
            for occurrence in self._by_subject.get((name, tuple(trouble.value(field) for field in fields)), ()):
                if not fields and occurrence.logged_by != trouble.logged_by:
                    continue
                shift = time.between(trouble.logged_by, occurrence.logged_by, trouble.zoned, occurrence.zoned)
                at = None if shift is None else _first_from(occurrence, us - shift)
                if at is not None and shift is not None and (best is None or at + shift < best.us):
                    best = _Line(at + shift, name)
        return best

    def between(self, trouble: Occurrence, us: int, next_us: int, time: CommonTime) -> bool:
        """Whether it ended between two of its lines: the second then begins another spell."""
        ended = self.after(trouble, us, time)
        return ended is not None and ended.us < next_us


def _first_from(occurrence: Occurrence, us: int) -> int | None:
    """The time of a line not before `us`: the first one, or the last of the bucket that `us` falls into."""
    buckets = occurrence.histogram
    index = bisect_left(buckets, us, key=lambda bucket: bucket.last_us)
    if index == len(buckets):
        return None
    return buckets[index].first_us if buckets[index].first_us >= us else buckets[index].last_us


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
        mine = [
            spell
            for occurrence in by_name[signature.name]
            for spell in _of(occurrence, resolvers, time, ends.get((occurrence.logged_by, occurrence.zoned)))
        ]
        judged = [spell for spell in mine if spell.resolved is not None or not doubtful]
        chosen = sorted(judged, key=_importance)[:SPELLS_KEPT]
        omitted += len(mine) - len(chosen)
        kept.extend(chosen)
    return sorted(kept, key=_order), omitted


def _common(signature: Signature, others: set[str]) -> tuple[str, ...]:
    return tuple(field for field in signature.fields if field in SUBJECT_FIELDS and field in others)


def _of(occurrence: Occurrence, resolvers: _Resolvers, time: CommonTime, end_us: int | None) -> Iterator[Spell]:
    began = last = count = 0
    for bucket in occurrence.histogram:
        if count and (bucket.first_us - last > PAUSE_US or resolvers.between(occurrence, last, bucket.first_us, time)):
            yield _spell(occurrence, (began, last, count), resolvers, time, end_us)
            count = 0
        began = began if count else bucket.first_us
        last, count = max(last, bucket.last_us) if count else bucket.last_us, count + bucket.count
    if count:
        yield _spell(occurrence, (began, last, count), resolvers, time, end_us)


def _spell(
    occurrence: Occurrence,
    lines: tuple[int, int, int],
    resolvers: _Resolvers,
    time: CommonTime,
    end_us: int | None,
) -> Spell:
    began, last, count = lines
    ended = resolvers.after(occurrence, last, time)
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
