"""Occurrences: the hits of all parts of a series put together, and occurrences of several series."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from jsdoctor.model.log import DATED_US, MINUTE_US, Exemplar, Histogram, Measure, Occurrence, SignatureTotal
from jsdoctor.parse.logs.aggregate.series import NO_TIME, File
from jsdoctor.parse.logs.scan.rows import Fields, HitRow, KeptLine
from jsdoctor.parse.logs.scan.signature_counter import EXEMPLARS
from jsdoctor.parse.redact import scrub_line
from jsdoctor.parse.scrubbed import scrubbed_fields

BUCKETS = 512
"""A histogram with more spans than this gets wider ones: two minutes, four, and so on."""

KEPT = 1000
"""Subjects of a signature kept of one series, those with most lines first."""


_Span = tuple[int, int, int]
"""First and last time of some lines, and how many they are."""


class ServerHits(NamedTuple):
    """A hit row whose server and file are known."""

    server: str
    hits: HitRow
    file: File


_SeenIn = tuple[KeptLine, ServerHits]
"""A line, and the row that has it."""


class OneSubject(NamedTuple):
    """Rows of one signature, subject and server, which make one occurrence."""

    server: str
    zoned: bool
    rows: list[ServerHits]

    @property
    def lines(self) -> int:
        """How many lines they are."""
        return sum(row.hits.count for row in self.rows)

    def occurrence(self, signature: str) -> Occurrence:
        """What checks get to see of them."""
        return _occurrence(signature, self.server, self.zoned, self.rows)


def by_server(rows: Iterable[ServerHits]) -> Iterator[OneSubject]:
    """Rows that have the same signature and subject, by server."""
    groups: dict[tuple[str, bool], list[ServerHits]] = defaultdict(list)
    undated: list[ServerHits] = []
    for row in rows:
        if row.hits.zoned is None:
            undated.append(row)
        else:
            groups[row.server, row.hits.zoned].append(row)
    for row in undated:
        groups[row.server, (row.server, True) in groups].append(row)
    for (server, zoned), mine in sorted(groups.items()):
        yield OneSubject(server, zoned, mine)


def _occurrence(signature: str, server: str, zoned: bool, rows: list[ServerHits]) -> Occurrence:
    measures: dict[str, Measure] = {}
    for row in rows:
        for field, count, low, high in row.hits.measures:
            known = measures.get(field)
            measures[field] = Measure(field, count, low, high) if known is None else _wider(known, count, low, high)
    width, histogram = _histogram([span for row in rows for span in row.hits.minutes.spans()])
    firsts = [(seen, row) for row in rows for seen in row.hits.firsts]
    lasts = [(latest, row) for row in rows if (latest := row.hits.latest) is not None]
    return Occurrence(
        signature=signature,
        logged_by=server,
        fields=_subject(rows[0].hits.subject, firsts),
        count=sum(row.hits.count for row in rows),
        dated=sum(count for first, _, count in histogram.spans() if first >= DATED_US),
        zoned=zoned,
        bucket_us=width,
        histogram=histogram,
        measures=tuple(measures[field] for field in sorted(measures)),
        exemplars=tuple([row.file.exemplar(row.hits.start, seen) for seen, row in _shown(firsts, lasts)]),
    )


def _subject(captured: Fields, firsts: list[_SeenIn]) -> Fields:
    """The subject without secrets: a pattern may have cut a login so that only its line still shows what it is."""
    if not firsts:
        return captured
    text = firsts[0][0].text
    return scrubbed_fields(captured, text, scrub_line(text))


def _shown(firsts: list[_SeenIn], lasts: list[_SeenIn]) -> list[_SeenIn]:
    """The first lines, and the last one. To make exemplars of them takes long, so they are chosen before."""

    def rank(undated: int) -> Callable[[_SeenIn], tuple[int, str, int]]:
        return lambda item: (undated if item[0].us is None else item[0].us, item[1].hits.file, item[0].offset)

    kept = heapq.nsmallest(EXEMPLARS, firsts, key=rank(NO_TIME))
    last = max(lasts, key=rank(-1), default=None)
    places = [(seen.offset, row.hits.file) for seen, row in kept]
    return kept if last is None or (last[0].offset, last[1].hits.file) in places else [*kept, last]


def _wider(known: Measure, count: int, low: int, high: int) -> Measure:
    return Measure(known.field, known.count + count, min(known.smallest, low), max(known.largest, high))


def _exemplars(firsts: Iterable[Exemplar], lasts: Iterable[Exemplar]) -> tuple[Exemplar, ...]:
    kept = heapq.nsmallest(EXEMPLARS, firsts, key=_rank(NO_TIME))
    last = max(lasts, key=_rank(-1), default=None)
    return (*kept, last) if last is not None and last not in kept else tuple(kept)


def _rank(undated: int) -> Callable[[Exemplar], tuple[int, str, int]]:
    return lambda line: (undated if line.at is None else line.at.us, line.file, line.offset)


def _histogram(spans: Iterable[_Span], width: int = MINUTE_US) -> tuple[int, Histogram]:
    """Spans that fell into the same bucket joined; buckets are as narrow as their number allows."""
    spans = list(spans)
    keys = {first // width for first, _, _ in spans}
    while len(keys) > BUCKETS:
        keys = {key // 2 for key in keys}
        width *= 2
    return width, Histogram.joined(spans, width)


def merged(same: list[Occurrence]) -> Occurrence:
    """Occurrences of one signature, subject and server from several series as one."""
    if len(same) == 1:
        return same[0]
    width, histogram = _histogram(
        [span for occurrence in same for span in occurrence.histogram.spans()],
        max(occurrence.bucket_us for occurrence in same),
    )
    measures: dict[str, Measure] = {}
    for measure in (measure for occurrence in same for measure in occurrence.measures):
        known = measures.get(measure.field)
        measures[measure.field] = (
            measure if known is None else _wider(known, measure.count, measure.smallest, measure.largest)
        )
    lines = [line for occurrence in same for line in occurrence.exemplars]
    return Occurrence(
        signature=same[0].signature,
        logged_by=same[0].logged_by,
        fields=same[0].fields,
        count=sum(occurrence.count for occurrence in same),
        dated=sum(occurrence.dated for occurrence in same),
        zoned=same[0].zoned,
        bucket_us=width,
        histogram=histogram,
        measures=tuple(measures[field] for field in sorted(measures)),
        exemplars=_exemplars(lines, [occurrence.exemplars[-1] for occurrence in same if occurrence.exemplars]),
    )


class Most:
    """The occurrences of one signature with most lines, and the total of all, in bounded memory.

    Of subjects with as many lines those that come first are kept. Where every line names a subject of its own, nearly
    all are left out: occurrences are made of those only that are not.
    """

    def __init__(self, signature: str, kept: int = KEPT) -> None:
        self._signature, self._kept = signature, kept
        self._chosen: list[tuple[int, int, Occurrence]] = []
        self._counts: list[int] = []
        self._count = self._subjects = 0

    def may_keep(self, count: int) -> bool:
        """Whether a subject with so many lines would be one of those with most so far."""
        return len(self._counts) < self._kept or count > self._counts[0]

    def leave_out(self, count: int, subjects: int = 1) -> None:
        """So many more with so many lines, of which nothing else is known."""
        self._count += count
        self._subjects += subjects

    def add(self, hits: OneSubject) -> None:
        """One more."""
        count = hits.lines
        if self.may_keep(count):
            heapq.heappush(self._counts, count)
            if len(self._counts) > self._kept:
                heapq.heappop(self._counts)
            self._chosen.append((-count, self._subjects, hits.occurrence(self._signature)))
            if len(self._chosen) >= 4 * self._kept:
                self._chosen = heapq.nsmallest(self._kept, self._chosen)
        self.leave_out(count)

    def result(self) -> tuple[list[Occurrence], SignatureTotal]:
        """Those with most lines, most first, and what was left out."""
        kept = heapq.nsmallest(self._kept, self._chosen)
        chosen = sorted((occurrence for _, _, occurrence in kept), key=rank)
        return chosen, SignatureTotal(
            signature=self._signature,
            count=self._count,
            subjects=self._subjects,
            omitted_subjects=self._subjects - len(chosen),
            omitted_count=self._count - sum(occurrence.count for occurrence in chosen),
        )


def rank(occurrence: Occurrence) -> tuple[int, tuple[tuple[str, str], ...], str, bool]:
    """Order of occurrences of one signature: most lines first."""
    return (-occurrence.count, occurrence.fields, occurrence.logged_by, occurrence.zoned)
