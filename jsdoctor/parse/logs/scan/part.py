"""Scans one part of a log, block by block, and returns the results as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from jsdoctor.model.log_line import DATED_US, ORDER_US
from jsdoctor.model.log_scan import LogEvent, Part, Row
from jsdoctor.parse.logs.lines.builtin import NAME, PANIC, RESTORED, ROTATED, START
from jsdoctor.parse.logs.lines.header import PID
from jsdoctor.parse.logs.lines.line import LINE_CAP, LogLine, read_line
from jsdoctor.parse.logs.lines.matcher import TEXT_CAP, Match, Matcher
from jsdoctor.parse.logs.lines.sections import section_name
from jsdoctor.parse.logs.lines.stamp import STAMP_BYTES, DayCount, Zone, year_of
from jsdoctor.parse.logs.lines.wrapping import is_partial
from jsdoctor.parse.logs.scan.candidates import candidates, has_literal
from jsdoctor.parse.logs.scan.log_sources import LogSource, LogSources
from jsdoctor.parse.logs.scan.processes import Cut, Processes
from jsdoctor.parse.logs.scan.repeats import RepeatedLines
from jsdoctor.parse.logs.scan.rows import MARK, PART, Dated, KeptLine, MarkRow, PartRow, VoiceRef, row
from jsdoctor.parse.logs.scan.rows import RESTORED as RESTORED_ROWS
from jsdoctor.parse.logs.scan.signature_counter import Line, Place, SignatureCounter
from jsdoctor.parse.logs.scan.sniff_lines import WINDOW, lines_below, note_time, survey, whole_lines
from jsdoctor.parse.logs.scan.time_segments import NO_LINES, BlockClock, BlockLines, ClockReader, ProcessKeys

BLOCK = 4 << 20
"""Bytes of text that are best given to a scan at a time."""

CONTEXT = 128 * 1024
"""Bytes before a part that its scan may look at, and keeps of each block for the next."""

LOOKBACK = 16 * 1024
"""A line without a time has that of the nearest line before it within so many bytes."""

EXCERPT_BYTES = 256 * 1024
"""In a file no larger than this a message needs no header to be a server's: people cut them off."""

TEXT_END = STAMP_BYTES + TEXT_CAP + 64
"""This many bytes from the start of a stamp contain the message of a line."""
_EXCERPT = 512
_QUOTED_COUNTED = 1000


