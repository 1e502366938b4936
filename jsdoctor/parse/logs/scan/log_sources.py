"""The processes that write in a part, and what is counted of each until it leaves the part as rows."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.model.log_scan import Part, Row
from jsdoctor.parse.logs.lines.matcher import Match
from jsdoctor.parse.logs.scan.hit_runs import runs_of
from jsdoctor.parse.logs.scan.rows import HitRow, HitSource, ProcessRef
from jsdoctor.parse.logs.scan.signature_counter import Known, Place, SignatureCounter

MAX_COUNTERS = 20_000
"""Where a part has more counts than this, it lets go of them as rows."""

_MAX_KNOWN_BYTES = 8 << 20
_BYTES_PER_TEXT = 400  # what Python takes for a text and what was found in it, roughly


class LogSource:
    """A process, the name that it has from here on, and its counts by whether lines have a zone, or a time.

    `known_texts` has texts with exactly one signature, of lines with the server's own stamp: their numbers in
    `LogSources.known`.
    """

    __slots__ = ("counters", "known_texts", "name", "process")

    def __init__(self, process: ProcessRef, name: str) -> None:
        self.process, self.name = process, name
        self.counters: dict[bool | None, dict[int, SignatureCounter]] = {False: {}, True: {}, None: {}}
        self.known_texts: dict[bytes, int] = {}


class LogSources:
    """All processes that write in a part.

    `touched` are the counters that may have lines of the present block to keep, `known` the counter and match of each
    text in `known_texts`.
    """

    def __init__(self, part: Part) -> None:
        self._part = part
        self._now: dict[ProcessRef, LogSource] = {}
        self._all: list[LogSource] = []
        self._counted = self._known_bytes = 0
        self.touched: dict[SignatureCounter, None] = {}
        self.known: list[Known] = []

    @property
    def full(self) -> bool:
        """Whether it is time to let go of what was counted."""
        return self._counted > MAX_COUNTERS

    def of(self, process: ProcessRef) -> LogSource:
        """The source that this process has now."""
        return self._now.get(process) or self.named(process, "")

    def named(self, process: ProcessRef, name: str) -> LogSource:
        """From here on, this process is the server of that name."""
        source = self._now[process] = LogSource(process, name)
        self._all.append(source)
        return source

    def count(self, source: LogSource, match: Match, at: Place) -> SignatureCounter:
        """Count a line."""
        offset, us, zoned = at
        counters = source.counters[None if us is None else zoned]
        counter = counters.get(match.number)
        if counter is None:
            counter = counters[match.number] = SignatureCounter(match, zoned)
            self._counted += 1
        counter.add(us, offset, match)
        self.touched[counter] = None
        return counter

    def remember(self, source: LogSource, text: bytes, counter: SignatureCounter, match: Match) -> None:
        """Remember a text: repeated lines are the rule."""
        if self._known_bytes <= _MAX_KNOWN_BYTES:
            self._known_bytes += len(text) + _BYTES_PER_TEXT
            source.known_texts[text] = len(self.known)
            self.known.append((counter, match))

    def settled(self) -> None:
        """The lines of a block are counted and kept. Where too many texts are known, others get their turn."""
        self.touched.clear()
        if self._known_bytes > _MAX_KNOWN_BYTES:
            self._forget()

    def _forget(self) -> None:
        for source in self._all:
            source.known_texts.clear()
        self.known.clear()
        self._known_bytes = 0

    def rows(self) -> Iterator[Row]:
        """Everything counted so far; resets the counters."""
        yield from runs_of(self._part, self._hits())
        self._counted = 0
        self._forget()

    def _hits(self) -> Iterator[HitRow]:
        for source in self._all:
            for zoned, counters in source.counters.items():
                written = HitSource(self._part.name, self._part.start, source.name, source.process, zoned)
                for counter in counters.values():
                    yield _hit(written, counter)
                counters.clear()


def _hit(source: HitSource, counter: SignatureCounter) -> HitRow:
    match = counter.match
    measures = [(field, known[0], known[1], known[2]) for field, known in sorted(counter.measures.items())]
    firsts, last = counter.kept()
    return HitRow(match.signature.name, source, match.subject, counter.count, counter.minutes(), measures, firsts, last)
