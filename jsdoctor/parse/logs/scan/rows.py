"""Contents of the rows between scan and aggregation, as compact MessagePack."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

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
many of them: see `hit_runs`."""

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


ROWS_REVISION = 2
"""Raise it with every change of what rows contain: saved rows of another revision are not used."""

_encoder = msgspec.msgpack.Encoder()
_T = TypeVar("_T")


def row(part: Part, analysis: str, key: str, at: tuple[int, int], value: object) -> Row:
    """A row of a part; `at` is its time and its place, which give the order."""
    return Row(part.series, analysis, key, *at, _encoder.encode(value))


_decoders: dict[type, msgspec.msgpack.Decoder[object]] = {}


def read(kind: type[_T], value: bytes) -> _T:
    """The payload of a row."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders.setdefault(kind, msgspec.msgpack.Decoder(kind))
    return decoder.decode(value)  # type: ignore[return-value]  # the decoder was made for this kind
