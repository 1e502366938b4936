"""From entries of Loki to the lines of one server's log, in the order in which they were written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby, islice

from jsdoctor.model.log_line import DATED_US
from jsdoctor.parse.logs.lines.line import read_line
from jsdoctor.parse.loki.replies import Entry

_LOOKED_AT = 1_000
_YEAR = 1970  # for times that have none, which are not compared here
_NS = 1_000_000_000


def in_order(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Oldest first. Loki exchanges lines of one time, even of one stream: then the lines' own times decide.

    A line without a time of its own stays behind the one before it, as those of a stack trace do.
    """
    ordered = sorted(entries, key=lambda entry: entry.at_ns)  # stable: what came in order stays so
    for _, same in groupby(ordered, key=lambda entry: entry.at_ns):
        together = list(same)
        yield from _by_own_time(together) if len(together) > 1 else together


def _by_own_time(entries: Sequence[Entry]) -> list[Entry]:
    last: dict[int, int] = {}
    keys = []
    for entry in entries:
        own = own_time_us(entry.line)
        if own is not None:
            last[entry.stream] = own
        keys.append(last.get(entry.stream, 0))
    return [entry for _, entry in sorted(zip(keys, entries, strict=True), key=lambda pair: pair[0])]


def own_time_us(line: str) -> int | None:
    """The time that a line itself bears; None where it has none with a date."""
    us = read_line(line.encode(errors="replace"), _YEAR).us
    return None if us is None or us < DATED_US else us


def has_own_times(lines: Iterable[str]) -> bool:
    """Whether lines of this log bear times. Those of Loki are worse: of the reading, in the worst case."""
    return any(own_time_us(line) is not None for line in islice(lines, _LOOKED_AT))


def as_text(entry: Entry, with_time: bool) -> bytes:
    """The line as it stands in a file; with Loki's time before it where it has none of its own."""
    line = entry.line.rstrip("\r\n")
    if with_time:
        seconds, ns = divmod(entry.at_ns, _NS)
        line = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{ns:09}Z {line}"
    return line.encode(errors="replace") + b"\n"
