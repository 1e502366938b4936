"""Assembles one `LogEvidence` from the aggregated rows of all series; troubles are taken apart into outages.

With the compiled core where it is installed: where much goes wrong, nearly every minute of every subject is an outage
of its own, and few of them are kept.
"""

from __future__ import annotations

import heapq
import sys
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol

from jsdoctor.compiled_core import CompiledCore
from jsdoctor.logs.aggregate import aggregated
from jsdoctor.logs.aggregate.aggregated import Aggregated, ServerSeen, Sighting, read_aggregated
from jsdoctor.logs.aggregate.elections import leaderships, meta_leadership
from jsdoctor.logs.aggregate.offsets import CommonTime, longest, offsets
from jsdoctor.logs.aggregate.runs import merged, rank
from jsdoctor.logs.aggregate.series import KNOWN_FROM, NO_TIME
from jsdoctor.logs.lines.builtin import BUILTIN, SHOWN
from jsdoctor.model.histogram import Histogram
from jsdoctor.model.log import (
    CLOCK_US,
    SUBJECT_FIELDS,
    CrashLoop,
    LogClockStep,
    LogEvidence,
    LogFile,
    LogGap,
    LogServer,
    LogTime,
    Occurrence,
    OutageInterval,
    ProcessRun,
    RestoredFall,
    SignatureTotal,
)
from jsdoctor.model.log_scan import Row, ScanSettings
from jsdoctor.model.rule import Signature

PAUSE_US = 300_000_000
"""A problem that is not logged for this time, in microseconds, is over; the next line begins another outage."""

Importance = tuple[bool, int]
"""The sort key of outages: those that nothing ended come first, then those that lasted longest."""


class OutageEnding(NamedTuple):
    """A line that ends a trouble."""

    us: int
    signature: str


class Outage(NamedTuple):
    """Lines of one trouble: first and last time, how many they are, and what ended them."""

    began: int
    last: int
    lines: int
    ended: OutageEnding | None

    @property
    def importance(self) -> Importance:
        """The order of outages; see `Importance`."""
        if self.began < CLOCK_US:
            return self.ended is not None, 0
        return self.ended is not None, self.began - (self.ended.us if self.ended else self.last)


class Endings:
    """Lines of one signature, of all servers on one clock, that may end a trouble: buckets by both their times."""

    def __init__(self, signature: str) -> None:
        self.signature = signature
        self._times: list[int] = []
        self._packed: bytes | None = None

    def add(self, buckets: Histogram, shift: int) -> None:
        """Add the times of a histogram; `shift` brings them to the common clock."""
        times = (*buckets.firsts(), *buckets.lasts())
        self._times.extend([us + shift for us in times] if shift else times)
        self._packed = None

    def after(self, us: int) -> int | None:
        """The first known time at or after `us`: that of a first line, or of the last one of a bucket around `us`."""
        self.packed()
        index = bisect_left(self._times, us)
        return self._times[index] if index < len(self._times) else None

    def packed(self) -> bytes:
        """All times in order, eight bytes each."""
        if self._packed is None:
            self._times.sort()
            times = array("q", self._times)
            if sys.byteorder == "big":
                times.byteswap()
            self._packed = times.tobytes()
        return self._packed


Find = Callable[[Histogram, Sequence[Endings], int, bool, Importance | None], tuple[int, list[Outage]]]
"""Finds how many outages there are in some lines, and those that are wanted.

Arguments: the lines, what may end them, what to add to their times to be on the clock of that, whether outages that
nothing ended are left out, and how important the others have to be.
"""


def find(
    lines: Histogram, endings: Sequence[Endings], shift: int, doubtful: bool, least: Importance | None
) -> tuple[int, list[Outage]]:
    """The outages in some lines; `Find` has the arguments."""
    outages = list(_outages(lines, endings, shift))
    wanted = [outage for outage in outages if outage.ended or not doubtful]
    return len(outages), [outage for outage in wanted if least is None or outage.importance <= least]


def _outages(lines: Histogram, endings: Sequence[Endings], shift: int) -> Iterator[Outage]:
    """The outages in some lines. After a pause, or after an ending, the next line begins another outage."""
    began = last = count = 0
    ended, until = None, -NO_TIME  # what ends the trouble whose last line is at this time or before
    for first_us, last_us, more in lines.spans():
        if count:
            if last > until:
                ended = _first_ending(endings, last, shift)
                until = ended.us if ended is not None else NO_TIME
            if first_us - last > PAUSE_US or (ended is not None and ended.us < first_us):
                yield Outage(began, last, count, ended)
                count = 0
        began = began if count else first_us
        last, count = max(last, last_us) if count else last_us, count + more
    if count:
        yield Outage(began, last, count, _first_ending(endings, last, shift))


