"""Scans one part of a log with the compiled core; lines of an unusual form are read here, in their place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from jsdoctor.model.log_scan import Part, Row
from jsdoctor.parse.logs.lines.line import LINE_CAP
from jsdoctor.parse.logs.lines.matcher import Matcher, measured
from jsdoctor.parse.logs.lines.stamp import STAMP_BYTES
from jsdoctor.parse.logs.scan import clock_plain, repeats
from jsdoctor.parse.logs.scan.log_sources import TALLIES, LogSource
from jsdoctor.parse.logs.scan.native_core import NativeScanner, Segment, native_scanner
from jsdoctor.parse.logs.scan.part import TEXT_END, PartScan
from jsdoctor.parse.logs.scan.rows import HIT
from jsdoctor.parse.logs.scan.time_segments import BlockLines, Jump, ProcessKey, ProcessKeys, TimeSegment

_QUARTER_US = 900_000_000


class _NativeLines:
    """See `BlockLines`."""

    grouped = staticmethod(repeats.grouped)

    def __init__(self, scan: NativeScanner, voices: Sequence[ProcessKey]) -> None:
        self._scan, self._voices = scan, voices
        self.lines, self.long_lines = scan.lines, scan.long_lines

    def numbers(self, starts: Sequence[int]) -> list[int]:
        """See `BlockLines`."""
        return self._scan.numbers(starts)

    def stretches(
        self,
        cuts: Sequence[int],  # noqa: ARG002  # the scan already knows both
        skip: Sequence[int],  # noqa: ARG002
        voices: ProcessKeys,  # noqa: ARG002
    ) -> list[TimeSegment]:
        """See `BlockLines`."""
        return [self._segment(segment) for segment in self._scan.segments()]

    def _segment(self, segment: Segment) -> TimeSegment:
        voice, *numbers, steps, gaps = segment
        jumps = (tuple(map(Jump._make, steps)), tuple(map(Jump._make, gaps)))
        return TimeSegment._make((self._voices[voice - 1], *numbers, *jumps))


class NativeScan(PartScan):
    """The scan of one part; see `PartScan`, whose rows it gives, and `ScanHost`."""

    def __init__(self, part: Part, matcher: Matcher, context: bytes = b"") -> None:
        super().__init__(part, matcher, clock_plain.read_clock, context)
        self._native = native_scanner(matcher, zoned=self._zone is not None)
        self._sources: list[LogSource] = []
        self._source_numbers: dict[LogSource, int] = {}
        self._keys: list[ProcessKey] = []
        self._key_numbers: dict[ProcessKey, int] = {}

    def _read_block(self, block: bytes) -> BlockLines:
        self._native.block(block, self._base, self._row.lines, self)
        return _NativeLines(self._native, self._keys)

    def _counts(self, at_end: bool) -> Iterator[Row]:
        yield from super()._counts(at_end)
        if at_end or self._native.counted > TALLIES:
            part = self._part
            sources = [(source.name, msgspec.msgpack.encode(source.voice)) for source in self._sources]
            for key, first_us, value in self._native.rows(part.name, part.start, sources):
                yield Row(part.series, HIT, key, first_us, part.start, value)

    def source_of(self, prefix: bytes) -> int:
        """See `ScanHost`."""
        source = self._by_prefix.get(prefix) or self._of_prefix(prefix)
        if source is None:
            return -1
        number = self._source_numbers.setdefault(source, len(self._sources))
        if number == len(self._sources):
            self._sources.append(source)
        return number

    def voice_of(self, prefix: bytes) -> int:
        """See `ScanHost`."""
        key = self._voices.of(prefix)
        if key is None:
            return 0
        number = self._key_numbers.setdefault(key, len(self._keys))
        if number == len(self._keys):
            self._keys.append(key)
        return number + 1

    def offset_us(self, quarter: int) -> int:
        """See `ScanHost`."""
        local_us = quarter * _QUARTER_US
        return 0 if self._zone is None else local_us - self._zone.utc_us(local_us)

    @staticmethod
    def measured(value: str) -> int | None:
        """See `ScanHost`."""
        return measured(value)

    def odd(  # noqa: PLR0917  # a call from Rust
        self, begin: int, end: int, stamp: int, us: int, source: int, last: tuple[int, int, int]
    ) -> tuple[bool, bool, int]:
        """See `ScanHost`."""
        offset, last_us, last_source = last
        if last_source >= 0:
            self._spoke(offset, self._utc([last_us])[0], self._sources[last_source])
        skipped = len(self._skip)
        if source < 0 or not self._look_plain(begin, end, stamp, us, self._sources[source]):
            self._take_raw(self._block[begin : min(end, begin + LINE_CAP)], begin)
        return not self._by_prefix, len(self._skip) > skipped, len(self._cuts)

    def _look_plain(self, begin: int, end: int, stamp: int, us: int, source: LogSource) -> bool:
        """A line with nothing but a process id before the stamp; False when no level follows that."""
        text = self._block[stamp + STAMP_BYTES : min(end, stamp + TEXT_END)]
        known = source.heard.get(text)
        if known is None:
            return self._look(text, source, begin, us)
        at_us = self._utc([us])[0]
        self._repeats.add([known], [at_us], [self._base + begin])
        self._spoke(self._base + begin, at_us, source)
        return True
