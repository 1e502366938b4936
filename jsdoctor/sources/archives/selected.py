"""Reads logs as an audit does, archives and pasted texts included, and keeps the selected lines for a bundle."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from jsdoctor.logs.lines.matcher import Matcher
from jsdoctor.logs.lines.stamp import year_of
from jsdoctor.logs.scan.part import PartReader
from jsdoctor.logs.scan.selection import MAX_KEPT_IN_ALL_BYTES, LineSelection
from jsdoctor.model.log_scan import Part, Row, ScanSettings
from jsdoctor.sources.archives.discover import ReadPlan
from jsdoctor.sources.archives.part import Scanner


class SelectedLog(msgspec.Struct, frozen=True):
    """One file: its selected lines, the number of all lines, and when it was written. `problem`: a read error."""

    path: str
    text: bytes
    lines: int
    kept: int
    left_out: int = 0
    mtime_us: int = 0
    problem: str = ""


def selected_logs(settings: ScanSettings, plan: ReadPlan, progress: Callable[[int], None]) -> list[SelectedLog]:
    """The selected lines of each file. Nothing is raised: read errors are in `problem` of the file."""
    scanner = _SelectingScanner(Matcher(settings.signatures))
    for part in plan.files:
        for _ in scanner.rows(part, progress):
            pass  # a selection has no rows
    return scanner.logs


class _SelectingScanner(Scanner):
    """Reads files like the scan, but selects lines instead of scanning them."""

    def __init__(self, matcher: Matcher) -> None:
        super().__init__(matcher, native=False)
        self.logs: list[SelectedLog] = []

    def _scan(self, part: Part, context: bytes = b"") -> PartReader:
        del context  # only the scan needs what stands before a part
        room = MAX_KEPT_IN_ALL_BYTES - sum(len(log.text) for log in self.logs)
        return _SelectingReader(part, LineSelection(self._matcher, room, year_of(part.mtime_us)), self.logs)


class _SelectingReader:
    """Takes the place of `PartReader`: selects the lines of a part, and yields no rows."""

    def __init__(self, part: Part, selection: LineSelection, logs: list[SelectedLog]) -> None:
        self._part, self._logs, self._selection = part, logs, selection

    def feed(self, block: bytes, _base: int, /) -> Iterator[Row]:
        """Select the lines of a block."""
        self._selection.feed(block)
        return iter(())

    def finish(self, *, problem: str = "", **_: object) -> Iterator[Row]:
        """End the part, and add its selected lines to the logs."""
        chosen = self._selection
        chosen.finish()
        self._logs.append(
            SelectedLog(
                path=self._part.name,
                text=chosen.text,
                lines=chosen.lines,
                kept=chosen.kept,
                left_out=chosen.left_out,
                mtime_us=self._part.mtime_us,
                problem=problem,
            )
        )
        return iter(())