def _first_ending(endings: Sequence[Endings], us: int, shift: int) -> OutageEnding | None:
    """The first line at or after `us` (of the trouble's clock) that ends it."""
    best: OutageEnding | None = None
    for ending in endings:
        at = ending.after(us + shift)
        if at is not None and (best is None or at - shift < best.us):
            best = OutageEnding(at - shift, ending.signature)
    return best


class _Core(Protocol):
    def outages(  # noqa: PLR0917  # a call of Rust
        self,
        spans: bytes,
        endings: list[bytes],
        shift: int,
        pause_us: int,
        clock_us: int,
        doubtful: bool,
        least: Importance | None,
        /,
    ) -> tuple[int, list[tuple[int, int, int, tuple[int, int] | None]]]: ...


_core = CompiledCore[_Core]()


@cache
def finder() -> Find:
    """The compiled `find`, or `find` itself without the compiled core."""
    core = _core.found
    if core is None:
        return find

    def compiled(
        lines: Histogram, endings: Sequence[Endings], shift: int, doubtful: bool, least: Importance | None
    ) -> tuple[int, list[Outage]]:
        times = [ending.packed() for ending in endings]
        count, wanted = core.outages(lines.packed, times, shift, PAUSE_US, CLOCK_US, doubtful, least)
        return count, [
            Outage(began, last, more, None if ended is None else OutageEnding(ended[0], endings[ended[1]].signature))
            for began, last, more, ended in wanted
        ]

    return compiled


FOUND_KEPT = 200
"""Maximum number of occurrences of each signature that checks read, those with most lines."""

LEADERSHIPS_KEPT = 500
STEPS_KEPT = 500
_KINDS: dict[str, Any] = {
    aggregated.FILE: LogFile,
    aggregated.SERVER: ServerSeen,
    aggregated.RUN: ProcessRun,
    aggregated.STEP: LogClockStep,
    aggregated.GAP: LogGap,
    aggregated.FALL: RestoredFall,
    aggregated.ELECTION: Sighting,
    aggregated.OCCURRENCE: Occurrence,
    aggregated.TOTAL: SignatureTotal,
    aggregated.OMITTED: tuple[str, int],
}

LOOP_US = 600_000_000
"""Three starts within this time, in microseconds, are a crash loop."""


def assemble(settings: ScanSettings, rows: Iterable[Aggregated | Row]) -> LogEvidence:
    """The evidence of an audit, from what was aggregated, in any order. Rows are of other processes."""
    reported: dict[str, list[Any]] = defaultdict(list)
    for row in rows:  # each is decoded as it comes: to hold both forms of all of them would take twice the memory
        value = row.value if isinstance(row, Aggregated) else read_aggregated(_KINDS[row.analysis], Row(*row))
        reported[row.analysis].append(value)
    files = list(_without_containers(reported[aggregated.FILE]))
    servers = _servers(reported[aggregated.SERVER])
    runs: list[ProcessRun] = sorted(reported[aggregated.RUN], key=lambda run: (run.server, *_run_time(run)))
    seen: list[Sighting] = reported[aggregated.ELECTION]
    seen.sort(
        key=lambda election: (
            election.at.us,
            election.server,
            election.leader,
            election.exemplar.file,
            election.exemplar.offset,
        )
    )
    occurrences = _merged(reported.pop(aggregated.OCCURRENCE, []))
    pairs = offsets(seen)
    time = CommonTime(pairs)
    totals = _totals(reported[aggregated.TOTAL])
    ends = _last_times(servers, occurrences, files)
    cut = {total.signature: total.omitted_subjects for total in totals}
    known_intervals, left_out = intervals((*BUILTIN, *settings.signatures), occurrences, time, ends, cut)
    groups = leaderships(occurrences)
    meta = meta_leadership(seen, time.shift_us)
    kept, totals = _shown_to_checks(occurrences, totals)
    steps: list[LogClockStep] = sorted(
        reported[aggregated.STEP],
        key=lambda step: (step.server, step.before.us, step.exemplar.file, step.exemplar.offset),
    )
    falls: list[RestoredFall] = reported[aggregated.FALL]
    omitted = Counter({"spells": left_out, "clock_steps": max(0, len(steps) - STEPS_KEPT)})
    omitted["leaderships"] = max(0, len(groups) - LEADERSHIPS_KEPT)
    for name, count in reported[aggregated.OMITTED]:
        omitted[name] += count
    return LogEvidence(
        files=tuple(sorted(files, key=lambda file: (file.path, file.size, file.problem))),
        servers=tuple(servers),
        totals=tuple(totals),
        found=tuple(kept),
        runs=tuple(runs),
        crash_loops=tuple(_crash_loops(runs)),
        gaps=tuple(longest(reported[aggregated.GAP])),
        clock_steps=tuple(steps[:STEPS_KEPT]),
        restored_falls=tuple(sorted(falls, key=lambda fall: (fall.after - fall.before, _fall_order(fall)))),
        leaderships=tuple(([meta] if meta else []) + groups[:LEADERSHIPS_KEPT]),
        offsets=tuple(pairs),
        intervals=tuple(known_intervals),
        omitted=tuple(sorted((name, count) for name, count in omitted.items() if count)),
    )


