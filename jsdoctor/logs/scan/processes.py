"""Joins the segments of a part's blocks to the processes that logged them: segments, steps and gaps."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from jsdoctor.logs.scan.rows import GAP, SEGMENT, STEP, JumpRow, KeptLine, ProcessRef, SegmentRow, row
from jsdoctor.logs.scan.time_segments import GAP_US, STEP_US, Jump, TimeSegment
from jsdoctor.model.log_scan import Part, Row

STEPS_KEPT = 200
"""Maximum number of steps of a file. If there are more, it mixes servers, and no step is reported."""

GAPS_KEPT = 20
"""Maximum number of gaps kept of each process of a part, the longest."""


class Cut(NamedTuple):
    """A line where a process begins (`process` is who) or a section (`section` is its name)."""

    at: int
    process: ProcessRef | None
    section: str | None


class Processes:
    """The processes of one part so far. `keep` gives the line at an offset of the block."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._open: dict[ProcessRef, SegmentRow] = {}
        self._done: list[SegmentRow] = []
        self._gaps: dict[ProcessRef, list[tuple[int, int, JumpRow]]] = {}
        self._kept_steps: list[JumpRow] = []
        self._begun: ProcessRef | None = None
        """The process that began in an earlier block with a line that has no time, while no dated line followed it."""
        self.steps = 0

    def join(
        self,
        segments: Sequence[TimeSegment],
        cuts: Sequence[Cut],
        section: str | None,
        keep: Callable[[int], KeptLine],
    ) -> None:
        """Add a block's segments. `section` is the one that its first line stands in."""
        sections = [section]
        for cut in cuts:
            sections.append(sections[-1] if cut.section is None else cut.section)
        begun = [self._begun, *(cut.process for cut in cuts)]
        for segment in segments:
            process = ProcessRef(sections[segment.cut], *segment.process)
            started = begun[segment.cut] == process
            self._add(process, segment, started, keep)
            if started:
                begun[segment.cut] = None
        self._begun = begun[-1]

    def _add(self, process: ProcessRef, segment: TimeSegment, started: bool, keep: Callable[[int], KeptLine]) -> None:
        known = self._open.get(process)
        if known is None or started:
            if known is not None:
                self._done.append(known)
            first = keep(segment.first_at)
            known = SegmentRow(
                process,
                self._part.start,
                started,
                segment.first_us,
                first,
                segment.first_us,
                first.offset,
                0,
                segment.highest_us,
            )
            self._open[process] = known
        else:
            self._jump(process, Jump(segment.first_at, known.last_us, segment.first_us), keep)
        known.last_us, known.last_at = segment.last_us, keep(segment.last_at).offset
        known.lines += segment.lines
        known.highest_us = max(known.highest_us, segment.highest_us)
        for jump in (*segment.steps, *segment.gaps):
            self._jump(process, jump, keep)

    def _jump(self, process: ProcessRef, jump: Jump, keep: Callable[[int], KeptLine]) -> None:
        moved = jump.after_us - jump.before_us
        if moved <= -STEP_US:
            self.steps += 1
            if len(self._kept_steps) <= STEPS_KEPT:
                self._kept_steps.append(self._row(process, jump, keep))
        elif moved >= GAP_US:
            gaps = self._gaps.setdefault(process, [])
            if len(gaps) < GAPS_KEPT:
                row = self._row(process, jump, keep)
                heapq.heappush(gaps, (moved, -row.seen.offset, row))
            elif moved > gaps[0][0]:
                row = self._row(process, jump, keep)
                heapq.heapreplace(gaps, (moved, -row.seen.offset, row))

    def _row(self, process: ProcessRef, jump: Jump, keep: Callable[[int], KeptLine]) -> JumpRow:
        return JumpRow(process, self._part.start, jump.before_us, jump.after_us, keep(jump.offset))

    def rows(self) -> Iterator[Row]:
        """All segments, steps and gaps, at the end of the part."""
        part = self._part
        for segment in (*self._done, *self._open.values()):
            yield row(part, SEGMENT, part.name, (segment.first_us, segment.first.offset), segment)
        for step in self._kept_steps:
            yield row(part, STEP, part.name, (step.after_us, step.seen.offset), step)
        for gaps in self._gaps.values():
            for _, _, gap in gaps:
                yield row(part, GAP, part.name, (gap.after_us, gap.seen.offset), gap)
