"""When the lines of a part were written: by their own time, or by that of the nearest line before them."""

from __future__ import annotations

from collections.abc import Sequence

from jsdoctor.model.log_line import DATED_US, ORDER_US
from jsdoctor.model.log_scan import Part
from jsdoctor.parse.logs.lines.line import LogLine, read_line
from jsdoctor.parse.logs.lines.stamp import DayCount, Zone, year_of
from jsdoctor.parse.logs.scan.block import LogBlock
from jsdoctor.parse.logs.scan.rows import Dated, ProcessRef
from jsdoctor.parse.logs.scan.sniff_lines import whole_lines

LOOKBACK = 16 * 1024
"""A line without a time has that of the nearest line before it within so many bytes."""


class LineTimes:
    """The times of a part's lines, in their order."""

    def __init__(self, part: Part) -> None:
        self._year = year_of(part.mtime_us)
        self._zone = Zone(part.zone) if part.zone else None
        self._day = DayCount()
        self._dated: Dated | None = None
        self._searched_to = 0
        self._undated_server = -1

    @property
    def zoned(self) -> bool:
        """Whether the zone of the server's stamps is known."""
        return self._zone is not None

    def utc(self, times: Sequence[int | None]) -> list[int]:
        """The times of stamps, in UTC where the zone is known."""
        native = [us for us in times if us is not None]
        return native if self._zone is None else [self._zone.utc_us(us) for us in native]

    def utc_us(self, native_us: int) -> int:
        """The time of one stamp."""
        return native_us if self._zone is None else self._zone.utc_us(native_us)

    def note(self, offset: int, us: int, process: ProcessRef) -> None:
        """Record a line with the server's own stamp, and its process."""
        if offset > self._searched_to or self._dated is None:
            self._dated = Dated(offset, us, self.zoned, process, True)
            self._searched_to = offset

    def date(self, block: LogBlock, line: LogLine, begin: int, process: ProcessRef) -> Dated | None:
        """When a line was written: by its own time, or by the nearest one before it; else its place in the order."""
        here = block.base + begin
        if line.us is not None:
            us, zoned = self._in_zone(line.us, line.zoned)
            self._dated, self._searched_to = Dated(here, us, zoned, process, line.server), here
            return self._dated
        if line.server:
            self._undated_server = here
        self._search_back(block, here, process.section)
        if self._dated is None:
            served = 0 <= here - self._undated_server <= LOOKBACK
            return Dated(here, ORDER_US + here, zoned=False, process=process, server=served)
        return self._dated if self._dated.offset >= here - LOOKBACK else None

    def _search_back(self, block: LogBlock, here: int, section: str | None) -> None:
        """Look for the nearest line with a time among those that were not searched yet."""
        lowest = max(here - LOOKBACK, self._searched_to, block.base - len(block.before), 0)
        text = block.between(lowest, here)
        whole = not lowest or lowest == self._searched_to or block.between(lowest - 1, lowest) in {b"", b"\n"}
        offset = here
        for raw in reversed(whole_lines(text, whole)):
            offset -= len(raw) + 1
            earlier = read_line(raw, self._year)
            if earlier.server and earlier.us is None:
                self._undated_server = max(self._undated_server, offset)
            if earlier.us is not None:
                us, zoned = self._in_zone(earlier.us, earlier.zoned)
                writer = ProcessRef(section, earlier.label, earlier.pid)
                self._dated = Dated(offset, us, zoned, writer, earlier.server)
                break
        self._searched_to = here

    def _in_zone(self, us: int, zoned: bool) -> tuple[int, bool]:
        if us < DATED_US:
            return self._day.counted(us), False
        return (us, zoned) if zoned or self._zone is None else (self._zone.utc_us(us), True)
