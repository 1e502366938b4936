"""The HTTP API of Loki: all lines of a query, page by page, newest first; lines that were not read are reported.

A page with as many lines as were requested may have been cut anywhere, so its oldest lines, all those of one time, are
left to the next page. If one time has more lines than a page, each stream is read on its own.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

import httpx2

from jsdoctor.logs.loki import NOTHING, Entry, Labels, Lifted, LogQuery, LokiPage, log_page, series_of_reply
from jsdoctor.model.problems import Problem
from jsdoctor.model.wording import counted
from jsdoctor.replies.decoding import ReplyError
from jsdoctor.sources.connect.refusal import printable
from jsdoctor.sources.http_api import ApiAccess, TooLargeError, body_of
from jsdoctor.sources.servers.monitor_body import transport_refusal

MAX_REPLY_BYTES = 64 << 20
"""A larger reply is not read: fewer lines are requested at a time."""

_ORDERED = {"X-Loki-Response-Encoding-Flags": "categorize-labels"}
"""Without it, lines of one stream come apart by their structured metadata, and lose their order."""

_RANGE = "/loki/api/v1/query_range"
_SERIES = "/loki/api/v1/series"
_MAX_ENTRIES = re.compile(r"max entries limit per query exceeded.*?\((\d+) > (\d+)\)", re.DOTALL)
_LESS_TIME = re.compile(
    r"time range exceeds|too many bytes|too many chunks|too many outstanding|larger than max"
    r"|ResourceExhausted|timed out|deadline exceeded",
    re.IGNORECASE,
)
_NS = 1_000_000_000
_MAX_TEXT = 300
_Parsed = TypeVar("_Parsed")


class Remedy(Enum):
    """What may help after a refusal."""

    NOTHING = "nothing"
    LATER = "later"
    LESS_TIME = "a shorter range"
    FEWER_LINES = "fewer lines"


class LokiProblem(Problem):
    """Loki could not be queried, or did not respond as Loki does. Exit code 3.

    `lines` is the maximum number of lines of a query, if Loki reported it; `wait_s` how long Loki requests to wait.
    """

    def __init__(
        self, message: str, hint: str, remedy: Remedy = Remedy.NOTHING, *, lines: int = 0, wait_s: float = 0.0
    ) -> None:
        super().__init__(message, hint)
        self.remedy, self.lines, self.wait_s = remedy, lines, wait_s


class LokiClient:
    """Queries one Loki. `on_query` gets the text of each query before it is sent."""

    def __init__(self, access: ApiAccess, on_query: Callable[[str], None], lifted: Lifted = NOTHING) -> None:
        self._access, self._on_query, self._lifted = access, on_query, lifted
        self._http = access.client(_ORDERED)
        self.requests = 0
        self.base = access.url.base

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._http.close()

    def lines(self, query: str, start_ns: int, end_ns: int, limit: int) -> LokiPage:
        """The newest lines from `start_ns` on and before `end_ns`, at most `limit`. Raises LokiProblem."""
        self._on_query(f"{shown_time(start_ns)}..{shown_time(end_ns)} limit {limit} {query}")
        form = {"query": query, "limit": str(limit), "direction": "backward"}
        return self._get(
            _RANGE, {**form, "start": str(start_ns), "end": str(end_ns)}, partial(log_page, lifted=self._lifted)
        )

    def streams(self, selector: str, start_ns: int, end_ns: int) -> tuple[Labels, ...]:
        """The streams that a selector has in a range, at least. Raises LokiProblem."""
        self._on_query(f"{shown_time(start_ns)}..{shown_time(end_ns)} series {selector}")
        return self._get(_SERIES, {"match[]": selector, "start": str(start_ns), "end": str(end_ns)}, series_of_reply)

    def _get(self, path: str, form: Mapping[str, str], parse: Callable[[bytes], _Parsed]) -> _Parsed:
        self.requests += 1
        where, until = f"Loki at {self.base}", time.monotonic() + 2 * self._access.timeout_s
        try:
            with self._http.stream("GET", self.base + path, params=form) as response:
                body = body_of(response, MAX_REPLY_BYTES, until)
        except TooLargeError:
            raise LokiProblem(
                f"{where}: a reply is larger than {MAX_REPLY_BYTES >> 20} MiB",
                "give a --loki-query with fewer streams",
                Remedy.FEWER_LINES,
            ) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            reason, _ = transport_refusal(error, self.base, self._access.timeout_s)
            slow = isinstance(error, httpx2.TimeoutException | TimeoutError)
            remedy = Remedy.LESS_TIME if slow else Remedy.LATER
            raise LokiProblem(f"{where}: {reason}", "check the address given with --loki", remedy) from None
        if response.status_code != httpx2.codes.OK:
            raise _status_problem(response, body, where)
        try:
            return parse(body)
        except ReplyError as error:
            raise _unexpected_reply(response, where, str(error)) from None


def _status_problem(response: httpx2.Response, body: bytes, where: str) -> LokiProblem:
    status = response.status_code
    stated = printable(body, _MAX_TEXT)
    if status in (httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN):
        if "no org id" in stated:
            return LokiProblem(
                f"{where} wants a tenant (HTTP {status}: no org id)", "add --loki-header 'X-Scope-OrgID: TENANT'"
            )
        return LokiProblem(
            f"{where} refuses this login (HTTP {status})", "give --loki-token, or USER:PASSWORD in the URL"
        )
    if response.is_redirect:
        to = printable(response.headers.get("location", "nowhere"))
        return LokiProblem(f"{where} redirects to {to}", "give the address that it redirects to, or log in")
    if status == httpx2.codes.NOT_FOUND:
        return LokiProblem(f"{where}: there is no Loki API (HTTP 404)", _address_hint())
    if match := _MAX_ENTRIES.search(stated):
        return LokiProblem(f"{where}: {stated}", _NARROW, Remedy.FEWER_LINES, lines=int(match[2]))
    if _is_page(response):
        stated = "a page of HTML"
    message = f"{where} (HTTP {status}): {stated or 'no reason given'}"
    if status == httpx2.codes.TOO_MANY_REQUESTS or status >= httpx2.codes.INTERNAL_SERVER_ERROR:
        remedy = Remedy.LESS_TIME if _LESS_TIME.search(stated) else Remedy.LATER
        return LokiProblem(message, "run again later, or with a shorter --since", remedy, wait_s=_wait_s(response))
    if _LESS_TIME.search(stated) or status == httpx2.codes.CONTENT_TOO_LARGE:
        return LokiProblem(message, _NARROW, Remedy.LESS_TIME)
    return LokiProblem(message, "check --loki-query: it is a log query in LogQL, such as '{app=\"nats\"}'")


_NARROW = "give a shorter --since, or a --loki-query with fewer streams"


def _unexpected_reply(response: httpx2.Response, where: str, reason: str) -> LokiProblem:
    if _is_page(response):
        return LokiProblem(
            f"{where} responds with a page of HTML, perhaps that of a login (HTTP {response.status_code})",
            f"give --loki-token, or USER:PASSWORD in the URL, and {_address_hint()}",
        )
    return LokiProblem(f"{where} (HTTP {response.status_code}): {printable(reason, _MAX_TEXT)}", _address_hint())


def _address_hint() -> str:
    return f"check the address: the API is below it at {_RANGE}"


def _is_page(response: httpx2.Response) -> bool:
    return "html" in response.headers.get("content-type", "")


def _wait_s(response: httpx2.Response) -> float:
    text = response.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() else 0.0


def shown_time(at_ns: int) -> str:
    """A time to the nanosecond, without zeros at its end."""
    seconds, ns = divmod(at_ns, _NS)
    fraction = f".{ns:09}".rstrip("0").rstrip(".")
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}{fraction}Z"


_FIRST_RANGE_NS = 3600 * _NS
_MAX_RANGE_NS = 24 * 3600 * _NS
_MIN_RANGE_NS = _NS
_MIN_LINES = 10
_MAX_WAIT_S = 10.0
_FAILURES = 4
"""Number of consecutive refusals that end the reading."""

_LINE_BYTES = 40  # estimated memory of a line without its text
_FEWER_LINES, _SHORTER_RANGE = 4, 8  # divisors after a refusal


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
        self._page_lines = limits.lines_per_page
        self._range_ns = _FIRST_RANGE_NS
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
            if limit_text := self._reached_limit():
                self._note_unread_before(limit_text, end)
                return
            start = end - self._range_ns
            start = since_ns if start - since_ns < _MIN_RANGE_NS else start
            try:
                whole = self._client.lines(self._query.text, start, end, self._page_lines)
                page, end, full = self._complete_lines(whole, start, end)
            except LokiProblem as problem:
                if self._adapt_request(problem, end - start):
                    continue
                if not self._pages:
                    raise
                self._note_unread_before(problem.message, end, problem.hint)
                return
            self._failures = 0
            self._range_ns = min(self._range_ns if full else 2 * self._range_ns, _MAX_RANGE_NS)
            self._count(page)
            if page.entries:
                yield page

    def _complete_lines(self, page: LokiPage, start: int, end: int) -> tuple[LokiPage, int, bool]:
        """The lines of a page that are complete, where the next page ends, and whether this one was full.

        Adds the warnings of Loki to `missing`, and sets the range of the next page after a full one.
        """
        for warning in page.warnings:
            text = "".join(c for c in warning if c.isprintable())[:_MAX_TEXT]
            self.missing.add(
                f"Loki at {self._client.base} did not give everything: {text}", "see the log of Loki, and run again"
            )
        inside = [entry for entry in page.entries if start <= entry.at_ns < end]
        if len(page.entries) < self._page_lines:
            return page._replace(entries=inside), start, False
        if not inside:
            raise LokiProblem(
                f"Loki at {self._client.base} sends lines of another time than requested",
                "check what is between jsdoctor and Loki",
            )
        oldest = min(entry.at_ns for entry in inside)
        newest = max(entry.at_ns for entry in inside)
        if newest == oldest:
            return self._lines_of_one_time(page._replace(entries=inside), oldest), oldest, True
        self._range_ns = max(2 * (end - oldest), _MIN_RANGE_NS)
        return page._replace(entries=[entry for entry in inside if entry.at_ns > oldest]), oldest + 1, True

    def _lines_of_one_time(self, page: LokiPage, at_ns: int) -> LokiPage:
        """More lines of one time than a page has: each stream by itself, and a gap where that is not enough."""
        try:
            streams = self._client.streams(self._query.selector, at_ns, at_ns + 1)
            names = sorted({name for labels in streams for name, _ in labels})
            pages: list[LokiPage] = []
            for labels in streams:
                query = self._query.of_stream(labels, names)
                page_of_stream = self._client.lines(query, at_ns, at_ns + 1, self._page_lines)
                pages.append(page_of_stream)
                if len(page_of_stream.entries) >= self._page_lines:
                    self._note_unread_at(query, at_ns)
        except LokiProblem as problem:
            self._note_unread_at(self._query.text, at_ns, f" ({problem.message})")
            return page
        entries: list[Entry] = []
        labels_of_all = tuple(labels for page_of_stream in pages for labels in page_of_stream.streams)
        stream_offset = 0
        for page_of_stream in pages:
            entries += (
                entry._replace(stream=entry.stream + stream_offset)
                for entry in page_of_stream.entries
                if entry.at_ns == at_ns
            )
            stream_offset += len(page_of_stream.streams)
        return LokiPage(labels_of_all, entries)

    def _note_unread_at(self, query: str, at_ns: int, why: str = "") -> None:
        self.missing.add(
            f"{self._page_lines:,} lines or more of {query} have the time {shown_time(at_ns)}, and Loki gives"
            f" {self._page_lines:,} of them at most; the others were not read{why}",
            "raise max_entries_limit_per_query of Loki, or have the log shipper keep the time of each line",
        )

    def _adapt_request(self, problem: LokiProblem, span_ns: int) -> bool:
        """Wait, or request fewer lines or a shorter range. Returns False if no other query can succeed."""
        self._failures += 1
        if problem.remedy is Remedy.NOTHING or self._failures >= _FAILURES:
            return False
        if problem.remedy is Remedy.FEWER_LINES:
            page_lines = problem.lines or self._page_lines // _FEWER_LINES
            if not _MIN_LINES <= page_lines < self._page_lines:
                return False
            self._page_lines = page_lines
            return True
        if not self._pages and problem.remedy is Remedy.LATER:
            return False
        if problem.remedy is Remedy.LESS_TIME:
            if span_ns <= _MIN_RANGE_NS:
                return False
            self._range_ns = max(span_ns // _SHORTER_RANGE, _MIN_RANGE_NS)
        if problem.remedy is Remedy.LATER:
            self._sleep(min(max(problem.wait_s, 2.0 ** (self._failures - 1)), _MAX_WAIT_S))
        return True

    def _count(self, page: LokiPage) -> None:
        self._pages += 1
        self._lines += len(page.entries)
        self._bytes += sum(len(entry.line) + _LINE_BYTES for entry in page.entries)
        self._progress(f"reading lines from Loki: {counted(self._lines, 'line')}, {self._bytes >> 20} MiB")

    def _reached_limit(self) -> str:
        """The limit of a run that is reached, as text; empty if none is."""
        if self._bytes >= self._limits.max_bytes:
            return f"the limit of {self._limits.max_bytes >> 20} MiB of one run is reached"
        if self._client.requests >= self._limits.max_requests:
            return f"the limit of {self._limits.max_requests:,} requests of one run is reached"
        if time.monotonic() >= self._until:
            return f"the limit of {self._limits.max_seconds:g} s of one run is reached"
        return ""

    def _note_unread_before(self, why: str, end_ns: int, how_to_get: str = "") -> None:
        self.missing.add(
            f"lines before {shown_time(end_ns)} were not read: {why}",
            how_to_get or "read the time before it in a run of its own with --until, or give a narrower --loki-query",
        )
