"""Contents of the rows between scan and aggregation, as compact MessagePack; and rows that hold runs of hits.

Where nearly every line names a subject of its own, a row for each would take longer than to scan the lines. Such hits
have one line: of it a run has its place, its text and the values of its subject, and what many of them share is written
once for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

import msgspec

from jsdoctor.model.histogram import Histogram
from jsdoctor.model.log_scan import Part, Row

PART, MARK, SEGMENT, STEP, GAP, RESTORED, HIT = (
    "1.part",
    "2.mark",
    "3.segment",
    "4.step",
    "5.gap",
    "6.restored",
    "7.hit",
)
"""Analyses of scanned rows. In sorted order, aggregation reads files and processes before the hits. A row of hits holds
many of them."""

Span = tuple[int, int]
Fields = tuple[tuple[str, str], ...]


class ProcessRef(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A process, as far as a part identifies it. `section` None: unknown, as the part does not begin with the file."""

    section: str | None = ""
    label: str = ""
    pid: int | None = None


class Dated(NamedTuple):
    """Time and writer of a line. `us` of an undated line is its order; `server`: a server wrote it."""

    offset: int
    us: int
    zoned: bool
    process: ProcessRef
    server: bool


class KeptLine(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A line kept as it stands: `line` counts from the start of its part. `us` None: undated."""

    us: int | None
    zoned: bool
    line: int
    offset: int
    text: str
    fields: Fields = ()


class PartRow(msgspec.Struct, array_like=True):
    """What became of one part. Spans are lowest and highest times: of the server's stamps, of other times by zone.

    `stamped` lines have the server's stamp; `server_hits` and `client_hits` count lines with signatures of either,
    `surveyed_*` those of the head and tail of the file, whatever stamp they have. `steps` counts all, kept or not.
    `quoted` lines contain server text, and are neither a server's nor known of applications.
    """

    part: Part
    read: int = 0
    lines: int = 0
    stamped: int = 0
    server_hits: int = 0
    client_hits: int = 0
    surveyed_server: int = 0
    surveyed_client: int = 0
    long_lines: int = 0
    native: Span | None = None
    local: Span | None = None
    utc: Span | None = None
    wrapping: str = ""
    shift_us: int | None = None
    section: str | None = None
    steps: int = 0
    torn: bool = False
    last: bool = True
    problem: str = ""
    skipped: int = 0
    levels: list[str] = []
    quoted: int = 0


class MarkRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One line of a built-in signature that aggregation needs by itself."""

    name: str
    process: ProcessRef
    start: int
    seen: KeptLine
    native_us: int | None = None


class SegmentRow(msgspec.Struct, array_like=True):
    """Neighbouring lines of one process within a part, by the server's own stamps. `started`: begins with its start."""

    process: ProcessRef
    start: int
    started: bool
    first_us: int
    first: KeptLine
    last_us: int
    last_at: int
    lines: int
    highest_us: int


class JumpRow(msgspec.Struct, frozen=True, array_like=True):
    """A step or a gap before a line, in the server's own time."""

    process: ProcessRef
    start: int
    before_us: int
    after_us: int
    seen: KeptLine


class HitSource(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Who wrote the lines of a hit. `name`: the server, if the part names it. `zoned` None: no line is dated."""

    file: str
    start: int
    name: str
    process: ProcessRef
    zoned: bool | None


class HitRow(msgspec.Struct, gc=False):
    """Lines of one signature, subject and source in one part.

    `minutes` has the dated ones, minute by minute. `last` is the last dated one where it is none of the first.
    """

    signature: str
    source: HitSource
    subject: Fields
    count: int
    minutes: Histogram
    measures: list[tuple[str, int, int, int]]
    firsts: list[KeptLine]
    last: KeptLine | None

    @property
    def latest(self) -> KeptLine | None:
        """The last dated line."""
        return self.last or next((seen for seen in reversed(self.firsts) if seen.us is not None), None)


_encoder = msgspec.msgpack.Encoder()
_T = TypeVar("_T")


def row(part: Part, analysis: str, key: str, at: tuple[int, int], value: object) -> Row:
    """A row of a part; `at` is its time and its position, which give the order."""
    return Row(part.series, analysis, key, *at, _encoder.encode(value))


_decoders: dict[type, msgspec.msgpack.Decoder[object]] = {}


def read(kind: type[_T], value: bytes) -> _T:
    """The payload of a row."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders.setdefault(kind, msgspec.msgpack.Decoder(kind))
    return decoder.decode(value)  # type: ignore[return-value]  # the decoder was made for this kind


_RUN_BYTES = 16 << 10
"""A run ends when it has more bytes than this: while runs are merged, the hits of each open one are in memory."""


class HitSignature(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A signature, and the names of the fields that are the subject of its lines."""

    name: str
    fields: tuple[str, ...]


class _OneLine(msgspec.Struct, array_like=True, tag=1, gc=False):
    """A dated line whose time is that of its hit; see `KeptLine`."""

    line: int
    offset: int
    text: str
    fields: Fields
    measures: list[tuple[str, int, int, int]]


class _RunLines(msgspec.Struct, array_like=True, tag=2, gc=False):
    """Several lines, or one without a date; see `HitRow`."""

    count: int
    minutes: Histogram
    measures: list[tuple[str, int, int, int]]
    firsts: list[KeptLine]
    last: KeptLine | None


class _RunHit(msgspec.Struct, array_like=True, gc=False):
    """A hit in its run: signature and source by number, values of the subject, time of the first line."""

    signature: int
    subject: tuple[str, ...]
    first_us: int
    source: int
    lines: _OneLine | _RunLines


_HitT = TypeVar("_HitT")


class _HitRun(msgspec.Struct, Generic[_HitT], array_like=True, gc=False):
    sources: list[HitSource]
    signatures: list[HitSignature]
    hits: list[_HitT]


class FoundHit(msgspec.Struct, array_like=True, gc=False):
    """A hit, and what is shared in its run."""

    source: HitSource
    signature: HitSignature
    hit: _RunHit

    @property
    def key(self) -> str:
        """Signature and subject: by it hits are ordered."""
        return _key(self.signature.name, self.hit.subject)

    @property
    def first_us(self) -> int:
        """The time of the first dated line, or 0."""
        return self.hit.first_us

    @property
    def count(self) -> int:
        """The number of lines."""
        return 1 if isinstance(self.hit.lines, _OneLine) else self.hit.lines.count

    def row(self) -> HitRow:
        """The hit as a row of its own."""
        lines, us, zoned = self.hit.lines, self.hit.first_us, self.source.zoned
        subject = tuple(zip(self.signature.fields, self.hit.subject, strict=True))
        if isinstance(lines, _RunLines):
            counts = (lines.count, lines.minutes, lines.measures, lines.firsts, lines.last)
            return HitRow(self.signature.name, self.source, subject, *counts)
        minutes = Histogram.of([(us, us, 1)])
        seen = [KeptLine(us, bool(zoned), lines.line, lines.offset, lines.text, lines.fields)]
        return HitRow(self.signature.name, self.source, subject, 1, minutes, lines.measures, seen, None)


_hits = msgspec.msgpack.Decoder(_HitRun[_RunHit])
_raw_hits = msgspec.msgpack.Decoder(_HitRun[msgspec.Raw])


def _key(signature: str, subject: Iterable[str]) -> str:
    return "\x1f".join((signature, *subject))


def runs_of(part: Part, hits: Iterable[HitRow]) -> Iterator[Row]:
    """The hits of a part as rows. The key and the time of a row are those of its first hit."""
    keyed = [
        (_key(hit.signature, (value for _, value in hit.subject)), hit.minutes[0].first_us if hit.minutes else 0, hit)
        for hit in hits
    ]
    keyed.sort(key=lambda item: (item[0], item[1], _encoder.encode(item[2].source)))
    run = _RunWriter()
    for key, first_us, hit in keyed:
        run.add(key, first_us, hit)
        if run.bytes > _RUN_BYTES:
            yield run.row(part)
            run = _RunWriter()
    if run.bytes:
        yield run.row(part)


class _RunWriter:
    def __init__(self) -> None:
        self.bytes = 0
        self._first: tuple[str, int] | None = None
        self._sources: dict[HitSource, int] = {}
        self._signatures: dict[HitSignature, int] = {}
        self._hits: list[msgspec.Raw] = []

    def add(self, key: str, first_us: int, hit: HitRow) -> None:
        self._first = self._first or (key, first_us)
        signature = HitSignature(hit.signature, tuple(field for field, _ in hit.subject))
        packed = _encoder.encode(
            _RunHit(
                self._signatures.setdefault(signature, len(self._signatures)),
                tuple(value for _, value in hit.subject),
                first_us,
                self._sources.setdefault(hit.source, len(self._sources)),
                _run_lines(hit),
            )
        )
        self._hits.append(msgspec.Raw(packed))
        self.bytes += len(packed)

    def row(self, part: Part) -> Row:
        """The run as a row. It has a hit."""
        key, first_us = self._first or ("", 0)
        run = _HitRun(list(self._sources), list(self._signatures), self._hits)
        return Row(part.series, HIT, key, first_us, part.start, _encoder.encode(run))


def _run_lines(hit: HitRow) -> _OneLine | _RunLines:
    if hit.count > 1 or hit.source.zoned is None:
        return _RunLines(hit.count, hit.minutes, hit.measures, hit.firsts, hit.last)
    seen = hit.firsts[0]
    return _OneLine(seen.line, seen.offset, seen.text, seen.fields, hit.measures)


def hits_of(run: Row) -> Iterator[FoundHit]:
    """The hits of a row."""
    content = _hits.decode(run.value)
    return (FoundHit(content.sources[hit.source], content.signatures[hit.signature], hit) for hit in content.hits)


def renamed(run: Row, file: str) -> bytes:
    """The content of a run as if the file had this name."""
    content = _raw_hits.decode(run.value)
    content.sources = [msgspec.structs.replace(source, file=file) for source in content.sources]
    return _encoder.encode(content)
