"""A block of a log while it is scanned: its text, who writes in it, and what was found and counted so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter

from jsdoctor.logs.lines.matcher import Match
from jsdoctor.logs.scan.processes import Cut
from jsdoctor.logs.scan.rows import Fields, HitRow, HitSource, KeptLine, ProcessRef, runs_of
from jsdoctor.model.histogram import Histogram
from jsdoctor.model.log import DATED_US, MINUTE_US, SUBJECT_FIELDS
from jsdoctor.model.log_scan import LogEvent, Part, Row

EXEMPLARS = 3
"""First lines kept of each signature, subject and server; the last one is kept too."""

_UNDATED = 1 << 62
_COMPACT_BYTES = 64 << 10
_SUBJECT = frozenset(SUBJECT_FIELDS)


Place = tuple[int, int | None, bool]
"""Where and when a line is: its offset in the file, its time (None: undated), and whether that is UTC."""

Line = tuple[int, int | None, bool, Fields]
"""A line to keep, still in its block: its place, and what it captured."""

Rank = tuple[int, int]
"""The order of lines: time, then offset in the file."""


class SignatureCounter:
    """Counts the lines of one signature, subject and source. Lines to keep are `Line` until their block is settled."""

    __slots__ = (
        "_compact",
        "_measured",
        "_spans",
        "count",
        "firsts",
        "last",
        "last_rank",
        "line",
        "match",
        "measures",
        "zoned",
    )

    def __init__(self, match: Match, zoned: bool) -> None:
        self.match, self.zoned = match, zoned
        self._measured = not _SUBJECT.issuperset(match.signature.fields)
        self.count = 0
        self._spans, self._compact = bytearray(), _COMPACT_BYTES
        self.measures: dict[str, list[int]] = {}
        self.firsts: list[tuple[Rank, Line | KeptLine]] = []
        self.last_rank: Rank = (-_UNDATED, -1)
        self.line: Line | None = None
        self.last: KeptLine | None = None

    def add(self, us: int | None, offset: int, match: Match) -> None:
        """Count one line."""
        self.measure(match, 1)
        if us is not None:
            self.count_dated(1, Histogram.of([(us, us, 1)]).packed)
            self.keep(us, offset, match)
            return
        self.count += 1
        if len(self.firsts) < EXEMPLARS:
            self._keep_first((_UNDATED, offset), (offset, None, self.zoned, match.others))

    def count_dated(self, count: int, minutes: bytes) -> None:
        """Count dated lines: how many, and a packed histogram of them. Minutes may come more than once."""
        self.count += count
        self._spans += minutes
        if len(self._spans) > self._compact:
            self._spans = bytearray(self.minutes().packed)
            self._compact = max(_COMPACT_BYTES, 2 * len(self._spans))

    def minutes(self) -> Histogram:
        """The dated lines, minute by minute."""
        return Histogram.joined(Histogram(bytes(self._spans)).spans(), MINUTE_US)

    def measure(self, match: Match, count: int) -> None:
        """Count the numbers of `count` lines with the same text."""
        if not self._measured:
            return
        for field, value in match.measures:
            known = self.measures.get(field)
            if known is None:
                self.measures[field] = [count, value, value]
                continue
            known[0] += count
            if value < known[1]:
                known[1] = value
            elif value > known[2]:
                known[2] = value

    def wants(self, rank: Rank) -> bool:
        """Whether a dated line is among the first ones."""
        return len(self.firsts) < EXEMPLARS or rank < self.firsts[-1][0]

    def keep(self, us: int, offset: int, match: Match) -> None:
        """Keep a dated line if it is among the first ones, or the last."""
        rank = (us, offset)
        first = self.wants(rank)
        if not first and rank <= self.last_rank:
            return
        line = (offset, us, self.zoned, match.others)
        if first and all(known != rank for known, _ in self.firsts):
            self._keep_first(rank, line)
        if rank > self.last_rank:
            self.last_rank, self.line = rank, line

    def _keep_first(self, rank: Rank, line: Line) -> None:
        self.firsts.append((rank, line))
        self.firsts.sort(key=itemgetter(0))
        del self.firsts[EXEMPLARS:]

    def waiting(self) -> Iterator[Line]:
        """Lines that are to be kept and are still in their block."""
        for _, line in self.firsts:
            if isinstance(line, tuple):
                yield line
        if self.line is not None:
            yield self.line

    def settle(self, seen: Iterator[KeptLine]) -> None:
        """Replace the waiting lines by `seen`, which has them in the same order."""
        self.firsts = [(rank, next(seen) if isinstance(line, tuple) else line) for rank, line in self.firsts]
        if self.line is not None:
            self.last, self.line = next(seen), None

    def kept(self) -> tuple[list[KeptLine], KeptLine | None]:
        """The first lines, and the last one where it is none of them, once they are settled."""
        among = any(rank == self.last_rank for rank, _ in self.firsts)
        return [seen for _, seen in self.firsts if isinstance(seen, KeptLine)], None if among else self.last


Known = tuple[SignatureCounter, Match]
"""The counter of a text, and its match."""


MAX_COUNTERS = 20_000
"""Number of counters of a part above which they are turned into rows."""

_MAX_KNOWN_BYTES = 8 << 20
_BYTES_PER_TEXT = 400  # estimated memory of a remembered text beside its bytes


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
        """Whether there are so many counters that they should be turned into rows."""
        return self._counted > MAX_COUNTERS

    def of(self, process: ProcessRef) -> LogSource:
        """The source that this process has now."""
        return self._now.get(process) or self.named(process, "")

    def named(self, process: ProcessRef, name: str) -> LogSource:
        """A new source of this process, which is the server of that name from here on."""
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
        """Remember the counter of a text, as most lines are repeated."""
        if self._known_bytes <= _MAX_KNOWN_BYTES:
            self._known_bytes += len(text) + _BYTES_PER_TEXT
            source.known_texts[text] = len(self.known)
            self.known.append((counter, match))

    def settled(self) -> None:
        """End a block. If too many texts are remembered, forget all of them."""
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


CONTEXT = 128 * 1024
"""Bytes before a part that its scan may read, and keeps of each block for the next."""

_KEPT_BYTES = 512

Mark = tuple[str, ProcessRef, Line, int | None]
"""A built-in signature: its name, the process, the line, and the server's own stamp."""

