"""Process runs of the servers in one series, and occurrences: the hits of all parts and of several series together."""

from __future__ import annotations

import heapq
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from jsdoctor.logs.aggregate.series import NO_TIME, File, Names
from jsdoctor.logs.lines import builtin
from jsdoctor.logs.scan.block import EXEMPLARS
from jsdoctor.logs.scan.rows import Fields, HitRow, HitSource, KeptLine, MarkRow, ProcessRef, SegmentRow
from jsdoctor.model.histogram import Histogram
from jsdoctor.model.log import DATED_US, MINUTE_US, Exemplar, LogTime, Measure, Occurrence, ProcessRun, SignatureTotal
from jsdoctor.redaction.redact import scrub_lines
from jsdoctor.redaction.scrubbed import scrubbed_fields

_LOGGED_ONCE = (builtin.ID, builtin.READY)
"""Lines that a process logs only once."""

_NORMAL_STOP_US = 5_000_000
_FATAL_WORDS = re.compile(
    r"Can't (?:set|start) |Could not (?:start resolver|write pidfile)|Error (?:listening on|setting|starting monitor)"
    r"|Not allowed to enable JetStream|Unable to (?:get websocket|listen for)|error starting profiler"
    r"|websocket listener|STREAM: "
)
"""How the fatal lines of nats-server begin (`Fatalf` in server/*.go)."""

_CLOSING = (builtin.STOPPING, builtin.LAME_DUCK, builtin.EXIT)


class OpenRun:
    """A process while its lines are gathered."""

    def __init__(self, file: File, start: int, process: ProcessRef, offset: int) -> None:
        self.file, self.start, self.process, self.offset = file, start, process, offset
        self.last_file = file
        self.started = False
        self.exemplar: Exemplar | None = None
        self.last: LogTime | None = None
        self.marks: dict[str, MarkRow] = {}
        self.firsts: dict[str, MarkRow] = {}

    def add_mark(self, file: File, mark: MarkRow) -> None:
        """Add a line that shows a state change of the process."""
        self.last_file = file
        self.marks[mark.name] = mark
        self.firsts.setdefault(mark.name, mark)
        at = time_of(file, mark)
        if at is not None:
            self.last = at if self.last is None else max(self.last, at)
        if mark.name == builtin.START:
            self.started = True
            self.exemplar = file.exemplar(mark.start, mark.seen, at)

    def add_segment(self, file: File, segment: SegmentRow) -> None:
        """Add lines of the process in one part."""
        self.last_file = file
        last = file.time(segment.highest_us)
        self.last = last if self.last is None else max(self.last, last)
        if self.exemplar is None:
            self.exemplar = file.exemplar(segment.start, segment.first, file.time(segment.first_us))

    def text(self, name: str) -> str:
        """What the last mark of that name captured."""
        mark = self.marks.get(name)
        return mark.seen.fields[0][1] if mark is not None and mark.seen.fields else ""

    def at(self, name: str) -> LogTime | None:
        """When the last mark of that name was written."""
        mark = self.marks.get(name)
        return None if mark is None else time_of(self.last_file, mark)

    def end(self, followed: bool) -> str:
        """How it ended; see `ProcessRun.end`. `followed`: the next process of the server starts."""
        if builtin.EXIT in self.marks:
            return "lame duck" if builtin.LAME_DUCK in self.marks else "clean"
        if self._failed():
            return "failed"
        if not followed:
            return "open"
        return "interrupted" if builtin.STOPPING in self.marks else "unclean"

    def _failed(self) -> bool:
        """Whether the server wrote a fatal line. Serilog has the same mark, so a bare line needs server text, too."""
        if builtin.FATAL not in self.marks:
            return False
        at = self.at(builtin.FATAL)
        signed = self.started or self.process.pid is not None or (at is not None and at.us >= DATED_US)
        return signed or _FATAL_WORDS.match(self.text(builtin.FATAL)) is not None

    def jetstream_stopped(self) -> LogTime | None:
        """When JetStream was shut down on a server that went on: not as part of a stop."""
        stopped = self.at(builtin.JETSTREAM_STOP)
        closing = [at for name in _CLOSING if (at := self.at(name)) is not None]
        if stopped is None or any(at.us - stopped.us <= _NORMAL_STOP_US for at in closing):
            return None
        return stopped


def time_of(file: File, mark: MarkRow) -> LogTime | None:
    """When a marked line was written."""
    if mark.seen.us is not None:
        return LogTime(mark.seen.us, mark.seen.zoned)
    return None if mark.native_us is None else file.time(mark.native_us)


