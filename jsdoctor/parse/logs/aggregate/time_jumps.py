"""Steps and gaps of one series: those seen within parts, and those between the parts of a process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jsdoctor.model.log import LogClockStep, LogGap
from jsdoctor.parse.logs.aggregate.series import File, Names
from jsdoctor.parse.logs.scan.processes import STEPS_KEPT
from jsdoctor.parse.logs.scan.rows import JumpRow, ProcessRef, SegmentRow
from jsdoctor.parse.logs.scan.time_segments import GAP_US, STEP_US

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
    """All jumps of a file. `kept` are those of its parts, `counted` how many steps these had in all."""
    boundary = list(between_parts(file, segments))
    steps = [jump for jump in (*kept, *boundary) if jump.after_us < jump.before_us]
    gaps = [jump for jump in (*kept, *boundary) if jump.after_us > jump.before_us]
    interleaved = counted + sum(jump.after_us < jump.before_us for jump in boundary) > STEPS_KEPT
    rows = [] if interleaved else sorted(steps, key=lambda jump: jump.seen.offset)
    return TimeJumps(
        tuple(
            LogClockStep(
                server=names.of(file, jump.start, jump.process, jump.seen.offset)[0],
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
                server=names.of(file, jump.start, jump.process, jump.seen.offset)[0],
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
