"""Scans one part of a log, block by block, and returns the results as rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from jsdoctor.logs.lines.builtin import BEGINNINGS, NAME, PANIC, RESTORED, ROTATED, START
from jsdoctor.logs.lines.line import LINE_CAP, PID, LogLine, is_partial, read_line, section_name
from jsdoctor.logs.lines.matcher import TEXT_CAP, Match, Matcher
from jsdoctor.logs.lines.stamp import STAMP_BYTES, DayCount, Zone, year_of
from jsdoctor.logs.scan.block import (
    Known,
    Line,
    LogBlock,
    LogSource,
    LogSources,
    Place,
    SignatureCounter,
    log_event,
)
from jsdoctor.logs.scan.candidates import candidates, has_literal
from jsdoctor.logs.scan.processes import Cut, Processes
from jsdoctor.logs.scan.rows import MARK, PART, Dated, KeptLine, MarkRow, PartRow, ProcessRef, row
from jsdoctor.logs.scan.rows import RESTORED as RESTORED_ROWS
from jsdoctor.logs.scan.sniff_lines import WINDOW, lines_below, note_time, survey, whole_lines
from jsdoctor.logs.scan.time_segments import BlockLines, FoundLines, ProcessKeys
from jsdoctor.model.log import DATED_US, ORDER_US
from jsdoctor.model.log_scan import LogEvent, Part, Row

LOOKBACK = 16 * 1024
"""A line without a time has that of the nearest line before it within this number of bytes."""


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
        """Find the nearest line with a time before `here`, and keep it; lines that were searched before are skipped."""
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


BLOCK = 4 << 20
"""Number of bytes of text that are given to a scan at a time."""

EXCERPT_BYTES = 256 * 1024
"""In a file no larger than this a message needs no header to be a server's: people cut them off."""

TEXT_END = STAMP_BYTES + TEXT_CAP + 64
"""This many bytes from the start of a stamp contain the message of a line."""
_MAX_QUOTED = 1000


class PartReader(Protocol):
    """Takes the lines of a part in order."""

    def feed(self, text: bytes, base: int, /) -> Iterator[Row]:
        """Whole lines, the first byte at `base` of the file's text. Yields rows that overflow."""
        ...

    def finish(
        self, *, last: bool, read: int, torn: bool = False, problem: str = "", skipped: int = 0
    ) -> Iterator[Row]:
        """The rows of the part. `last`: it reaches the end of the file; `torn`: the last line has no end.

        `read` is how many bytes of text it covers, `skipped` how many stored ones could not be read, for `problem`.
        """
        ...


_INF = (b"[INF]", b"mINF\x1b")
"""The level without which a log does not show that a fault ended, anywhere in it: `grep WRN` leaves it out."""


class _Search(NamedTuple):
    """Lines of a block to be read. `may_match`: whether a line has text that a signature needs."""

    block: LogBlock
    lines: FoundLines
    may_match: Callable[[int], bool]


