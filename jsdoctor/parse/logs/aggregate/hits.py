"""Occurrences: the hits of all parts of a series put together, and occurrences of several series."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from jsdoctor.model.log import DATED_US, MINUTE_US, Exemplar, Histogram, Measure, Occurrence, SignatureTotal
from jsdoctor.parse.logs.aggregate.series import NO_TIME, File
from jsdoctor.parse.logs.scan.rows import HitRow, KeptLine
from jsdoctor.parse.logs.scan.signature_counter import EXEMPLARS
from jsdoctor.parse.redact import scrub_lines
from jsdoctor.parse.scrubbed import scrubbed_fields

BUCKETS = 512
"""A histogram with more spans than this gets wider ones: two minutes, four, and so on."""

KEPT = 1000
"""Subjects of a signature kept of one series, those with most lines first."""


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
        if row.hits.source.zoned is None:
            undated.append(row)
        else:
            groups[row.server, row.hits.source.zoned].append(row)
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
    width, histogram = _histogram([row.hits.minutes for row in rows])
    firsts = [(seen, row) for row in rows for seen in row.hits.firsts]
    lasts = [(latest, row) for row in rows if (latest := row.hits.latest) is not None]
    shown = _shown(firsts, lasts)
    texts = scrub_lines([seen.text for seen, _ in (*shown, *firsts[:1])])
    return Occurrence(
        signature=signature,
        logged_by=server,
        fields=scrubbed_fields(rows[0].hits.subject, firsts[0][0].text, texts[-1]) if firsts else rows[0].hits.subject,
        count=sum(row.hits.count for row in rows),
        dated=histogram.lines_from(DATED_US),
        zoned=zoned,
        bucket_us=width,
        histogram=histogram,
        measures=tuple(measures[field] for field in sorted(measures)),
        exemplars=tuple(
            [
                row.file.exemplar(row.hits.source.start, seen, text=text)
                for (seen, row), text in zip(shown, texts, strict=False)
            ]
        ),
    )


def _shown(firsts: list[_SeenIn], lasts: list[_SeenIn]) -> list[_SeenIn]:
    """The first lines, and the last one. To make exemplars of them takes long, so they are chosen before."""

    def rank(undated: int) -> Callable[[_SeenIn], tuple[int, str, int]]:
        return lambda item: (undated if item[0].us is None else item[0].us, item[1].hits.source.file, item[0].offset)

    kept = sorted(firsts, key=rank(NO_TIME))[:EXEMPLARS]
    last = max(lasts, key=rank(-1), default=None)
    places = [(seen.offset, row.hits.source.file) for seen, row in kept]
    return kept if last is None or (last[0].offset, last[1].hits.source.file) in places else [*kept, last]


def _wider(known: Measure, count: int, low: int, high: int) -> Measure:
    return Measure(known.field, known.count + count, min(known.smallest, low), max(known.largest, high))


def _exemplars(firsts: Iterable[Exemplar], lasts: Iterable[Exemplar]) -> tuple[Exemplar, ...]:
    kept = heapq.nsmallest(EXEMPLARS, firsts, key=_rank(NO_TIME))
    last = max(lasts, key=_rank(-1), default=None)
    return (*kept, last) if last is not None and last not in kept else tuple(kept)


def _rank(undated: int) -> Callable[[Exemplar], tuple[int, str, int]]:
    return lambda line: (undated if line.at is None else line.at.us, line.file, line.offset)


def _histogram(parts: Sequence[Histogram], width: int = MINUTE_US) -> tuple[int, Histogram]:
    """Histograms of at most this width as one; its buckets are as narrow as their number allows."""
    if width == MINUTE_US and sum(map(len, parts)) <= BUCKETS:
        return width, Histogram.together(parts, width)
    keys = {first // width for part in parts for first in part.firsts()}
    while len(keys) > BUCKETS:
        keys = {key // 2 for key in keys}
        width *= 2
    return width, Histogram.joined([span for part in parts for span in part.spans()], width)


def merged(same: list[Occurrence]) -> Occurrence:
    """Occurrences of one signature, subject and server from several series as one."""
    if len(same) == 1:
        return same[0]
    width, histogram = _histogram(
        [occurrence.histogram for occurrence in same], max(occurrence.bucket_us for occurrence in same)
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
        """Add a number of lines of which nothing else is known."""
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