def gather(
    files: Sequence[File], marks: dict[str, list[MarkRow]], segments: dict[str, list[SegmentRow]]
) -> list[OpenRun]:
    """All runs of a series. `files` are oldest first; a process goes on from file to file under one `ProcessRef`."""
    open_runs: dict[ProcessRef, OpenRun] = {}
    runs: list[OpenRun] = []
    for file in files:
        name = file.part.name
        items: list[tuple[int, int, MarkRow | SegmentRow]] = [
            (mark.seen.offset, mark.name != builtin.START, mark) for mark in marks.get(name, ())
        ]
        items.extend((segment.first.offset, 2, segment) for segment in segments.get(name, ()))
        for offset, _, item in sorted(items, key=lambda item: item[:2]):
            process = file.process(item.start, item.process)
            run = open_runs.get(process)
            begins = isinstance(item, MarkRow) and item.name == builtin.START
            if run is None or begins:
                run = open_runs[process] = OpenRun(file, item.start, process, offset)
                runs.append(run)
            if isinstance(item, MarkRow):
                run.add_mark(file, item)
            else:
                run.add_segment(file, item)
    return runs


def finished(runs: Iterable[OpenRun], names: Names) -> list[ProcessRun]:
    """The runs of a series as evidence, by server, oldest first."""
    by_server: dict[str, list[OpenRun]] = defaultdict(list)
    for run in runs:
        own = run.text(builtin.NAME)
        server = (
            own if own and not run.file.part.server else names.find(run.file, run.start, run.process, run.offset).name
        )
        by_server[server].append(run)
    process_runs = []
    for server, mine in sorted(by_server.items()):
        for number, run in enumerate(mine):
            after = next((later for later in mine[number + 1 :] if not _overlap(run, later)), None)
            process_runs.append(_process_run(server, run, after))
    return process_runs


def _overlap(run: OpenRun, later: OpenRun) -> bool:
    """Whether a process still logged after `later` had started: two servers whose lines are mixed, and no restart.

    Without process ids, the run then has some line twice that a process logs once.
    """
    if run.process == later.process:
        return any(later.firsts[name] is not later.marks[name] for name in _LOGGED_ONCE if name in later.marks)
    started = later.at(builtin.START)
    if run.last is None or started is None or run.last.zoned != started.zoned:
        return False
    return run.last.us > started.us


def _process_run(server: str, run: OpenRun, after: OpenRun | None) -> ProcessRun:
    followed = after is not None and after.started
    return ProcessRun(
        server=server,
        started=run.at(builtin.START),
        ready=run.at(builtin.READY),
        last=run.last,
        end=run.end(followed),
        signal=run.text(builtin.SIGNAL),
        version=run.text(builtin.VERSION),
        server_id=run.text(builtin.ID),
        pid=run.process.pid,
        bootstrapped=builtin.BOOTSTRAP in run.marks,
        recovered=builtin.RECOVER in run.marks,
        jetstream_stopped=run.jetstream_stopped(),
        reloaded=run.at(builtin.RELOADED),
        panic=run.text(builtin.PANIC),
        fatal=run.text(builtin.FATAL),
        same_file=after is None or after.file is run.last_file,
        exemplar=run.exemplar,
    )


BUCKETS = 512
"""A histogram with more spans than this gets wider ones: two minutes, four, and so on."""

KEPT = 1000
"""Maximum number of subjects of a signature kept of one series, those with most lines."""
_SLACK = 4  # times as many are collected before the others are dropped


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
        """The occurrence that checks read. `files` are those of the series by name."""
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
            measures[field] = Measure(field, count, low, high) if known is None else _widened(known, count, low, high)
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
        shown=_chosen_lines(firsts, lasts),
        first_text=firsts[0][1].text if firsts else None,
    )


def _chosen_lines(firsts: list[_SeenIn], lasts: list[_SeenIn]) -> list[_SeenIn]:
    """The first lines, and the last one. They are chosen before exemplars are made of them, which takes long."""

    def order(undated: int) -> Callable[[_SeenIn], tuple[int, str, int]]:
        return lambda item: (undated if item[1].us is None else item[1].us, item[0].file, item[1].offset)

    kept = sorted(firsts, key=order(NO_TIME))[:EXEMPLARS]
    last = max(lasts, key=order(-1), default=None)
    places = [(seen.offset, source.file) for source, seen in kept]
    return kept if last is None or (last[1].offset, last[0].file) in places else [*kept, last]


def _widened(known: Measure, count: int, low: int, high: int) -> Measure:
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
            measure if known is None else _widened(known, measure.count, measure.smallest, measure.largest)
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


class TopSubjects:
    """The occurrences of one signature with most lines, and the total of all, in bounded memory.

    Of subjects with equally many lines, the first ones are kept. Where every line names a subject of its own, nearly
    all are left out, so occurrences are made only of subjects that may be kept.
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
        """Add the lines of one subject."""
        count = hits.lines
        if len(self._counts) < self._kept or count > self._counts[0]:
            heapq.heappush(self._counts, count)
            if len(self._counts) > self._kept:
                heapq.heappop(self._counts)
            self._chosen.append((-count, self._subjects, hits.merged().occurrence(self._files)))
            if len(self._chosen) >= _SLACK * self._kept:
                self._chosen = heapq.nsmallest(self._kept, self._chosen)
        self.leave_out(count)

    def result(self) -> tuple[list[Occurrence], SignatureTotal]:
        """The occurrences with most lines, most first, and the total."""
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
