"""Clocks of servers from their logs: steps and gaps of one series, and how far the clocks of two servers are apart."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from jsdoctor.logs.aggregate.aggregated import Sighting
from jsdoctor.logs.aggregate.series import File, Names
from jsdoctor.logs.scan.processes import STEPS_KEPT
from jsdoctor.logs.scan.rows import JumpRow, ProcessRef, SegmentRow
from jsdoctor.logs.scan.sniff_lines import QUARTER_HOUR_US
from jsdoctor.logs.scan.time_segments import GAP_US, STEP_US
from jsdoctor.model.log import LogClockStep, LogGap, ServerOffset

GAPS_OF_SERVER = 20
"""The longest gaps that are kept of each server."""


class TimeJumps(NamedTuple):
    """What a file shows of its clocks. `interleaved`: so many steps that it can only be a mixture."""

    steps: tuple[LogClockStep, ...]
    gaps: tuple[LogGap, ...]
    interleaved: bool


def between_parts(file: File, segments: Iterable[SegmentRow]) -> Iterator[JumpRow]:
    """Jumps from the last line of a process in one part to its first in the next, as rows of the later part."""
    last: dict[ProcessRef, SegmentRow] = {}
    for segment in sorted(segments, key=lambda segment: segment.first.offset):
        process = file.process(segment.start, segment.process)
        before = last.get(process)
        if before is not None and not segment.started:
            moved = segment.first_us - before.last_us
            if moved <= -STEP_US or moved >= GAP_US:
                yield JumpRow(segment.process, segment.start, before.last_us, segment.first_us, segment.first)
        last[process] = segment


def jumps_of(file: File, names: Names, kept: list[JumpRow], counted: int, segments: Iterable[SegmentRow]) -> TimeJumps:
    """All jumps of a file. `kept` are those of its parts, which had `counted` steps in all."""
    boundary = list(between_parts(file, segments))
    steps = [jump for jump in (*kept, *boundary) if jump.after_us < jump.before_us]
    gaps = [jump for jump in (*kept, *boundary) if jump.after_us > jump.before_us]
    interleaved = counted + sum(jump.after_us < jump.before_us for jump in boundary) > STEPS_KEPT
    rows = [] if interleaved else sorted(steps, key=lambda jump: jump.seen.offset)
    return TimeJumps(
        tuple(
            LogClockStep(
                server=names.find(file, jump.start, jump.process, jump.seen.offset).name,
                before=file.time(jump.before_us),
                after=file.time(jump.after_us),
                exemplar=file.exemplar(jump.start, jump.seen, file.time(jump.after_us)),
                only=len(rows) == 1,
            )
            for jump in rows
        ),
        ()
        if interleaved
        else tuple(
            LogGap(
                server=names.find(file, jump.start, jump.process, jump.seen.offset).name,
                began=file.time(jump.before_us),
                ended=file.time(jump.after_us),
                exemplar=file.exemplar(jump.start, jump.seen, file.time(jump.after_us)),
            )
            for jump in gaps
        ),
        interleaved,
    )


def longest(gaps: Iterable[LogGap]) -> list[LogGap]:
    """The longest gaps of each server, longest first."""
    by_server: dict[str, list[LogGap]] = {}
    for gap in gaps:
        by_server.setdefault(gap.server, []).append(gap)
    kept = []
    for _, mine in sorted(by_server.items()):
        mine.sort(key=lambda gap: (-gap.duration_ns, gap.began.us, gap.exemplar.file, gap.exemplar.offset))
        kept.extend(mine[:GAPS_OF_SERVER])
    return kept


SPREAD_US = 3_000_000
"""Maximum time between the lines of two servers on one election: three heartbeats of a Raft group."""

SERVERS_COMPARED = 50
_MAX_EVENTS = 400
_EXEMPLARS = 2
_ENOUGH_SUPPORT = 0.7


def offsets(seen: Sequence[Sighting]) -> list[ServerOffset]:
    """The clock offset of every pair of servers that logged the same elections, in both directions."""
    by_server: dict[str, list[Sighting]] = defaultdict(list)
    for election in seen:
        if election.at.dated:
            by_server[election.server].append(election)
    server_offsets: list[ServerOffset] = []
    for server, other in combinations(sorted(by_server)[:SERVERS_COMPARED], 2):
        pair = _compared(server, other, by_server[server], by_server[other])
        if pair is not None:
            server_offsets.extend((pair, _reversed(pair)))
    return sorted(server_offsets, key=lambda pair: (pair.server, pair.other))


def _compared(server: str, other: str, mine: list[Sighting], theirs: list[Sighting]) -> ServerOffset | None:
    mine, theirs = mine[-_MAX_EVENTS:], theirs[-_MAX_EVENTS:]
    both_zoned = all(election.at.zoned for election in (*mine, *theirs))
    none_zoned = not any(election.at.zoned for election in (*mine, *theirs))
    if not both_zoned and not none_zoned:
        return None
    leaders: dict[str, list[Sighting]] = defaultdict(list)
    for election in theirs:
        leaders[election.leader].append(election)
    differences = sorted(
        ((same.at.us - election.at.us, election, same) for election in mine for same in leaders[election.leader]),
        key=lambda item: (item[0], item[1].at.us, item[1].exemplar.file, item[1].exemplar.offset),
    )
    if not differences:
        return None
    values = [difference for difference, _, _ in differences]
    supports = [_support(differences, values, first) for first in range(len(values))]
    best = _best(values, supports)
    support = supports[best]
    # One common event is enough when it is the only one that either server ever logged.
    if support < 2 and not len(mine) == len(theirs) == 1:
        return None
    chosen = differences[best : bisect_right(values, values[best] + SPREAD_US)]
    agreed = [difference for difference, _, _ in chosen]
    middle = agreed[len(agreed) // 2]
    spread = agreed[len(agreed) * 3 // 4] - agreed[len(agreed) // 4]
    zone = round(middle / QUARTER_HOUR_US) * QUARTER_HOUR_US
    return ServerOffset(
        server=server,
        other=other,
        offset_us=middle,
        zone_us=zone,
        skew_us=middle - zone,
        uncertainty_us=max(spread, SPREAD_US if support < 2 else SPREAD_US // 3),
        events=support,
        exemplars=tuple(line.exemplar for _, *lines in chosen[:_EXEMPLARS] for line in lines),
    )


def _best(values: Sequence[int], supports: Sequence[int]) -> int:
    """Where the differences that agree begin. Elections at regular times agree on many offsets: the smallest counts."""
    enough = max(supports) * _ENOUGH_SUPPORT
    rough = min((abs(value), value) for value, support in zip(values, supports, strict=True) if support >= enough)[1]
    near = [i for i, value in enumerate(values) if abs(value - rough) <= SPREAD_US]
    return max(near, key=lambda i: (supports[i], -abs(values[i]), -values[i]))


def _support(differences: Sequence[tuple[int, Sighting, Sighting]], values: list[int], first: int) -> int:
    """How many events agree on an offset from `values[first]` to a spread above: distinct lines on both sides."""
    last = bisect_right(values, values[first] + SPREAD_US)
    agreeing = differences[first:last]
    ones = {(election.exemplar.file, election.exemplar.offset) for _, election, _ in agreeing}
    twos = {(other.exemplar.file, other.exemplar.offset) for _, _, other in agreeing}
    return min(len(ones), len(twos))


def _reversed(pair: ServerOffset) -> ServerOffset:
    return ServerOffset(
        server=pair.other,
        other=pair.server,
        offset_us=-pair.offset_us,
        zone_us=-pair.zone_us,
        skew_us=-pair.skew_us,
        uncertainty_us=pair.uncertainty_us,
        events=pair.events,
        exemplars=pair.exemplars,
    )


class CommonTime:
    """Brings times of different servers to one clock, where that is possible."""

    def __init__(self, pairs: Sequence[ServerOffset]) -> None:
        self.shift_us: dict[str, int] = {}
        self._group = self._reach(pairs)

    def _reach(self, pairs: Sequence[ServerOffset]) -> dict[str, str]:
        """For each server the one that it is measured against, directly or through others. Fills `shift_us`."""
        near: dict[str, list[ServerOffset]] = defaultdict(list)
        for pair in pairs:
            near[pair.server].append(pair)
        roots: dict[str, str] = {}
        for root in sorted(near):
            if root in roots:
                continue
            roots[root], self.shift_us[root] = root, 0
            queue = [root]
            for server in queue:
                for pair in near[server]:
                    if pair.other not in roots:
                        roots[pair.other] = root
                        self.shift_us[pair.other] = self.shift_us[server] - pair.offset_us
                        queue.append(pair.other)
        return roots

    def clock(self, server: str, zoned: bool) -> tuple[tuple[bool, str], int]:
        """The clock on which times of a server can be compared, and what brings a time to it."""
        return ((True, ""), 0) if zoned else ((False, self._group.get(server, server)), self.shift_us.get(server, 0))
