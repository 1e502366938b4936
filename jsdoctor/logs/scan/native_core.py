"""The compiled scan (`native/`, the package jsdoctor-native), where it is installed; unusual lines are read here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import NamedTuple, Protocol

import msgspec

from jsdoctor.compiled_core import CompiledCore
from jsdoctor.logs.lines.builtin import BEGINNINGS, FATAL, MARKED
from jsdoctor.logs.lines.line import STARTS
from jsdoctor.logs.lines.matcher import Matcher, measured
from jsdoctor.logs.lines.stamp import STAMP_BYTES
from jsdoctor.logs.scan.block import LogBlock, LogSource
from jsdoctor.logs.scan.part import TEXT_END, PartScan
from jsdoctor.logs.scan.rows import HIT, HitSource
from jsdoctor.logs.scan.time_segments import BlockLines, Jump, ProcessKey, ProcessKeys, TimeSegment
from jsdoctor.model.log import SUBJECT_FIELDS
from jsdoctor.model.log_scan import Part, Row
from jsdoctor.model.rule import LineOrigin, Signature

_Jumps = Sequence[tuple[int, int, int]]
Segment = tuple[int, int, int, int, int, int, int, int, int, _Jumps, _Jumps]
"""Process, cut, first time and place, last time and place, lowest and highest time, lines, steps, gaps."""

Description = tuple[str, str, str, list[tuple[str, bool, bool]], list[str], bool, bool]


class ScanHost(Protocol):
    """The calls of the compiled scan while it reads a block."""

    def source_of(self, prefix: bytes, /) -> int:
        """The number of the process that writes with this prefix: nothing, or a process id."""
        ...

    def voice_of(self, prefix: bytes, /) -> int:
        """The number, from 1, of the process that writes with any prefix; 0 if it cannot be identified."""
        ...

    def offset_us(self, quarter: int, /) -> int:
        """How far local time is ahead of UTC in this quarter of an hour, counted from 1970."""
        ...

    def measured(self, value: str, /) -> int | None:
        """The number that a captured value is."""
        ...

    def read_line(  # noqa: PLR0917  # a call from Rust
        self, begin: int, end: int, stamp: int, us: int, source: int, last: tuple[int, int, int], /
    ) -> tuple[bool, bool, int]:
        """Read a line that the compiled scan leaves to Python. Called in the order of the file.

        `stamp` is -1 without a time stamp; `source` is -1 unless only a process id precedes it; `last` is the line
        counted last: its offset in the file, its time, its source. Returns whether `source_of` must be called again,
        whether the line counts for no clock, and how many cuts there are so far.
        """
        ...


class NativeScanner(Protocol):
    """The scan of one part. `lines`, `long_lines`, `numbers` and `segments` are of the last block."""

    @property
    def lines(self) -> int:
        """The number of lines."""
        ...

    @property
    def long_lines(self) -> int:
        """The number of lines of which not all was read."""
        ...

    @property
    def full(self) -> bool:
        """Whether there are so many counts that they should be turned into rows."""
        ...

    def block(self, block: bytes, base: int, before: int, host: ScanHost, /) -> None:
        """Scan whole lines: `base` is the offset of the first byte, `before` the lines of the part so far."""
        ...

    def numbers(self, starts: Sequence[int], /) -> list[int]:
        """The numbers, from 0, of the lines that start here."""
        ...

    def segments(self) -> list[Segment]:
        """The segments, in the order in which they begin."""
        ...

    def runs(self, sources: list[bytes], /) -> list[tuple[str, int, bytes]]:
        """Remove all counts: key and time of the first hit of each run, and the run; see `hit_runs.hits_of`.

        `sources` are the packed `HitSource`s, by number.
        """
        ...


NativeGroup = tuple[str, list[bytes], int, int]
"""See `hit_groups.HitGroup`; what is found is packed."""


class NativeGroups(Protocol):
    """Brings the hits of runs together; see `hit_groups.HitGroup`."""

    def add(self, start: int, run: bytes, server_of: Callable[[bytes], int], /) -> list[NativeGroup]:
        """Take one more run, of a part that begins at `start`.

        `server_of` gets a packed `HitSource` and gives the number of its server. It is called once for each source:
        what is found has the number of that call.
        """
        ...

    def end(self) -> list[NativeGroup]:
        """Take the last groups, once all runs are there."""
        ...


class _ScanCore(Protocol):
    def Signatures(  # noqa: N802  # a class
        self,
        signatures: list[Description],
        lines: list[bytes],
        beginnings: list[bytes],
        quiet: list[bytes],
        openings: list[bytes],
        /,
    ) -> object: ...

    def Scan(self, signatures: object, zoned: bool, /) -> NativeScanner: ...  # noqa: N802  # a class

    def HitGroups(self, kept: int, /) -> NativeGroups: ...  # noqa: N802  # a class


_core = CompiledCore[_ScanCore]()


def have_native() -> bool:
    """Whether the compiled scan is installed."""
    return _core.found is not None


def native_scanner(matcher: Matcher, zoned: bool) -> NativeScanner:
    """A compiled scan of one part. `zoned`: the zone of its times is known. Only where `have_native`."""
    return _core.required().Scan(_signatures(matcher), zoned)


def hit_groups(kept: int) -> NativeGroups:
    """What brings hits together. `kept`: subjects of a signature that can be kept. Only where `have_native`."""
    return _core.required().HitGroups(kept)


@lru_cache(maxsize=2)
def _signatures(matcher: Matcher) -> object:
    descriptions = [_description(signature) for signature in matcher.ordered() if signature.name != FATAL]
    return _core.required().Signatures(
        descriptions,
        list(matcher.searched),
        [*STARTS, *BEGINNINGS],
        list(matcher.quiet_literals),
        list(matcher.openings),
    )


def _description(signature: Signature) -> Description:
    fields = [(field, field in SUBJECT_FIELDS, field == "reason") for field in signature.fields]
    server = signature.source is not LineOrigin.CLIENT
    name, levels = signature.name, list(signature.levels)
    return name, signature.contains, signature.pattern, fields, levels, server, name in MARKED


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
    read_line: Callable[[int, int, int, int, int, tuple[int, int, int]], tuple[bool, bool, int]]


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
        host = _Host(self.source_of, self.voice_of, self.offset_us, measured, partial(self._read_for_native, block))
        self._native.block(block.text, block.base, self._row.lines, host)
        return _NativeLines(self._native, self._keys)

    def _count_rows(self, at_end: bool) -> Iterator[Row]:
        yield from super()._count_rows(at_end)
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
        source = self._by_prefix.get(prefix) or self._plain_source(prefix)
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

    def _read_for_native(  # noqa: PLR0917  # a call from Rust
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
        """Read a line with at most a process id before the stamp. Returns False if no level follows the stamp."""
        text = block.text[stamp + STAMP_BYTES : min(end, stamp + TEXT_END)]
        number = source.known_texts.get(text)
        if number is None:
            return self._read_message(block, text, source, begin, us)
        at_us, offset = self._times.utc_us(us), block.base + begin
        self._repeats.add([number], [at_us], [offset])
        self._times.note(offset, at_us, source.process)
        return True