def _without_containers(files: Sequence[LogFile]) -> Iterator[LogFile]:
    """The files, without archives of which nothing but their members was to be read."""
    containers = {file.path.rpartition("!")[0] for file in files}
    for file in files:
        if file.problem or file.read or file.path not in containers:
            yield file


def _servers(seen: Sequence[ServerSeen]) -> list[LogServer]:
    groups: dict[str, list[ServerSeen]] = defaultdict(list)
    for server in sorted(seen, key=lambda server: (server.name, server.files, server.known_from)):
        groups[server.name].append(server)
    servers = []
    for name, mine in sorted(groups.items()):
        zoned = any(server.last is not None and server.last.zoned for server in mine)
        firsts = [server.first for server in mine if server.first is not None and server.first.zoned == zoned]
        lasts = [server.last for server in mine if server.last is not None and server.last.zoned == zoned]
        servers.append(
            LogServer(
                name=name,
                known_from=min((server.known_from for server in mine), key=KNOWN_FROM.index),
                cluster=next((server.cluster for server in mine if server.cluster), ""),
                versions=tuple(sorted({version for server in mine for version in server.versions})),
                files=len({file for server in mine for file in server.files}),
                first=min(firsts, default=None),
                last=max(lasts, default=None),
            )
        )
    return servers


def _run_time(run: ProcessRun) -> tuple[int, str, int]:
    time = run.started or run.last
    line = run.exemplar
    return (time.us if time else 0, line.file if line else "", line.offset if line else 0)


def _crash_loops(runs: Sequence[ProcessRun]) -> list[CrashLoop]:
    by_server: dict[tuple[str, bool], list[ProcessRun]] = defaultdict(list)
    for run in runs:
        if run.started is not None and run.started.timed:
            by_server[run.server, run.started.zoned].append(run)
    crash_loops = []
    for (server, _), mine in sorted(by_server.items()):
        for chain in _chains(mine):
            if any(_start(later) - _start(run) <= LOOP_US for run, later in zip(chain, chain[2:], strict=False)):
                unclean = sum(run.end in {"unclean", "failed", "interrupted"} for run in chain)
                times = [run.started for run in chain if run.started is not None]
                crash_loops.append(
                    CrashLoop(server=server, starts=len(chain), unclean=unclean, began=times[0], ended=times[-1])
                )
    return crash_loops


def _chains(runs: Sequence[ProcessRun]) -> list[list[ProcessRun]]:
    """The runs in groups, in which each began within `LOOP_US` after the one before."""
    chains: list[list[ProcessRun]] = []
    for run in runs:
        if chains and _start(run) - _start(chains[-1][-1]) <= LOOP_US:
            chains[-1].append(run)
        else:
            chains.append([run])
    return chains


def _start(run: ProcessRun) -> int:
    return run.started.us if run.started is not None else 0


def _merged(occurrences: Sequence[Occurrence]) -> list[Occurrence]:
    groups: dict[tuple[str, str, tuple[tuple[str, str], ...], bool], list[Occurrence]] = defaultdict(list)
    for occurrence in occurrences:
        groups[occurrence.signature, occurrence.logged_by, occurrence.fields, occurrence.zoned].append(occurrence)
    return sorted((merged(same) for same in groups.values()), key=lambda item: (item.signature, *rank(item)))


def _totals(totals: Sequence[SignatureTotal]) -> list[SignatureTotal]:
    groups: dict[str, list[SignatureTotal]] = defaultdict(list)
    for total in totals:
        groups[total.signature].append(total)
    return [
        SignatureTotal(
            signature=name,
            count=sum(total.count for total in same),
            subjects=sum(total.subjects for total in same),
            omitted_subjects=sum(total.omitted_subjects for total in same),
            omitted_count=sum(total.omitted_count for total in same),
        )
        for name, same in sorted(groups.items())
    ]