class PartScan:
    """The scan of one part. Feed it whole lines in order, then take the rows of `finish`."""

    def __init__(
        self, part: Part, matcher: Matcher, context: bytes = b"", sink: Callable[[list[LogEvent]], None] | None = None
    ) -> None:
        self._part, self._matcher, self._sink = part, matcher, sink
        self._year = year_of(part.mtime_us)
        self._process_keys = ProcessKeys(self._year)
        self._is_excerpt = part.size <= EXCERPT_BYTES
        self._row = PartRow(part, section=None if part.start else "", wrapping=part.form)
        self._processes = Processes(part)
        self._context, self._expected = context, -1
        self._sources = LogSources(part)
        self._by_prefix: dict[bytes, LogSource] = {}
        self._wrapped_servers: dict[tuple[str | None, str], ProcessRef] = {}
        self._times = LineTimes(part)
        self._repeats = RepeatedLines()
        self._repetitive = False

    def feed(self, text: bytes, base: int) -> Iterator[Row]:
        """See `PartReader`."""
        block = LogBlock(text, base, self._context if self._expected in {-1, base} else b"")
        section = self._row.section
        if base < WINDOW:
            survey(self._row, list(lines_below(text[: WINDOW + LINE_CAP], WINDOW - base)), self._year)
        if "INF" not in self._row.levels and any(words in text for words in _INF):
            self._row.levels.append("INF")
        lines = self._read_block(block)
        rows = self._settle(block, lines)
        self._join_segments(block, lines, section)
        self._row.lines += lines.lines
        self._row.long_lines += lines.long_lines
        self._context, self._expected = block.context(), base + len(text)
        yield from self._count_rows(at_end=False)
        yield from rows

    def finish(
        self, *, last: bool, read: int, torn: bool = False, problem: str = "", skipped: int = 0
    ) -> Iterator[Row]:
        """See `PartReader`."""
        part = self._part
        if last:
            survey(self._row, self._tail(part.start + read), self._year)
        self._row.last, self._row.torn, self._row.problem, self._row.skipped = last, torn, problem, skipped
        self._row.steps, self._row.read = self._processes.steps, read
        yield row(part, PART, part.name, (0, part.start), self._row)
        yield from self._processes.rows()
        yield from self._count_rows(at_end=True)

    def _count_rows(self, at_end: bool) -> Iterator[Row]:
        """The counts as rows: at the end, or if there are too many."""
        if at_end or self._sources.full:
            yield from self._sources.rows()

    def _tail(self, end: int) -> list[bytes]:
        """The last lines of the file, those left out that are among its first."""
        if end <= WINDOW:  # all of them are among the first
            return []
        window = self._context[-WINDOW - 1 :]
        lines = whole_lines(window, len(window) <= WINDOW)
        first = end - sum(len(line) + 1 for line in lines) + (not window.endswith(b"\n"))
        kept = []
        for line in lines:
            if first >= WINDOW:
                kept.append(line)
            first += len(line) + 1
        return kept

    def _join_segments(self, block: LogBlock, lines: BlockLines, section: str | None) -> None:
        """Add the block's segments to the processes. `section` is the one that its first line stands in."""
        segments = lines.segments([cut.at for cut in block.cuts], block.skip, self._process_keys)
        self._processes.join(
            segments,
            block.cuts,
            section,
            lambda at: self._kept_lines(block, [(block.base + at, None, False, ())], lines)[0],
        )
        for segment in segments:
            low, high = self._row.native or (segment.lowest_us, segment.highest_us)
            self._row.native = (min(low, segment.lowest_us), max(high, segment.highest_us))
            self._row.stamped += segment.lines

    def _read_block(self, block: LogBlock) -> BlockLines:
        """Count the lines of the block that have a signature."""
        from jsdoctor.logs.scan.clock import BlockClock

        clock, repeated = BlockClock(block.text), 0
        loud, find = clock.loud(self._repetitive, self._matcher.openings), self._matcher.finder(block.text)
        lines = clock.lines_of(loud.single, candidates(block.text, loud, self._matcher.quiet, find))
        search = _Search(
            block,
            lines,
            lambda line: not loud.single or has_literal(block.text, lines.begins[line], lines.ends[line], find),
        )
        for begin, end in lines.runs:
            at = begin
            while at < end:
                known, at = self._read_run(search, at, end)
                repeated += known
        self._repetitive = 3 * repeated > loud.lines
        return clock

    def _read_run(self, search: _Search, begin: int, end: int) -> tuple[int, int]:
        """Count found lines with one prefix before the stamp, up to a line after which it belongs to another process.

        Returns the number of lines whose text was known and only counted, and the line to continue with.
        """
        block, lines, may_match = search
        text, prefix = block.text, b""
        source = None
        if lines.us[begin] is not None:
            prefix = text[lines.begins[begin] : lines.stamps[begin]]
            source = self._by_prefix.get(prefix) or self._plain_source(prefix)
        if source is None:
            for line in filter(may_match, range(begin, end)):
                self._read_line(block, lines.begins[line], lines.ends[line])
            return 0, end
        texts = [
            text[stamp + STAMP_BYTES : stop if stop - stamp < TEXT_END else stamp + TEXT_END]
            for stamp, stop in zip(lines.stamps[begin:end], lines.ends[begin:end], strict=True)
        ]
        numbers = list(map(source.known_texts.get, texts))
        if None in numbers:
            end = self._read_unknown(search, begin, texts, numbers, source, prefix)
            numbers = numbers[: end - begin]
        repeated = [(line, number) for line, number in enumerate(numbers, begin) if number is not None]
        if repeated:
            times = self._times.utc([lines.us[line] for line, _ in repeated])
            offsets = [block.base + lines.begins[line] for line, _ in repeated]
            self._repeats.add([number for _, number in repeated], times, offsets)
            self._times.note(offsets[-1], times[-1], source.process)
        return len(repeated), end

    def _read_unknown(  # noqa: PLR0917  # the columns of `_read_run`
        self,
        search: _Search,
        begin: int,
        texts: list[bytes],
        numbers: list[int | None],
        source: LogSource,
        prefix: bytes,
    ) -> int:
        """Read the lines whose texts are not known, and learn them. Returns the line to continue with."""
        block, lines, may_match = search
        before = begin - 1
        for line in [line for line, number in enumerate(numbers, begin) if number is None]:
            text = texts[line - begin]
            number = numbers[line - begin] = source.known_texts.get(text)
            if number is None and (text in self._matcher.known or may_match(line)):
                if line - 1 > before:
                    us = self._times.utc([lines.us[line - 1]])[0]
                    self._times.note(block.base + lines.begins[line - 1], us, source.process)
                if not self._read_message(block, text, source, lines.begins[line], lines.us[line]):
                    self._read_line(block, lines.begins[line], lines.ends[line])
                if self._by_prefix.get(prefix) is not source:
                    return line + 1
            if number is None:
                before = line
        return begin + len(texts)

    def _read_message(self, block: LogBlock, text: bytes, source: LogSource, begin: int, native_us: int | None) -> bool:
        """Read a line with at most a process id before the stamp. Returns False if no level follows the stamp."""
        message = self._matcher.known.get(text) or self._matcher.match_native(text)
        if message is not None and message.matches:
            offset, us = block.base + begin, self._times.utc([native_us])[0]
            self._times.note(offset, us, source.process)
            place = (offset, us, self._times.zoned)
            counter = self._count(block, message.matches, source, place, native_us, message.level)
            if counter is not None:
                self._sources.remember(source, text, counter, message.matches[0])
        return message is not None

    def _plain_source(self, prefix: bytes) -> LogSource | None:
        """The source of a line with at most a process id before the stamp, which it remembers; None for other lines."""
        pid = PID.fullmatch(prefix)
        if pid is None:
            return None
        process = ProcessRef(self._row.section, "", None if pid[1] is None else int(pid[1]))
        source = self._by_prefix[prefix] = self._sources.of(process)
        return source

    def _read_line(self, block: LogBlock, begin: int, end: int) -> None:
        """Read a line of any form: the header of a section, or a line that is counted if it has a signature."""
        raw = block.text[begin : min(end, begin + LINE_CAP)]
        name = section_name(raw)
        if name is not None:
            self._row.section = name
            self._by_prefix.clear()
            block.cuts.append(Cut(begin, None, name))
            return
        line = read_line(raw, self._year)
        if line.server and line.text.startswith(BEGINNINGS):  # in syslog it has the server's name
            line = line._replace(server=False)
        if line.kind in {"docker", "cri"} and is_partial(block.line_before(begin)):
            return
        matches = self._matcher.match(line.server, line.level, line.text)
        if self._is_excerpt and not line.server and not matches and self._matcher.opening(line.text):
            line = line._replace(server=True)
            matches = self._matcher.match(True, line.level, line.text)
        if matches:
            self._count_line(block, line, matches, begin)
        elif not line.server and self._row.quoted < _MAX_QUOTED and self._matcher.quoted(line.text):
            self._row.quoted += 1

    def _count_line(self, block: LogBlock, line: LogLine, matches: tuple[Match, ...], begin: int) -> None:
        note_time(self._row, line)
        if line.server:
            self._row.server_hits += 1
        else:
            self._row.client_hits += 1
        process = ProcessRef(self._row.section, line.label, line.pid)
        known = self._wrapped_servers.get((process.section, line.label)) if line.kind and not line.server else None
        if line.server and line.kind:
            self._wrapped_servers[process.section, line.label] = process
        dated = self._times.date(block, line, begin, process)
        if dated is not None and line.us is None and not line.label and line.pid is None:
            process = dated.process
        if known is not None and any(match.signature.name == PANIC for match in matches):
            process = known
        elif not line.server and (dated is None or not dated.server or line.us is not None):
            matches = tuple(match for match in matches if match.signature.name != PANIC)
        us, zoned = (None, False) if dated is None else (dated.us, dated.zoned)
        place = (block.base + begin, us, zoned)
        self._count(block, matches, self._sources.of(process), place, line.native_us, line.level)

    def _count(  # noqa: PLR0917  # what is known of one line
        self,
        block: LogBlock,
        matches: tuple[Match, ...],
        source: LogSource,
        at: Place,
        native_us: int | None,
        level: str,
    ) -> SignatureCounter | None:
        """Count a line. Returns the counter if other lines in the same words need nothing but to be counted with it."""
        counter = None
        for match in matches:
            if match.marked:
                source = self._mark(block, match, source, at, native_us)
                if not match.counted:
                    continue
            counter = self._sources.count(source, match, at)
            if self._sink is not None:
                block.events.append((source, match, (*at, match.others), level))
        return counter if len(matches) == 1 and not matches[0].marked and self._sink is None else None

    def _mark(self, block: LogBlock, match: Match, source: LogSource, at: Place, native_us: int | None) -> LogSource:
        """Record a built-in signature. Returns the source that the process has from this line on."""
        name = match.signature.name
        if name == ROTATED:
            block.skip.append(at[0] - block.base)
            return source
        if name == START:
            block.cuts.append(Cut(at[0] - block.base, source.process, None))
        fields = (*match.subject, *match.others)
        block.marks.append((name, source.process, (*at, fields), native_us))
        if name != NAME:
            return source
        self._by_prefix.clear()
        return self._sources.named(source.process, fields[0][1])

    def _settle(self, block: LogBlock, clock: BlockLines) -> list[Row]:
        """End a block: keep the text of lines, and pass events to the sink. Returns the rows of its marks."""
        changed = self._sources.touched
        changed.update(dict.fromkeys(self._repeats.count(self._sources.known)))
        lines = [line for counter in changed for line in counter.waiting()]
        lines.extend(line for _, _, line, _ in block.marks)
        lines.extend(line for _, _, line, _ in block.events)
        kept = iter(self._kept_lines(block, lines, clock))
        for counter in changed:
            counter.settle(kept)
        self._sources.settled()
        rows = []
        for name, process, line, native_us in block.marks:
            mark = MarkRow(name, process, self._part.start, next(kept), native_us)
            analysis = RESTORED_ROWS if name == RESTORED else MARK
            rows.append(row(self._part, analysis, self._part.name, (line[1] or 0, line[0]), mark))
        if self._sink is not None and block.events:
            self._sink([log_event(self._part, event, next(kept)) for event in block.events])
        return rows

    def _kept_lines(self, block: LogBlock, lines: list[Line], clock: BlockLines) -> list[KeptLine]:
        numbers = clock.numbers([line[0] - block.base for line in lines])
        return block.kept(lines, [self._row.lines + number for number in numbers])


