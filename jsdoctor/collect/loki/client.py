"""A client of the Loki HTTP API: log queries over a range of time, and the remedies of refused queries."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

import httpx2

from jsdoctor.collect.connect.refusal import printable
from jsdoctor.collect.http_api import ApiAccess, TooLargeError, body_of
from jsdoctor.collect.live.monitor_refusal import transport_refusal
from jsdoctor.collect.problems import Problem
from jsdoctor.parse.loki.replies import NOTHING, Labels, Lifted, LokiPage, log_page, series_of_reply
from jsdoctor.parse.replies import ReplyError

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
_SHOWN = 300
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
            raise _refused(response, body, where)
        try:
            return parse(body)
        except ReplyError as error:
            raise _stranger(response, where, str(error)) from None


def _refused(response: httpx2.Response, body: bytes, where: str) -> LokiProblem:
    status = response.status_code
    stated = printable(body, _SHOWN)
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
        return LokiProblem(f"{where}: there is no Loki API (HTTP 404)", _check_address())
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


def _stranger(response: httpx2.Response, where: str, reason: str) -> LokiProblem:
    if _is_page(response):
        return LokiProblem(
            f"{where} responds with a page of HTML, perhaps that of a login (HTTP {response.status_code})",
            f"give --loki-token, or USER:PASSWORD in the URL, and {_check_address()}",
        )
    return LokiProblem(f"{where} (HTTP {response.status_code}): {printable(reason, _SHOWN)}", _check_address())


def _check_address() -> str:
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
