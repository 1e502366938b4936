"""Aggregates the rows of whole series: from what single parts contain to the logs of a server."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

import msgspec

from jsdoctor.logs.aggregate import aggregated
from jsdoctor.logs.aggregate.aggregated import Aggregated, ServerSeen
from jsdoctor.logs.aggregate.elections import sightings
from jsdoctor.logs.aggregate.offsets import jumps_of, longest
from jsdoctor.logs.aggregate.runs import (
    KEPT,
    MergedHits,
    OneSubject,
    ServerHits,
    TopSubjects,
    by_server,
    finished,
    gather,
)
from jsdoctor.logs.aggregate.series import KNOWN_FROM, NO_TIME, File, Names
from jsdoctor.logs.lines import builtin
from jsdoctor.logs.lines.builtin import START
from jsdoctor.logs.scan import rows
from jsdoctor.logs.scan.native_core import NativeGroup, hit_groups
from jsdoctor.logs.scan.rows import (
    FoundHit,
    HitSignature,
    HitSource,
    JumpRow,
    KeptLine,
    MarkRow,
    PartRow,
    ProcessRef,
    SegmentRow,
    hits_of,
    read,
)
from jsdoctor.model.histogram import Histogram
from jsdoctor.model.log import LogGap, Measure, ProcessRun, RestoredFall
from jsdoctor.model.log_scan import Row

RUNS_KEPT = 5000
"""Maximum number of process runs kept of one series, the newest."""


def aggregate(scanned: Iterable[Row], native: bool = False) -> Iterator[Aggregated]:
    """Aggregate sorted rows; the rows of each series are adjacent. Of one series, all but the hits is in memory.

    `native`: the compiled core brings the hits together.
    """
    for series, mine in groupby(scanned, key=lambda row: row.series):
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
        has_hits = False
        for analysis, mine in groupby(scanned, key=lambda row: row.analysis):
            if analysis != rows.HIT:
                self._read_rows(analysis, mine)
                continue
            self._name_servers()
            has_hits = True
            yield from self._top_hits(mine)
        if not has_hits:
            self._name_servers()
        yield from self._timeline()

    def _read_rows(self, analysis: str, mine: Iterable[Row]) -> None:
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

    def _name_servers(self) -> None:
        self._files = {name: File(parts) for name, parts in self._parts.items()}
        named = [(self._files[file], mark) for file, marks in self._marks.items() for mark in marks]
        self._names = Names(self._series, named)

    def _top_hits(self, mine: Iterable[Row]) -> Iterator[Aggregated]:
        top: TopSubjects | None = None
        signature = ""
        for group in (
            native_groups_of(mine, KEPT, self._server_of) if self._native else groups_of(mine, self._server_of)
        ):
            if top is None or group.signature != signature:
                yield from self._results_of(top)
                top, signature = TopSubjects(group.signature, self._files), group.signature
            for hits in group.on_servers:
                top.add(hits)
            if not group.on_servers:
                top.leave_out(group.lines, group.subjects)
        yield from self._results_of(top)

    def _results_of(self, top: TopSubjects | None) -> Iterator[Aggregated]:
        if top is not None:
            chosen, total = top.result()
            yield from (self._result(aggregated.OCCURRENCE, item) for item in chosen)
            yield self._result(aggregated.TOTAL, total)

    def _server_of(self, source: HitSource) -> str:
        file = self._files[source.file]
        return (
            file.part.server or source.name or self._names.find(file, source.start, source.process, source.start).name
        )

    def _timeline(self) -> Iterator[Aggregated]:
        files = sorted(self._files.values(), key=_by_age)
        runs = finished(gather(files, self._marks, self._segments), self._names)
        if len(runs) > RUNS_KEPT:
            yield self._result(aggregated.OMITTED, ("runs", len(runs) - RUNS_KEPT))
        yield from (self._result(aggregated.RUN, run) for run in runs[-RUNS_KEPT:])
        gaps: list[LogGap] = []
        for file in files:
            name = file.part.name
            counted = sum(part.steps for part in file.parts)
            jumps = jumps_of(file, self._names, self._jumps[name], counted, self._segments[name])
            gaps.extend(jumps.gaps)
            yield from (self._result(aggregated.STEP, step) for step in jumps.steps)
            yield self._result(aggregated.FILE, file.as_read(self._servers_of(file), jumps.interleaved))
        yield from (self._result(aggregated.GAP, gap) for gap in longest(gaps))
        fallen = falls(files, self._names, self._restored, self._marks)
        yield from (self._result(aggregated.FALL, fall) for fall in fallen)
        seen = sightings(files, self._names, self._marks)
        yield from (self._result(aggregated.ELECTION, sighting) for sighting in seen)
        yield from (self._result(aggregated.SERVER, server) for server in self._servers(files, runs))

    def _servers_of(self, file: File) -> tuple[str, ...]:
        return tuple(sorted({self._names.find(file, *place).name for place in self._places(file.part.name)}))

    def _places(self, file: str) -> Iterator[tuple[int, ProcessRef, int]]:
        """Where the processes of a file write: start of the part, process, and an offset behind what names it."""
        yield from ((segment.start, segment.process, segment.last_at + 1) for segment in self._segments[file])
        yield from ((mark.start, mark.process, mark.seen.offset + 1) for mark in self._marks[file])

    def _servers(self, files: list[File], runs: list[ProcessRun]) -> Iterator[ServerSeen]:
        ways: dict[str, set[str]] = defaultdict(set)
        inside: dict[str, set[str]] = defaultdict(set)
        for file in files:
            name = file.part.name
            for start, process, before in self._places(name):
                server, how = self._names.find(file, start, process, before)
                ways[server].add(how)
                inside[server].add(name)
        clusters = self._clusters(files)
        for server in sorted(ways):
            how = min(ways[server], key=KNOWN_FROM.index)
            mine = [run for run in runs if run.server == server]
            times = [time for run in mine for time in (run.started, run.last) if time is not None]
            versions = tuple(dict.fromkeys(run.version for run in mine if run.version))
            cluster = clusters.get(server, "")
            first, last = min(times, default=None), max(times, default=None)
            yield ServerSeen(server, how, cluster, versions, tuple(sorted(inside[server])), first, last)

    def _clusters(self, files: list[File]) -> dict[str, str]:
        clusters = {}
        for file in files:
            for mark in self._marks[file.part.name]:
                if mark.name == builtin.CLUSTER:
                    server, _ = self._names.find(file, mark.start, mark.process, NO_TIME)
                    clusters[server] = mark.seen.fields[0][1]
        return clusters

    def _result(self, analysis: str, value: object) -> Aggregated:
        return Aggregated(self._series, analysis, value)


def _by_age(file: File) -> tuple[bool, bool, int, str]:
    """Order of the files of a series: by their first time, local times apart from zoned ones."""
    span = file.span()
    return (span is None, span is None or span[0].zoned, span[0].us if span else 0, file.part.name)


_BANNER = 4096  # bytes within which a server names itself after it starts

FALLS_KEPT = 1000
"""Maximum number of falls kept of one series, the largest first."""


class _Restored(NamedTuple):
    """A line on a restored stream: its number of messages, and the number of the start of its server."""

    file: File
    mark: MarkRow
    messages: int
    start: int


def falls(
    files: Sequence[File], names: Names, restored: Mapping[str, list[MarkRow]], marks: Mapping[str, list[MarkRow]]
) -> list[RestoredFall]:
    """The largest falls of the messages of a stream from one start of its server to the next."""
    starts: Counter[str] = Counter()
    last: dict[tuple[str, str, str], _Restored] = {}
    restored_falls: list[RestoredFall] = []
    for file in files:
        name = file.part.name
        begun = [mark for mark in marks.get(name, ()) if mark.name == START]
        for mark in sorted((*restored.get(name, ()), *begun), key=lambda mark: mark.seen.offset):
            if mark.name == START:  # its server is named a few lines on
                starts[names.find(file, mark.start, mark.process, mark.seen.offset + _BANNER).name] += 1
                continue
            fields = dict(mark.seen.fields)
            count = int(fields["messages"].replace(",", "") or 0)
            server = names.find(file, mark.start, mark.process, mark.seen.offset).name
            key = (server, fields["account"], fields["stream"])
            before = last.get(key)
            if before is not None and before.start == starts[server]:
                continue
            if before is not None and count < before.messages:
                restored_falls.append(
                    RestoredFall(
                        server=server,
                        account=fields["account"],
                        stream=fields["stream"],
                        before=before.messages,
                        after=count,
                        before_line=before.file.exemplar(before.mark.start, before.mark.seen),
                        after_line=file.exemplar(mark.start, mark.seen),
                    )
                )
            last[key] = _Restored(file, mark, count, starts[server])
    restored_falls.sort(key=lambda fall: (fall.after - fall.before, fall.server, fall.account, fall.stream))
    return restored_falls[:FALLS_KEPT]


class HitGroup(NamedTuple):
    """What one signature and subject has on each server; or, without any, how many lines and subjects are left out."""

    signature: str
    on_servers: list[OneSubject]
    lines: int = 0
    subjects: int = 0


def groups_of(runs: Iterable[Row], server_of: Callable[[HitSource], str]) -> Iterator[HitGroup]:
    """All hits by signature and subject. `runs` are in order."""
    for _, same in groupby(_in_order(runs), key=lambda item: item[0]):
        hits = [hit for _, _, _, _, hit, _ in same]
        # Where nearly every key has one hit, few of them are kept: rows are made of these only.
        single = len(hits) == 1
        on_servers = (
            [OneSubject(hits[0].count, partial(_merged, hits[0], server_of))] if single else _by_server(hits, server_of)
        )
        yield HitGroup(hits[0].signature.name, on_servers)


def _by_server(hits: Iterable[FoundHit], server_of: Callable[[HitSource], str]) -> list[OneSubject]:
    return list(by_server(ServerHits(server_of(hit.source), hit.row()) for hit in hits))


def _merged(hit: FoundHit, server_of: Callable[[HitSource], str]) -> MergedHits:
    return _by_server([hit], server_of)[0].merged()


class _PackedHits(msgspec.Struct, array_like=True, gc=False):
    """`MergedHits` from the compiled core, which has numbers for sources."""

    source: int
    zoned: bool
    signature: HitSignature
    subject: tuple[str, ...]
    count: int
    bucket_us: int
    histogram: Histogram
    measures: list[tuple[str, int, int, int]]
    shown: list[tuple[int, KeptLine]]
    first_text: str | None


_source = msgspec.msgpack.Decoder(HitSource)
_packed_hits = msgspec.msgpack.Decoder(_PackedHits)


def native_groups_of(runs: Iterable[Row], kept: int, server_of: Callable[[HitSource], str]) -> Iterator[HitGroup]:
    """The same from the compiled core, which leaves out groups that are certainly none of the `kept` largest."""
    core = hit_groups(kept)
    servers: dict[str, int] = {}
    sources: list[tuple[HitSource, str]] = []

    def number(packed: bytes) -> int:
        source = _source.decode(packed)
        server = server_of(source)
        sources.append((source, server))
        return servers.setdefault(server, len(servers))

    def merged(packed: bytes) -> MergedHits:
        hits = _packed_hits.decode(packed)
        return MergedHits(
            signature=hits.signature.name,
            server=sources[hits.source][1],
            zoned=hits.zoned,
            subject=tuple(zip(hits.signature.fields, hits.subject, strict=True)),
            lines=hits.count,
            bucket_us=hits.bucket_us,
            histogram=hits.histogram,
            measures=tuple([Measure(*measure) for measure in hits.measures]),
            shown=[(sources[source][0], seen) for source, seen in hits.shown],
            first_text=hits.first_text,
        )

    def group(native: NativeGroup) -> HitGroup:
        signature, packed, lines, subjects = native
        by_name = sorted(map(merged, packed), key=lambda hits: (hits.server, hits.zoned))
        return HitGroup(
            signature, [OneSubject(hits.lines, partial(_itself, hits)) for hits in by_name], lines, subjects
        )

    for run in runs:
        yield from map(group, core.add(run.seq, run.value, number))
    yield from map(group, core.end())


def _itself(hits: MergedHits) -> MergedHits:
    return hits


_Next = tuple[str, int, int, int, FoundHit, Iterator[FoundHit]]
"""The next hit of a run, behind its key, its time, the start of its part and the number of its run; and the others."""


def _in_order(runs: Iterable[Row]) -> Iterator[_Next]:
    """The hits of all runs in order. A run is opened when all hits before its first one have been yielded."""
    opened: list[_Next] = []
    for number, run in enumerate(runs):
        while opened and opened[0][0] < run.key:
            yield _pop_first(opened)
        rest = hits_of(run)
        first = next(rest)
        heapq.heappush(opened, (first.key, first.first_us, run.seq, number, first, rest))
    while opened:
        yield _pop_first(opened)


def _pop_first(opened: list[_Next]) -> _Next:
    """Remove the first hit; its run stays open with the next one."""
    passed = opened[0]
    _, _, seq, number, _, rest = passed
    after = next(rest, None)
    if after is None:
        heapq.heappop(opened)
    else:
        heapq.heapreplace(opened, (after.key, after.first_us, seq, number, after, rest))
    return passed