Event = tuple[LogSource, Match, Line, str]
"""One line with a signature: its process, the match, the line, and its level."""


class LogBlock:
    """Whole lines of a part. `base` is the offset of the first byte, `before` what stands before it, as far as kept.

    `cuts` are the lines where processes and sections begin, `skip` the positions of lines that count for no clock,
    `marks` and `events` what is passed on once the lines have numbers.
    """

    __slots__ = ("base", "before", "cuts", "events", "marks", "skip", "text")

    def __init__(self, text: bytes, base: int, before: bytes) -> None:
        self.text, self.base, self.before = text, base, before
        self.cuts: list[Cut] = []
        self.skip: list[int] = []
        self.marks: list[Mark] = []
        self.events: list[Event] = []

    def context(self) -> bytes:
        """The last bytes of this block and those before it, which the scan of the next one may read."""
        text = self.text
        return (self.before + text)[-CONTEXT:] if len(text) < CONTEXT else text[-CONTEXT:]

    def between(self, begin: int, end: int) -> bytes:
        """Text of the file between two offsets, out of this block and what was kept of the one before."""
        start, stop = begin - self.base, end - self.base
        if start >= 0:
            return self.text[start:stop]
        head = self.before[max(0, len(self.before) + start) : len(self.before) + min(stop, 0)]
        return head + self.text[: max(0, stop)]

    def line_before(self, begin: int) -> bytes:
        """The line before the one that begins at this position."""
        text = self.text[max(0, begin - CONTEXT) : begin] if begin else self.before
        end = text[:-1].rfind(b"\n") + 1
        if not end and 0 < begin < CONTEXT:
            text = self.before + text
            end = text[:-1].rfind(b"\n") + 1
        return text[end:]

    def kept(self, lines: Sequence[Line], numbers: Sequence[int]) -> list[KeptLine]:
        """The text of lines to keep. `numbers` are theirs in the part."""
        kept = []
        for (offset, us, zoned, fields), number in zip(lines, numbers, strict=True):
            begin = offset - self.base
            stop = self.text.find(b"\n", begin, begin + _KEPT_BYTES)
            end = begin + _KEPT_BYTES if stop < 0 else stop
            text = self.text[begin:end].rstrip(b"\r").decode(errors="replace")
            kept.append(KeptLine(us, zoned, number, offset, text, fields))
        return kept


def log_event(part: Part, event: Event, kept: KeptLine) -> LogEvent:
    """One line with a signature, for those who read single events."""
    source, match, line, level = event
    process = source.process
    server = part.server or source.name or process.label or process.section or part.series
    fields = (*match.subject, *match.others)
    at_us = line[1] if line[1] is not None and line[1] >= DATED_US else None
    name = match.signature.name
    return LogEvent(server, at_us, line[2], level, name, fields, part.name, kept.line, kept.offset, kept.text)