def _shown_to_checks(
    occurrences: Sequence[Occurrence], totals: Sequence[SignatureTotal]
) -> tuple[list[Occurrence], list[SignatureTotal]]:
    """The occurrences and totals that checks read: none of internal signatures, and at most `FOUND_KEPT` of others."""
    by_name: dict[str, list[Occurrence]] = defaultdict(list)
    for occurrence in occurrences:
        if not _is_internal(occurrence.signature):
            by_name[occurrence.signature].append(occurrence)
    kept, counted = [], []
    for total in totals:
        chosen = by_name.get(total.signature, [])[:FOUND_KEPT]
        if _is_internal(total.signature):
            continue
        kept.extend(chosen)
        counted.append(
            SignatureTotal(
                signature=total.signature,
                count=total.count,
                subjects=total.subjects,
                omitted_subjects=total.subjects - len(chosen),
                omitted_count=total.count - sum(occurrence.count for occurrence in chosen),
            )
        )
    return kept, counted


def _is_internal(signature: str) -> bool:
    """Whether a signature is for the aggregation alone."""
    return signature.startswith("@") and signature not in SHOWN


def _last_times(
    servers: Sequence[LogServer], occurrences: Sequence[Occurrence], files: Iterable[LogFile]
) -> dict[tuple[str, bool], int]:
    """When the log of each server ends, by name and by whether the time has a zone. Of lines in JSON only those with a
    signature were read, so that the file's last line counts where it has one server.
    """
    ends = {(server.name, server.last.zoned): server.last.us for server in servers if server.last is not None}
    for file in files:
        if file.last is not None and len(file.servers) == 1:
            key = (file.servers[0], file.last.zoned)
            ends[key] = max(ends.get(key, file.last.us), file.last.us)
    lasts: dict[tuple[str, bool], list[bytes]] = defaultdict(list)
    for occurrence in occurrences:
        lasts[occurrence.logged_by, occurrence.zoned].append(occurrence.histogram.packed)
    for key, packed in lasts.items():  # all of a server at once takes a fraction of the time of one by one
        last = max(Histogram(b"".join(packed)).lasts(), default=None)
        if last is not None:
            ends[key] = max(ends.get(key, last), last)
    return ends


def _fall_order(fall: RestoredFall) -> tuple[str, str, str, str, int]:
    line = fall.after_line
    return (fall.server, fall.account, fall.stream, line.file, line.offset)


INTERVALS_KEPT = 200
"""Maximum number of intervals kept of each signature: the unresolved ones first, then the longest."""


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
        self._shared_fields, self._time = common, time
        self._incident = incident
        self._endings: dict[_Key, Endings] = {}
        for occurrence in occurrences:
            if occurrence.signature in common:
                key, shift = self._key(occurrence.signature, occurrence)
                self._endings.setdefault(key, Endings(occurrence.signature)).add(occurrence.histogram, shift)

    def _key(self, name: str, occurrence: Occurrence) -> tuple[_Key, int]:
        clock, shift = self._time.clock(occurrence.logged_by, occurrence.zoned)
        fields = self._shared_fields.get(name, ())
        return (name, tuple(map(occurrence.value, fields)) or (occurrence.logged_by,), clock), shift

    def find(self, incident: Occurrence) -> tuple[list[Endings], int]:
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
        common = {name: _shared_fields(signature, fields.get(name, set())) for name in signature.endings}
        resolvers = _Resolvers(
            signature, common, (occurrence for name in common for occurrence in by_name.get(name, ())), time
        )
        doubtful = any(cut.get(name) for name in signature.endings)
        mine = _TopIntervals(doubtful)
        for occurrence in by_name[signature.name]:
            end_us = ends.get((occurrence.logged_by, occurrence.zoned))
            mine.add(occurrence, *resolvers.find(occurrence), end_us)
        chosen = mine.most_important()
        omitted += mine.count - len(chosen)
        kept.extend(chosen)
    return sorted(kept, key=_order), omitted


class _TopIntervals:
    """The most important intervals of one signature, in bounded memory. `doubtful`: unresolved ones are left out."""

    def __init__(self, doubtful: bool) -> None:
        self.count = 0
        self._doubtful = doubtful
        self._intervals: list[OutageInterval] = []
        self._least: Importance | None = None
        self._find = finder()

    def add(self, occurrence: Occurrence, endings: Sequence[Endings], shift: int, end_us: int | None) -> None:
        """Add the outages of one more subject. Intervals are made only of those that may be kept."""
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


def _shared_fields(signature: Signature, others: set[str]) -> tuple[str, ...]:
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
