"""All lines of a query, page by page from the newest to the oldest, without duplicates; lines not read are reported.

A page with as many lines as were requested may have been cut anywhere, so its oldest lines, all those of one time, are
left to the next page. If one time has more lines than a page, each stream is read on its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from jsdoctor.collect.loki.client import LokiClient, LokiProblem, Remedy, shown_time
from jsdoctor.model.wording import counted
from jsdoctor.parse.loki.query import LogQuery
from jsdoctor.parse.loki.replies import Entry, LokiPage

_NS = 1_000_000_000
_FIRST_RANGE_NS = 3600 * _NS
_MAX_RANGE_NS = 24 * 3600 * _NS
_MIN_RANGE_NS = _NS
_MIN_LINES = 10
_MAX_WAIT_S = 10.0
_FAILURES = 4
"""Number of consecutive refusals that end the reading."""

_LINE_BYTES = 40  # of a line beside its text, roughly


@dataclass(frozen=True, slots=True, kw_only=True)
class PagingLimits:
    """The limits of one run."""

    lines_per_page: int = 5_000
    max_bytes: int = 1 << 30
    max_requests: int = 5_000
    max_seconds: float = 900.0


@dataclass(slots=True)
class UnreadLines:
    """What was not read, as sentences: lines of a time, and warnings of Loki."""

    reasons: list[tuple[str, str]] = field(default_factory=list)

    def add(self, reason: str, how_to_get: str) -> None:
        """Add a reason, once."""
        if (reason, how_to_get) not in self.reasons:
            self.reasons.append((reason, how_to_get))


class Pager:
    """Reads one query. What is missing afterwards is in `missing`; it raises only when nothing could be read."""

    def __init__(
        self,
        client: LokiClient,
        query: LogQuery,
        limits: PagingLimits,
        progress: Callable[[str], None],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client, self._query, self._limits = client, query, limits
        self._progress, self._sleep = progress, sleep
        self._limit = limits.lines_per_page
        self._range = _FIRST_RANGE_NS
        self._failures = 0
        self._pages = self._lines = self._bytes = 0
        self._until = time.monotonic() + limits.max_seconds
        self.missing = UnreadLines()

    def pages(self, since_ns: int, until_ns: int) -> Iterator[LokiPage]:
        """Pages from `since_ns` on and before `until_ns`, the newest first; each has all lines of its times.

        Raises LokiProblem where not even the first query succeeds.
        """
        end = until_ns
        while end > since_ns:
            if spent := self._spent():
                self._cut(spent, end)
                return
            start = end - self._range
            start = since_ns if start - since_ns < _MIN_RANGE_NS else start
            try:
                page = self._client.lines(self._query.text, start, end, self._limit)
            except LokiProblem as problem:
                if self._may_continue(problem, end - start):
                    continue
                if not self._pages:
                    raise
                self._cut(problem.message, end, problem.hint)
                return
            self._failures = 0
            page, end, full = self._whole(page, start, end)
            self._range = min(self._range if full else 2 * self._range, _MAX_RANGE_NS)
            self._count(page)
            if page.entries:
                yield page

    def _whole(self, page: LokiPage, start: int, end: int) -> tuple[LokiPage, int, bool]:
        """The lines of a page that are complete, where the next page ends, and whether this one was full."""
        for warning in page.warnings:
            self._warned(warning)
        inside = [entry for entry in page.entries if start <= entry.at_ns < end]
        if len(page.entries) < self._limit:
            return page._replace(entries=inside), start, False
        if not inside:
            raise LokiProblem(
                f"Loki at {self._client.base} sends lines of another time than requested",
                "check what is between jsdoctor and Loki",
            )
        oldest = min(entry.at_ns for entry in inside)
        newest = max(entry.at_ns for entry in inside)
        if newest == oldest:
            return self._of_one_time(page._replace(entries=inside), oldest), oldest, True
        self._range = max(2 * (end - oldest), _MIN_RANGE_NS)
        return page._replace(entries=[entry for entry in inside if entry.at_ns > oldest]), oldest + 1, True

    def _of_one_time(self, page: LokiPage, at_ns: int) -> LokiPage:
        """More lines of one time than a page has: each stream by itself, and a gap where that is not enough."""
        try:
            streams = self._client.streams(self._query.selector, at_ns, at_ns + 1)
            names = sorted({name for labels in streams for name, _ in labels})
            pages: list[LokiPage] = []
            for labels in streams:
                query = self._query.of_stream(labels, names)
                own = self._client.lines(query, at_ns, at_ns + 1, self._limit)
                pages.append(own)
                if len(own.entries) >= self._limit:
                    self._crowded(query, at_ns)
        except LokiProblem as problem:
            self._crowded(self._query.text, at_ns, f" ({problem.message})")
            return page
        entries: list[Entry] = []
        labels_of_all = tuple(labels for own in pages for labels in own.streams)
        first = 0
        for own in pages:
            entries += (entry._replace(stream=entry.stream + first) for entry in own.entries if entry.at_ns == at_ns)
            first += len(own.streams)
        return LokiPage(labels_of_all, entries)

    def _crowded(self, query: str, at_ns: int, why: str = "") -> None:
        self.missing.add(
            f"{self._limit:,} lines or more of {query} have the time {shown_time(at_ns)}, and Loki gives"
            f" {self._limit:,} of them at most; the others were not read{why}",
            "raise max_entries_limit_per_query of Loki, or have the log shipper keep the time of each line",
        )

    def _may_continue(self, problem: LokiProblem, span_ns: int) -> bool:
        """Whether another query may succeed; adapts what it requests."""
        self._failures += 1
        if problem.remedy is Remedy.NOTHING or self._failures >= _FAILURES:
            return False
        if problem.remedy is Remedy.FEWER_LINES:
            fewer = problem.lines or self._limit // 4
            if not _MIN_LINES <= fewer < self._limit:
                return False
            self._limit = fewer
            return True
        if not self._pages and problem.remedy is Remedy.LATER:
            return False
        if problem.remedy is Remedy.LESS_TIME:
            if span_ns <= _MIN_RANGE_NS:
                return False
            self._range = max(span_ns // 8, _MIN_RANGE_NS)
        if problem.remedy is Remedy.LATER:
            self._sleep(min(max(problem.wait_s, 2.0 ** (self._failures - 1)), _MAX_WAIT_S))
        return True

    def _count(self, page: LokiPage) -> None:
        self._pages += 1
        self._lines += len(page.entries)
        self._bytes += sum(len(entry.line) + _LINE_BYTES for entry in page.entries)
        self._progress(f"reading lines from Loki: {counted(self._lines, 'line')}, {self._bytes >> 20} MiB")

    def _spent(self) -> str:
        """Which limit of a run is reached, as text; empty while none is."""
        if self._bytes >= self._limits.max_bytes:
            return f"the limit of {self._limits.max_bytes >> 20} MiB of one run is reached"
        if self._client.requests >= self._limits.max_requests:
            return f"the limit of {self._limits.max_requests:,} requests of one run is reached"
        if time.monotonic() >= self._until:
            return f"the limit of {self._limits.max_seconds:g} s of one run is reached"
        return ""

    def _cut(self, why: str, end_ns: int, how_to_get: str = "") -> None:
        self.missing.add(
            f"lines before {shown_time(end_ns)} were not read: {why}",
            how_to_get or "read the time before it in a run of its own with --until, or give a narrower --loki-query",
        )

    def _warned(self, warning: str) -> None:
        text = "".join(c for c in warning if c.isprintable())[:300]
        self.missing.add(
            f"Loki at {self._client.base} did not give everything: {text}", "see the log of Loki, and run again"
        )