class RepeatedLines:
    """Lines of one block: which known text each is, its time, and its offset in the file."""

    def __init__(self) -> None:
        self._texts: list[int] = []
        self._us: list[int] = []
        self._offsets: list[int] = []

    def add(self, texts: Iterable[int], us: Iterable[int], offsets: Iterable[int]) -> None:
        """Add lines, by column."""
        self._texts.extend(texts)
        self._us.extend(us)
        self._offsets.extend(offsets)

    def count(self, known: Sequence[Known]) -> Iterator[SignatureCounter]:
        """Count all lines and reset. Yields the counters that changed."""
        if not self._texts:
            return
        from jsdoctor.logs.scan.grouping import grouped

        numbers: dict[SignatureCounter, int] = {}
        number_of: dict[int, int] = {}
        for text, count in Counter(self._texts).items():
            tally, match = known[text]
            number_of[text] = numbers.setdefault(tally, len(numbers))
            tally.measure(match, count)
        tallies = list(numbers)
        for group in grouped([number_of[text] for text in self._texts], self._us, self._offsets):
            tally = tallies[group.tally]
            tally.count_dated(group.total, group.minutes)
            first, last = group.earliest[0], group.latest
            kept = group.earliest if tally.wants((self._us[first], self._offsets[first])) else ()
            for line in (*kept, last):
                tally.keep(self._us[line], self._offsets[line], known[self._texts[line]][1])
            yield tally
        self._texts, self._us, self._offsets = [], [], []
