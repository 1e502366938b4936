"""Aggregates the rows of whole series: from what single parts contain to the logs of a server."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby

from jsdoctor.model.log import LogGap, ProcessRun
from jsdoctor.model.log_scan import Row
from jsdoctor.parse.logs.aggregate import aggregated
from jsdoctor.parse.logs.aggregate.aggregated import Aggregated, ServerSeen
from jsdoctor.parse.logs.aggregate.elections import sightings
from jsdoctor.parse.logs.aggregate.hit_groups import groups_of, native_groups_of
from jsdoctor.parse.logs.aggregate.hits import KEPT, Most
from jsdoctor.parse.logs.aggregate.restored import falls
from jsdoctor.parse.logs.aggregate.runs import finished, gather
from jsdoctor.parse.logs.aggregate.series import KNOWN_FROM, NO_TIME, File, Names
from jsdoctor.parse.logs.aggregate.time_jumps import jumps_of, longest
from jsdoctor.parse.logs.lines import builtin
from jsdoctor.parse.logs.scan import rows
from jsdoctor.parse.logs.scan.rows import HitSource, JumpRow, MarkRow, PartRow, ProcessRef, SegmentRow, read

RUNS_KEPT = 5000
"""Newest process runs kept of one series."""


def aggregate(scanned: Iterable[Row], native: bool = False) -> Iterator[Aggregated]:
    """Aggregate sorted rows; the rows of each series are adjacent. Of one series, all but the hits is in memory.

    `native`: the compiled core brings the hits together.
    """
    for series, mine in groupby(scanned, key=lambda row: row[0]):
        yield from _SeriesState(series, native).aggregate(mine)


class _SeriesState:
    def __init__(self, series: str, native: bool) -> None:
        self._series, self._native = series, native
        self._parts: dict[str, list[PartRow]] = defaultdict(list)
        self._marks: dict[str, list[MarkRow]] = defaultdict(list)
        self._segments: dict[str, list[SegmentRow]] = defaultdict(list)
        self._jumps: dict[str, list[JumpRow]] = defaultdict(list)
        self._restored: dict[str, list[MarkRow]] = defaultdict(list)
        self._files: dict[str, File] = {}
        self._names = Names(series, [])

    def aggregate(self, scanned: Iterable[Row]) -> Iterator[Aggregated]:
        settled = False
        for analysis, mine in groupby(scanned, key=lambda row: row[1]):
            if analysis != rows.HIT:
                self._take(analysis, mine)
                continue
            self._settle()
            settled = True
            yield from self._hits(mine)
        if not settled:
            self._settle()
        yield from self._story()

    def _take(self, analysis: str, mine: Iterable[Row]) -> None:
        for _, _, file, _, _, value in mine:
            if analysis == rows.PART:
                self._parts[file].append(read(PartRow, value))
            elif analysis == rows.MARK:
                self._marks[file].append(read(MarkRow, value))
            elif analysis == rows.SEGMENT:
                self._segments[file].append(read(SegmentRow, value))
            elif analysis == rows.RESTORED:
                self._restored[file].append(read(MarkRow, value))
            else:
                self._jumps[file].append(read(JumpRow, value))

    def _settle(self) -> None:
        self._files = {name: File(parts) for name, parts in self._parts.items()}
        named = [(self._files[file], mark) for file, marks in self._marks.items() for mark in marks]
        self._names = Names(self._series, named)

    def _hits(self, mine: Iterable[Row]) -> Iterator[Aggregated]:
        most: Most | None = None
        signature = ""
        for group in (
            native_groups_of(mine, KEPT, self._server_of) if self._native else groups_of(mine, self._server_of)
        ):
            if most is None or group.signature != signature:
                yield from self._most(most)
                most, signature = Most(group.signature, self._files), group.signature
            for hits in group.on_servers:
                most.add(hits)
            if not group.on_servers:
                most.leave_out(group.lines, group.subjects)
        yield from self._most(most)

    def _most(self, most: Most | None) -> Iterator[Aggregated]:
        if most is not None:
            chosen, total = most.result()
            yield from (self._found(aggregated.OCCURRENCE, item) for item in chosen)
            yield self._found(aggregated.TOTAL, total)

    def _server_of(self, source: HitSource) -> str:
        file = self._files[source.file]
        return file.part.server or source.name or self._names.of(file, source.start, source.process, source.start)[0]

    def _story(self) -> Iterator[Aggregated]:
        files = sorted(self._files.values(), key=_age)
        runs = finished(gather(files, self._marks, self._segments), self._names)
        if len(runs) > RUNS_KEPT:
            yield self._found(aggregated.OMITTED, ("runs", len(runs) - RUNS_KEPT))
        yield from (self._found(aggregated.RUN, run) for run in runs[-RUNS_KEPT:])
        gaps: list[LogGap] = []
        for file in files:
            name = file.part.name
            counted = sum(part.steps for part in file.parts)
            jumps = jumps_of(file, self._names, self._jumps[name], counted, self._segments[name])
            gaps.extend(jumps.gaps)
            yield from (self._found(aggregated.STEP, step) for step in jumps.steps)
            yield self._found(aggregated.FILE, file.as_read(self._servers_of(file), jumps.interleaved))
        yield from (self._found(aggregated.GAP, gap) for gap in longest(gaps))
        fallen, streams = falls(files, self._names, self._restored, self._marks)
        yield from (self._found(aggregated.FALL, fall) for fall in fallen)
        yield self._found(aggregated.RESTORED, sorted(streams))
        seen = sightings(files, self._names, self._marks)
        yield from (self._found(aggregated.ELECTION, sighting) for sighting in seen)
        yield from (self._found(aggregated.SERVER, server) for server in self._servers(files, runs))

    def _servers_of(self, file: File) -> tuple[str, ...]:
        return tuple(sorted({self._names.of(file, *spoken)[0] for spoken in self._spoken(file.part.name)}))

    def _spoken(self, file: str) -> Iterator[tuple[int, ProcessRef, int]]:
        """Where the processes of a file write: start of the part, process, and an offset after its identification."""
        yield from ((segment.start, segment.process, segment.last_at + 1) for segment in self._segments[file])
        yield from ((mark.start, mark.process, mark.seen.offset + 1) for mark in self._marks[file])

    def _servers(self, files: list[File], runs: list[ProcessRun]) -> Iterator[ServerSeen]:
        known: dict[str, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
        for file in files:
            name = file.part.name
            for start, process, before in self._spoken(name):
                server, how = self._names.of(file, start, process, before)
                known[server][0].add(how)
                known[server][1].add(name)
        clusters = self._clusters(files)
        for server, (ways, inside) in sorted(known.items()):
            how = min(ways, key=KNOWN_FROM.index)
            mine = [run for run in runs if run.server == server]
            times = [time for run in mine for time in (run.started, run.last) if time is not None]
            versions = tuple(dict.fromkeys(run.version for run in mine if run.version))
            cluster = clusters.get(server, "")
            first, last = min(times, default=None), max(times, default=None)
            yield ServerSeen(server, how, cluster, versions, tuple(sorted(inside)), first, last)

    def _clusters(self, files: list[File]) -> dict[str, str]:
        clusters = {}
        for file in files:
            for mark in self._marks[file.part.name]:
                if mark.name == builtin.CLUSTER:
                    server, _ = self._names.of(file, mark.start, mark.process, NO_TIME)
                    clusters[server] = mark.seen.fields[0][1]
        return clusters

    def _found(self, analysis: str, value: object) -> Aggregated:
        return Aggregated(self._series, analysis, value)


def _age(file: File) -> tuple[bool, bool, int, str]:
    """Order of the files of a series: by their first time, local times apart from zoned ones."""
    span = file.span()
    return (span is None, span is None or span[0].zoned, span[0].us if span else 0, file.part.name)
