"""Pages of lines, newest first, to one file for each server's log, oldest line first. One page is in memory."""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec

from jsdoctor.collect.loki.servers import Span
from jsdoctor.parse.loki.lines import as_text, has_own_times, in_order
from jsdoctor.parse.loki.replies import Entry, Labels, LokiPage


@dataclass(frozen=True, slots=True)
class SpooledLog:
    """The log of one server. `first_ns` and `last_ns` are Loki's times; `dated_by_loki`: its lines have none."""

    name: str
    path: Path
    lines: int
    first_ns: int
    last_ns: int
    dated_by_loki: bool


class Spool:
    """Keeps pages in a file until all streams are known."""

    def __init__(self, directory: Path) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="pages-", dir=directory)  # noqa: SIM115  # closed by close()
        self._places: list[tuple[int, int]] = []
        self._numbers: dict[Labels, int] = {}
        self._spans: dict[int, Span] = {}
        self.lines = 0

    @property
    def streams(self) -> dict[Labels, Span]:
        """All streams so far, with the times of their first and last lines."""
        return {labels: self._spans[number] for labels, number in self._numbers.items() if number in self._spans}

    def add(self, page: LokiPage) -> None:
        """Keep a page that is older than all before."""
        numbers = [self._numbers.setdefault(labels, len(self._numbers)) for labels in page.streams]
        # Loki sends the newest first, and lines of one time in the reverse of the order in which it got them.
        entries = [(entry.at_ns, numbers[entry.stream], entry.line) for entry in reversed(page.entries)]
        for at_ns, number, _ in entries:
            first, last = self._spans.get(number, (at_ns, at_ns))
            self._spans[number] = (min(first, at_ns), max(last, at_ns))
        self.lines += len(entries)
        content = msgspec.msgpack.encode(entries)
        self._places.append((self._file.tell(), len(content)))
        self._file.write(content)

    def close(self) -> None:
        """Forget the pages."""
        self._file.close()

    def written(self, directory: Path, names: Mapping[Labels, str]) -> tuple[SpooledLog, ...]:
        """Write the logs, each with the lines of all its streams."""
        logs: dict[str, _Log] = {}
        by_number = [names.get(labels, "") for labels in self._numbers]  # a stream may be without lines
        for page in self._oldest_first():
            of_log: dict[str, list[Entry]] = defaultdict(list)
            for entry in page:
                of_log[by_number[entry.stream]].append(entry)
            for name, entries in of_log.items():
                if name not in logs:
                    logs[name] = _Log(name, directory / f"{len(logs) + 1:05}.log", entries)
                logs[name].add(entries)
        return tuple(log.done() for _, log in sorted(logs.items()))

    def _oldest_first(self) -> Iterator[Sequence[Entry]]:
        decoder = msgspec.msgpack.Decoder(list[Entry])
        for place, size in reversed(self._places):
            self._file.seek(place)
            yield decoder.decode(self._file.read(size))


class _Log:
    """A log that is being written. Its first lines tell whether lines of it have times."""

    def __init__(self, name: str, path: Path, first: Iterable[Entry]) -> None:
        self._name, self._path = name, path
        self._undated = not has_own_times(entry.line for entry in first)
        self._lines = 0
        self._span = (0, 0)

    def add(self, entries: Iterable[Entry]) -> None:
        """Append the lines of a page. Files are opened for it alone: there may be more than can be open."""
        ordered = list(in_order(entries))
        with self._path.open("ab") as file:
            file.writelines(as_text(entry, with_time=self._undated) for entry in ordered)
        first = self._span[0] if self._lines else ordered[0].at_ns
        self._lines += len(ordered)
        self._span = (first, ordered[-1].at_ns)

    def done(self) -> SpooledLog:
        """What was written. Times without a year are of the year of the last line."""
        os.utime(self._path, ns=(self._span[1], self._span[1]))
        return SpooledLog(self._name, self._path, self._lines, *self._span, dated_by_loki=self._undated)
