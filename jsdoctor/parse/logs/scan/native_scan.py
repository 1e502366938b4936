"""Scans one part of a log with the compiled core; lines of an unusual form are read here, in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from jsdoctor.model.log_scan import Part, Row
from jsdoctor.parse.logs.lines.matcher import Matcher, measured
from jsdoctor.parse.logs.lines.stamp import STAMP_BYTES
from jsdoctor.parse.logs.scan.block import LogBlock
from jsdoctor.parse.logs.scan.log_sources import LogSource
from jsdoctor.parse.logs.scan.native_core import NativeScanner, Segment, native_scanner
from jsdoctor.parse.logs.scan.part import TEXT_END, PartScan
from jsdoctor.parse.logs.scan.rows import HIT, HitSource
from jsdoctor.parse.logs.scan.time_segments import BlockLines, Jump, ProcessKey, ProcessKeys, TimeSegment

_QUARTER_US = 900_000_000


class _NativeLines:
    """See `BlockLines`."""

    def __init__(self, scan: NativeScanner, keys: Sequence[ProcessKey]) -> None:
        self._scan, self._keys = scan, keys
        self.lines, self.long_lines = scan.lines, scan.long_lines

    def numbers(self, starts: Sequence[int]) -> list[int]:
        """See `BlockLines`."""
        return self._scan.numbers(starts)

    def segments(
        self,
        cuts: Sequence[int],  # noqa: ARG002  # the scan already knows both
        skip: Sequence[int],  # noqa: ARG002
        keys: ProcessKeys,  # noqa: ARG002
    ) -> list[TimeSegment]:
        """See `BlockLines`."""
        return [self._segment(segment) for segment in self._scan.segments()]

    def _segment(self, segment: Segment) -> TimeSegment:
        process, *numbers, steps, gaps = segment
        jumps = (tuple(map(Jump._make, steps)), tuple(map(Jump._make, gaps)))
        return TimeSegment._make((self._keys[process - 1], *numbers, *jumps))


class _Host(NamedTuple):
    """See `ScanHost`: the calls for one block."""

    source_of: Callable[[bytes], int]
    voice_of: Callable[[bytes], int]
    offset_us: Callable[[int], int]
    measured: Callable[[str], int | None]
    odd: Callable[[int, int, int, int, int, tuple[int, int, int]], tuple[bool, bool, int]]


class NativeScan(PartScan):
    """The scan of one part; see `PartScan`, whose rows it gives."""

    def __init__(self, part: Part, matcher: Matcher, context: bytes = b"") -> None:
        super().__init__(part, matcher, context)
        self._native = native_scanner(matcher, zoned=self._times.zoned)
        self._numbered: list[LogSource] = []
        self._source_numbers: dict[LogSource, int] = {}
        self._keys: list[ProcessKey] = []
        self._key_numbers: dict[ProcessKey, int] = {}

    def _read_block(self, block: LogBlock) -> BlockLines:
        host = _Host(self.source_of, self.voice_of, self.offset_us, measured, partial(self._odd, block))
        self._native.block(block.text, block.base, self._row.lines, host)
        return _NativeLines(self._native, self._keys)

    def _counts(self, at_end: bool) -> Iterator[Row]:
        yield from super()._counts(at_end)
        if at_end or self._native.full:
            part = self._part
            sources = [
                msgspec.msgpack.encode(HitSource(part.name, part.start, source.name, source.process, self._times.zoned))
                for source in self._numbered
            ]
            for key, first_us, run in self._native.runs(sources):
                yield Row(part.series, HIT, key, first_us, part.start, run)

    def source_of(self, prefix: bytes) -> int:
        """See `ScanHost`."""
        source = self._by_prefix.get(prefix) or self._of_prefix(prefix)
        if source is None:
            return -1
        number = self._source_numbers.setdefault(source, len(self._numbered))
        if number == len(self._numbered):
            self._numbered.append(source)
        return number

    def voice_of(self, prefix: bytes) -> int:
        """See `ScanHost`."""
        key = self._process_keys.of(prefix)
        if key is None:
            return 0
        number = self._key_numbers.setdefault(key, len(self._keys))
        if number == len(self._keys):
            self._keys.append(key)
        return number + 1

    def offset_us(self, quarter: int) -> int:
        """See `ScanHost`."""
        local_us = quarter * _QUARTER_US
        return local_us - self._times.utc_us(local_us)

    def _odd(  # noqa: PLR0917  # a call from Rust
        self, block: LogBlock, begin: int, end: int, stamp: int, us: int, source: int, last: tuple[int, int, int]
    ) -> tuple[bool, bool, int]:
        offset, last_us, last_source = last
        if last_source >= 0:
            self._times.note(offset, self._times.utc_us(last_us), self._numbered[last_source].process)
        skipped = len(block.skip)
        if source < 0 or not self._read_plain(block, begin, end, stamp, us, self._numbered[source]):
            self._read_line(block, begin, end)
        return not self._by_prefix, len(block.skip) > skipped, len(block.cuts)

    def _read_plain(self, block: LogBlock, begin: int, end: int, stamp: int, us: int, source: LogSource) -> bool:  # noqa: PLR0917
        """A line with nothing but a process id before the stamp; False when no level follows that."""
        text = block.text[stamp + STAMP_BYTES : min(end, stamp + TEXT_END)]
        number = source.known_texts.get(text)
        if number is None:
            return self._read_message(block, text, source, begin, us)
        at_us, offset = self._times.utc_us(us), block.base + begin
        self._repeats.add([number], [at_us], [offset])
        self._times.note(offset, at_us, source.process)
        return True
