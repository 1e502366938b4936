"""The processes that write in a part, and what is counted of each until it leaves the part as rows."""

from __future__ import annotations

from collections.abc import Iterator

from jsdoctor.model.log_scan import Part, Row
from jsdoctor.parse.logs.lines.matcher import Match
from jsdoctor.parse.logs.scan.rows import HIT, HitRow, VoiceRef, row
from jsdoctor.parse.logs.scan.signature_counter import Known, Place, SignatureCounter

TALLIES = 20_000
"""Where a part has more counts than this, it lets go of them as rows."""

_HEARD_BYTES = 8 << 20
_HEARD_AROUND = 400  # what Python takes for a text and what was found in it, roughly


class LogSource:
    """A process, the name that it has from here on, and its counts by whether lines have a zone, or a time.

    `heard` has texts with exactly one signature, of lines with the server's own stamp: their numbers in
    `LogSources.known`.
    """

    __slots__ = ("heard", "name", "tallies", "voice")

    def __init__(self, voice: VoiceRef, name: str) -> None:
        self.voice, self.name = voice, name
        self.tallies: dict[bool | None, dict[int, SignatureCounter]] = {False: {}, True: {}, None: {}}
        self.heard: dict[bytes, int] = {}


class LogSources:
    """All processes that write in a part.

    `touched` are the counters that may have lines of the present block to keep, `known` the counter and match of each
    text in `heard`.
    """

    def __init__(self, part: Part) -> None:
        self._part = part
        self._now: dict[VoiceRef, LogSource] = {}
        self._all: list[LogSource] = []
        self._tallied = self._heard_bytes = 0
        self.touched: dict[SignatureCounter, None] = {}
        self.known: list[Known] = []

    @property
    def full(self) -> bool:
        """Whether it is time to let go of what was counted."""
        return self._tallied > TALLIES

    def of(self, voice: VoiceRef) -> LogSource:
        """The source that this process has now."""
        return self._now.get(voice) or self.named(voice, "")

    def named(self, voice: VoiceRef, name: str) -> LogSource:
        """From here on, this process is the server of that name."""
        speaker = self._now[voice] = LogSource(voice, name)
        self._all.append(speaker)
        return speaker

    def count(self, speaker: LogSource, match: Match, at: Place) -> SignatureCounter:
        """Count a line."""
        offset, us, zoned = at
        tallies = speaker.tallies[None if us is None else zoned]
        tally = tallies.get(match.number)
        if tally is None:
            tally = tallies[match.number] = SignatureCounter(match, zoned)
            self._tallied += 1
        tally.add(us, offset, match)
        self.touched[tally] = None
        return tally

    def hear(self, speaker: LogSource, text: bytes, tally: SignatureCounter, match: Match) -> None:
        """Remember a text: repeated lines are the rule."""
        if self._heard_bytes <= _HEARD_BYTES:
            self._heard_bytes += len(text) + _HEARD_AROUND
            speaker.heard[text] = len(self.known)
            self.known.append((tally, match))

    def settled(self) -> None:
        """The lines of a block are counted and kept. Where too many texts are known, others get their turn."""
        self.touched.clear()
        if self._heard_bytes > _HEARD_BYTES:
            self._forget()

    def _forget(self) -> None:
        for speaker in self._all:
            speaker.heard.clear()
        self.known.clear()
        self._heard_bytes = 0

    def rows(self) -> Iterator[Row]:
        """Everything counted so far; resets the counters."""
        for speaker in self._all:
            for zoned, tallies in speaker.tallies.items():
                for tally in tallies.values():
                    yield self._row(speaker, zoned, tally)
                tallies.clear()
        self._tallied = 0
        self._forget()

    def _row(self, speaker: LogSource, zoned: bool | None, tally: SignatureCounter) -> Row:
        part, match = self._part, tally.match
        hits = HitRow(
            part.name,
            part.start,
            speaker.name,
            speaker.voice,
            zoned,
            match.subject,
            tally.count,
            tally.minutes(),
            [(field, known[0], known[1], known[2]) for field, known in sorted(tally.measures.items())],
            *tally.kept(),
        )
        key = "\x1f".join((match.signature.name, *(value for _, value in match.subject)))
        first = hits.minutes[0].first_us if hits.minutes else 0
        return row(part, HIT, key, (first, part.start), hits)
