"""Runs of hits: rows that hold many hits in the order of their keys.

Where nearly every line names a subject of its own, a row for each would take longer than to scan the lines. Such hits
have one line: of it a run has its place, its text and the values of its subject, and what many of them share is written
once for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

import msgspec

from jsdoctor.model.histogram import Histogram
from jsdoctor.model.log_scan import Part, Row
from jsdoctor.parse.logs.scan.rows import HIT, Fields, HitRow, HitSource, KeptLine

_RUN_BYTES = 16 << 10
"""A run ends behind the hit that exceeds so many bytes: of each run of a log one is in memory while they are merged."""


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
        """All of it."""
        lines, us, zoned = self.hit.lines, self.hit.first_us, self.source.zoned
        subject = tuple(zip(self.signature.fields, self.hit.subject, strict=True))
        if isinstance(lines, _RunLines):
            counts = (lines.count, lines.minutes, lines.measures, lines.firsts, lines.last)
            return HitRow(self.signature.name, self.source, subject, *counts)
        minutes = Histogram.of([(us, us, 1)])
        seen = [KeptLine(us, bool(zoned), lines.line, lines.offset, lines.text, lines.fields)]
        return HitRow(self.signature.name, self.source, subject, 1, minutes, lines.measures, seen, None)


_encoder = msgspec.msgpack.Encoder()
_hits = msgspec.msgpack.Decoder(_HitRun[_RunHit])
_raw_hits = msgspec.msgpack.Decoder(_HitRun[msgspec.Raw])


def _key(signature: str, subject: Iterable[str]) -> str:
    return "\x1f".join((signature, *subject))


def runs_of(part: Part, hits: Iterable[HitRow]) -> Iterator[Row]:
    """The hits of a part as rows. The key and the time of a row are those of its first hit."""
    keyed = [(_key(hit.signature, (value for _, value in hit.subject)), _first_us(hit), hit) for hit in hits]
    keyed.sort(key=lambda item: (item[0], item[1], _encoder.encode(item[2].source)))
    run = _RunWriter()
    for key, first_us, hit in keyed:
        run.add(key, first_us, hit)
        if run.bytes > _RUN_BYTES:
            yield run.row(part)
            run = _RunWriter()
    if run.bytes:
        yield run.row(part)


def _first_us(hit: HitRow) -> int:
    return hit.minutes[0].first_us if hit.minutes else 0


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
                _lines(hit),
            )
        )
        self._hits.append(msgspec.Raw(packed))
        self.bytes += len(packed)

    def row(self, part: Part) -> Row:
        """The run as a row. It has a hit."""
        key, first_us = self._first or ("", 0)
        run = _HitRun(list(self._sources), list(self._signatures), self._hits)
        return Row(part.series, HIT, key, first_us, part.start, _encoder.encode(run))


def _lines(hit: HitRow) -> _OneLine | _RunLines:
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
