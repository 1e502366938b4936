"""Occurrences: the hits of all parts of a series put together, and occurrences of several series."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from jsdoctor.model.log import DATED_US, MINUTE_US, Exemplar, Histogram, Measure, Occurrence, SignatureTotal
from jsdoctor.parse.logs.aggregate.series import NO_TIME, File
from jsdoctor.parse.logs.scan.rows import Fields, HitRow, HitSource, KeptLine
from jsdoctor.parse.logs.scan.signature_counter import EXEMPLARS
from jsdoctor.parse.redact import scrub_lines
from jsdoctor.parse.scrubbed import scrubbed_fields

BUCKETS = 512
"""A histogram with more spans than this gets wider ones: two minutes, four, and so on."""

KEPT = 1000
"""Subjects of a signature kept of one series, those with most lines first."""


class ServerHits(NamedTuple):
    """A hit row whose server is known."""

    server: str
    hits: HitRow


_SeenIn = tuple[HitSource, KeptLine]
"""Who wrote a line, and the line."""


class MergedHits(NamedTuple):
    """Lines of one signature, subject and server, put together: of them an occurrence is made.

    `shown` are the first lines and the last one, `first_text` is the text of the line whose subject is given.
    """

    signature: str
    server: str
    zoned: bool
    subject: Fields
    lines: int
    bucket_us: int
    histogram: Histogram
    measures: tuple[Measure, ...]
    shown: list[_SeenIn]
    first_text: str | None

    def occurrence(self, files: Mapping[str, File]) -> Occurrence:
        """What checks get to see of them. `files` are those of the series by name."""
        first = self.first_text
        texts = scrub_lines([seen.text for _, seen in self.shown] + ([] if first is None else [first]))
        return Occurrence(
            signature=self.signature,
            logged_by=self.server,
            fields=self.subject if first is None else scrubbed_fields(self.subject, first, texts[-1]),
            count=self.lines,
            dated=self.histogram.lines_from(DATED_US),
            zoned=self.zoned,
            bucket_us=self.bucket_us,
            histogram=self.histogram,
            measures=self.measures,
            exemplars=tuple(
                [
                    files[source.file].exemplar(source.start, seen, text=text)
                    for (source, seen), text in zip(self.shown, texts, strict=False)
                ]
            ),
        )


class OneSubject(NamedTuple):
    """Lines of one signature, subject and server: how many, and what puts them together."""

    lines: int
    merged: Callable[[], MergedHits]


def by_server(rows: Iterable[ServerHits]) -> Iterator[OneSubject]:
    """Rows that have the same signature and subject, by server."""
    groups: dict[tuple[str, bool], list[HitRow]] = defaultdict(list)
    undated: list[ServerHits] = []
    for row in rows:
        if row.hits.source.zoned is None:
            undated.append(row)
        else:
            groups[row.server, row.hits.source.zoned].append(row.hits)
    for row in undated:
        groups[row.server, (row.server, True) in groups].append(row.hits)
    for (server, zoned), mine in sorted(groups.items(), key=lambda group: group[0]):
        yield OneSubject(sum(hits.count for hits in mine), partial(_merged_hits, server, zoned, mine))


def _merged_hits(server: str, zoned: bool, rows: list[HitRow]) -> MergedHits:
    measures: dict[str, Measure] = {}
    for row in rows:
        for field, count, low, high in row.measures:
            known = measures.get(field)
            measures[field] = Measure(field, count, low, high) if known is None else _wider(known, count, low, high)
    width, histogram = _histogram([row.minutes for row in rows])
    firsts = [(row.source, seen) for row in rows for seen in row.firsts]
    lasts = [(row.source, latest) for row in rows if (latest := row.latest) is not None]
    return MergedHits(
        signature=rows[0].signature,
        server=server,
        zoned=zoned,
        subject=rows[0].subject,
        lines=sum(row.count for row in rows),
        bucket_us=width,
        histogram=histogram,
        measures=tuple(measures[field] for field in sorted(measures)),
        shown=_shown(firsts, lasts),
        first_text=firsts[0][1].text if firsts else None,
    )


def _shown(firsts: list[_SeenIn], lasts: list[_SeenIn]) -> list[_SeenIn]:
    """The first lines, and the last one. To make exemplars of them takes long, so they are chosen before."""

    def rank(undated: int) -> Callable[[_SeenIn], tuple[int, str, int]]:
        return lambda item: (undated if item[1].us is None else item[1].us, item[0].file, item[1].offset)

    kept = sorted(firsts, key=rank(NO_TIME))[:EXEMPLARS]
    last = max(lasts, key=rank(-1), default=None)
    places = [(seen.offset, source.file) for source, seen in kept]
    return kept if last is None or (last[1].offset, last[0].file) in places else [*kept, last]


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

    def __init__(self, signature: str, files: Mapping[str, File], kept: int = KEPT) -> None:
        self._signature, self._files, self._kept = signature, files, kept
        self._chosen: list[tuple[int, int, Occurrence]] = []
        self._counts: list[int] = []
        self._count = self._subjects = 0

    def leave_out(self, count: int, subjects: int = 1) -> None:
        """Add a number of lines of which nothing else is known."""
        self._count += count
        self._subjects += subjects

    def add(self, hits: OneSubject) -> None:
        """One more."""
        count = hits.lines
        if len(self._counts) < self._kept or count > self._counts[0]:
            heapq.heappush(self._counts, count)
            if len(self._counts) > self._kept:
                heapq.heappop(self._counts)
            self._chosen.append((-count, self._subjects, hits.merged().occurrence(self._files)))
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