class PartScan:
    """The scan of one part. Feed it whole lines in order, then take the rows of `finish`."""

    def __init__(
        self,
        part: Part,
        matcher: Matcher,
        read_clock: ClockReader,
        context: bytes = b"",
        sink: Callable[[list[LogEvent]], None] | None = None,
    ) -> None:
        self._part, self._matcher, self._read_clock, self._sink = part, matcher, read_clock, sink
        self._year = year_of(part.mtime_us)
        self._voices = ProcessKeys(self._year)
        self._zone = Zone(part.zone) if part.zone else None
        self._excerpt = part.size <= EXCERPT_BYTES
        self._row = PartRow(part, section=None if part.start else "", wrapping=part.form)
        self._processes = Processes(part)
        self._before, self._expected = context, -1
        self._speakers = LogSources(part)
        self._by_prefix: dict[bytes, LogSource] = {}
        self._rows: list[Row] = []
        self._dated: Dated | None = None
        self._undated_server = -1
        self._day = DayCount()
        self._lines = NO_LINES
        self._may_tell: Callable[[int], bool] = bool
        self._repeats = RepeatedLines()
        self._searched_to = 0
        self._repetitive = False
        self._block, self._base = b"", part.start
        self._cuts: list[Cut] = []
        self._skip: list[int] = []
        self._marks: list[tuple[str, VoiceRef, Line, int | None]] = []
        self._events: list[tuple[LogSource, Match, Line, str]] = []

    def feed(self, block: bytes, base: int) -> Iterator[Row]:
        """Scan whole lines, the first byte at `base` of the file's text. Yields rows that overflow."""
        if self._expected not in {-1, base}:
            self._before = b""
        self._block, self._base = block, base
        section = self._row.section
        self._cuts, self._skip = [], []
        if base < WINDOW:
            survey(self._row, list(lines_below(block[: WINDOW + LINE_CAP], WINDOW - base)), self._year)
        clock = self._read_block(block)
        self._settle(clock)
        stretches = clock.stretches([cut.at for cut in self._cuts], self._skip, self._voices)
        self._processes.join(
            stretches, self._cuts, section, lambda at: self._see_all([(base + at, None, False, ())], clock)[0]
        )
        for stretch in stretches:
            low, high = self._row.native or (stretch.lowest_us, stretch.highest_us)
            self._row.native = (min(low, stretch.lowest_us), max(high, stretch.highest_us))
            self._row.stamped += stretch.lines
        self._row.lines += clock.lines
        self._row.long_lines += clock.long_lines
        self._before = (self._before + block)[-CONTEXT:] if len(block) < CONTEXT else block[-CONTEXT:]
        self._expected = base + len(block)
        self._block, self._lines, self._may_tell = b"", NO_LINES, bool  # what holds a block is not wanted any more
        yield from self._counts(at_end=False)
        yield from self._rows
        self._rows.clear()

    def finish(
        self, *, last: bool, read: int, torn: bool = False, problem: str = "", skipped: int = 0
    ) -> Iterator[Row]:
        """The rows of the part. `last`: it reaches the end of the file; `torn`: the last line has no end.

        `read` is how many bytes of text it covers, `skipped` how many stored ones could not be read, for `problem`.
        """
        part = self._part
        if last:
            survey(self._row, self._tail(part.start + read), self._year)
        self._row.last, self._row.torn, self._row.problem, self._row.skipped = last, torn, problem, skipped
        self._row.steps, self._row.read = self._processes.steps, read
        yield row(part, PART, part.name, (0, part.start), self._row)
        yield from self._processes.rows()
        yield from self._counts(at_end=True)
        yield from self._rows

    def _counts(self, at_end: bool) -> Iterator[Row]:
        """What was counted: at the end, or where it is time to let go of it."""
        if at_end or self._speakers.full:
            yield from self._speakers.rows()

    def _tail(self, end: int) -> list[bytes]:
        """The last lines of the file, those left out that are among its first."""
        if end <= WINDOW:  # all of them are among the first
            return []
        window = self._before[-WINDOW - 1 :]
        lines = whole_lines(window, len(window) <= WINDOW)
        first = end - sum(len(line) + 1 for line in lines) + (not window.endswith(b"\n"))
        kept = []
        for line in lines:
            if first >= WINDOW:
                kept.append(line)
            first += len(line) + 1
        return kept

    def _read_block(self, block: bytes) -> BlockLines:
        """Find what the lines of the block tell."""
        clock = self._read_clock(block)
        self._search(clock)
        return clock

    def _search(self, clock: BlockClock) -> None:
        block, repeated = self._block, 0
        loud, find = clock.loud(self._repetitive, self._matcher.openings), self._matcher.finder(block)
        self._lines = lines = clock.lines_of(loud.single, candidates(block, loud, self._matcher.quiet, find))
        self._may_tell = lambda line: not loud.single or has_literal(block, lines.begins[line], lines.ends[line], find)
        for begin, end in lines.runs:
            at = begin
            while at < end:
                known, at = self._hear(at, end)
                repeated += known
        self._repetitive = 3 * repeated > loud.lines

    def _hear(self, begin: int, end: int) -> tuple[int, int]:
        """Count found lines with one prefix before the stamp, up to a line after which it belongs to another process.

        Returns the number of lines whose text was known and only counted, and the line to continue with.
        """
        lines, prefix = self._lines, b""
        speaker = None
        if lines.us[begin] is not None:
            prefix = self._block[lines.begins[begin] : lines.stamps[begin]]
            speaker = self._by_prefix.get(prefix) or self._of_prefix(prefix)
        if speaker is None:
            for line in filter(self._may_tell, range(begin, end)):
                self._take(line)
            return 0, end
        texts = [
            self._block[stamp + STAMP_BYTES : stop if stop - stamp < TEXT_END else stamp + TEXT_END]
            for stamp, stop in zip(lines.stamps[begin:end], lines.ends[begin:end], strict=True)
        ]
        known = list(map(speaker.heard.get, texts))
        if None in known:
            end = self._hear_new(begin, texts, known, speaker, prefix)
            known = known[: end - begin]
        heard = [line for line, number in enumerate(known, begin) if number is not None]
        if heard:
            numbers = [number for number in known if number is not None]
            times = self._utc([lines.us[line] for line in heard])
            self._repeats.add(numbers, times, [self._base + lines.begins[line] for line in heard])
            self._spoke(self._base + lines.begins[heard[-1]], times[-1], speaker)
        return len(heard), end

    def _hear_new(
        self, begin: int, texts: list[bytes], known: list[int | None], speaker: LogSource, prefix: bytes
    ) -> int:
        """Look at the lines that are not known, and learn their texts; where to go on."""
        before = begin - 1
        for line in [line for line, number in enumerate(known, begin) if number is None]:
            text = texts[line - begin]
            number = known[line - begin] = speaker.heard.get(text)
            if number is None and (text in self._matcher.known or self._may_tell(line)):
                lines = self._lines
                if line - 1 > before:
                    self._spoke(self._base + lines.begins[line - 1], self._utc([lines.us[line - 1]])[0], speaker)
                if not self._look(text, speaker, lines.begins[line], lines.us[line]):
                    self._take(line)
                if self._by_prefix.get(prefix) is not speaker:
                    return line + 1
            if number is None:
                before = line
        return begin + len(texts)

    def _utc(self, times: Sequence[int | None]) -> list[int]:
        """The times of stamps, in UTC where the zone is known."""
        native = [us for us in times if us is not None]
        return native if self._zone is None else [self._zone.utc_us(us) for us in native]

    def _look(self, text: bytes, speaker: LogSource, begin: int, native_us: int | None) -> bool:
        """A line with nothing but a process id before the stamp; False when no level follows that."""
        told = self._matcher.known.get(text) or self._matcher.match_native(text)
        if told is not None and told.matches:
            offset, us = self._base + begin, self._utc([native_us])[0]
            self._spoke(offset, us, speaker)
            tally = self._hit(told.matches, speaker, (offset, us, self._zone is not None), native_us, told.level)
            if tally is not None:
                self._speakers.hear(speaker, text, tally, told.matches[0])
        return told is not None

    def _spoke(self, offset: int, us: int, speaker: LogSource) -> None:
        """Record the last line so far that has a time, and its process."""
        if offset > self._searched_to or self._dated is None:
            self._dated = Dated(offset, us, self._zone is not None, speaker.voice, True)
            self._searched_to = offset

    def _of_prefix(self, prefix: bytes) -> LogSource | None:
        """The process of a line with nothing but a process id, or nothing at all, before the stamp."""
        pid = PID.fullmatch(prefix)
        if pid is None:
            return None
        voice = VoiceRef(self._row.section, "", None if pid[1] is None else int(pid[1]))
        speaker = self._by_prefix[prefix] = self._speakers.of(voice)
        return speaker

    def _take(self, line: int) -> None:
        begin = self._lines.begins[line]
        self._take_raw(self._block[begin : min(self._lines.ends[line], begin + LINE_CAP)], begin)

    def _take_raw(self, raw: bytes, begin: int) -> None:
        name = section_name(raw)
        if name is not None:
            self._row.section = name
            self._by_prefix.clear()
            self._cuts.append(Cut(begin, None, name))
            return
        line = read_line(raw, self._year)
        if line.kind in {"docker", "cri"} and is_partial(self._line_before(begin)):
            return
        matches = self._matcher.match(line.server, line.level, line.text)
        if self._excerpt and not line.server and not matches and self._matcher.opening(line.text):
            line = line._replace(server=True)
            matches = self._matcher.match(True, line.level, line.text)
        if matches:
            self._take_odd(line, matches, begin)
        elif not line.server and self._row.quoted < _QUOTED_COUNTED and self._matcher.quoted(line.text):
            self._row.quoted += 1

    def _take_odd(self, line: LogLine, matches: tuple[Match, ...], begin: int) -> None:
        note_time(self._row, line)
        if line.server:
            self._row.server_hits += 1
        else:
            self._row.client_hits += 1
        voice = VoiceRef(self._row.section, line.label, line.pid)
        dated = self._date(line, begin, voice)
        if dated is not None and line.us is None and not line.label and line.pid is None:
            voice = dated.voice
        if not line.server and (dated is None or not dated.server or line.us is not None):
            matches = tuple(match for match in matches if match.signature.name != PANIC)
        us, zoned = (None, False) if dated is None else (dated.us, dated.zoned)
        self._hit(matches, self._speakers.of(voice), (self._base + begin, us, zoned), line.native_us, line.level)

    def _date(self, line: LogLine, begin: int, voice: VoiceRef) -> Dated | None:
        """When a line was written: by its own time, or by the nearest one before it; else its place in the order."""
        here = self._base + begin
        if line.us is not None:
            us, zoned = self._in_zone(line.us, line.zoned)
            self._dated, self._searched_to = Dated(here, us, zoned, voice, line.server), here
            return self._dated
        if line.server:
            self._undated_server = here
        lowest = max(here - LOOKBACK, self._searched_to, self._base - len(self._before), 0)
        text = self._text(lowest, here)
        whole = not lowest or lowest == self._searched_to or self._text(lowest - 1, lowest) in {b"", b"\n"}
        offset = here
        for raw in reversed(whole_lines(text, whole)):
            offset -= len(raw) + 1
            earlier = read_line(raw, self._year)
            if earlier.server and earlier.us is None:
                self._undated_server = max(self._undated_server, offset)
            if earlier.us is not None:
                us, zoned = self._in_zone(earlier.us, earlier.zoned)
                spoken = VoiceRef(self._row.section, earlier.label, earlier.pid)
                self._dated = Dated(offset, us, zoned, spoken, earlier.server)
                break
        self._searched_to = here
        if self._dated is None:
            served = 0 <= here - self._undated_server <= LOOKBACK
            return Dated(here, ORDER_US + here, zoned=False, voice=voice, server=served)
        return self._dated if self._dated[0] >= here - LOOKBACK else None

    def _in_zone(self, us: int, zoned: bool) -> tuple[int, bool]:
        if us < DATED_US:
            return self._day.counted(us), False
        return (us, zoned) if zoned or self._zone is None else (self._zone.utc_us(us), True)

    def _text(self, begin: int, end: int) -> bytes:
        """Text of the file between two offsets, out of this block and what was kept of the one before."""
        start, stop = begin - self._base, end - self._base
        if start >= 0:
            return self._block[start:stop]
        head = self._before[max(0, len(self._before) + start) : len(self._before) + min(stop, 0)]
        return head + self._block[: max(0, stop)]

    def _line_before(self, begin: int) -> bytes:
        text = self._block[max(0, begin - CONTEXT) : begin] if begin else self._before
        end = text[:-1].rfind(b"\n") + 1
        if not end and 0 < begin < CONTEXT:
            text = self._before + text
            end = text[:-1].rfind(b"\n") + 1
        return text[end:]

    def _hit(
        self, matches: tuple[Match, ...], speaker: LogSource, at: Place, native: int | None, level: str
    ) -> SignatureCounter | None:
        """Count a line. The tally, when others in the same words need nothing but to be counted with it."""
        tally = None
        for match in matches:
            if match.marked:
                speaker = self._mark(match, speaker, at, native)
                if not match.counted:
                    continue
            tally = self._speakers.count(speaker, match, at)
            if self._sink is not None:
                self._events.append((speaker, match, (*at, match.others), level))
        return tally if len(matches) == 1 and not matches[0].marked and self._sink is None else None

    def _mark(self, match: Match, speaker: LogSource, line: Place, native: int | None) -> LogSource:
        name = match.signature.name
        if name == ROTATED:
            self._skip.append(line[0] - self._base)
            return speaker
        if name == START:
            self._cuts.append(Cut(line[0] - self._base, speaker.voice, None))
        fields = (*match.subject, *match.others)
        self._marks.append((name, speaker.voice, (*line, fields), native))
        if name != NAME:
            return speaker
        self._by_prefix.clear()
        return self._speakers.named(speaker.voice, fields[0][1])

    def _settle(self, clock: BlockLines) -> None:
        """Keep what is to be kept of this block's lines, and pass marks and events on."""
        touched = self._speakers.touched
        touched.update(dict.fromkeys(self._repeats.count(self._speakers.known, clock.grouped)))
        lines = [line for tally in touched for line in tally.waiting()]
        lines.extend(line for _, _, line, _ in self._marks)
        lines.extend(line for _, _, line, _ in self._events)
        seen = iter(self._see_all(lines, clock))
        for tally in touched:
            tally.settle(seen)
        self._speakers.settled()
        for name, voice, line, native in self._marks:
            mark = MarkRow(name, voice, self._part.start, next(seen), native)
            analysis = RESTORED_ROWS if name == RESTORED else MARK
            self._rows.append(row(self._part, analysis, self._part.name, (line[1] or 0, line[0]), mark))
        self._marks.clear()
        if self._sink is not None and self._events:
            self._sink([self._event(*event, next(seen)) for event in self._events])
            self._events.clear()

    def _see_all(self, lines: Sequence[Line], clock: BlockLines) -> list[KeptLine]:
        block, base, before = self._block, self._base, self._row.lines
        seen = []
        for line, number in zip(lines, clock.numbers([line[0] - base for line in lines]), strict=True):
            offset, us, zoned, fields = line
            begin = offset - base
            stop = block.find(b"\n", begin, begin + _EXCERPT)
            text = block[begin : begin + _EXCERPT if stop < 0 else stop].rstrip(b"\r").decode(errors="replace")
            seen.append(KeptLine(us, zoned, before + number, offset, text, fields))
        return seen

    def _event(self, speaker: LogSource, match: Match, line: Line, level: str, seen: KeptLine) -> LogEvent:
        part, voice = self._part, speaker.voice
        server = part.server or speaker.name or voice.label or voice.section or part.series
        fields = (*match.subject, *match.others)
        name = match.signature.name
        at_us = line[1] if line[1] is not None and line[1] >= DATED_US else None
        return LogEvent(server, at_us, line[2], level, name, fields, part.name, seen.line, seen.offset, seen.text)
