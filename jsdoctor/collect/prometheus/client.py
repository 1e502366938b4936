"""A client of the Prometheus HTTP API: instant and range queries, with every kind of login to Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

import httpx2

from jsdoctor.collect.connect.refusal import printable
from jsdoctor.collect.http_api import ApiAccess, TooLargeError, body_of
from jsdoctor.collect.live.monitor_refusal import transport_refusal
from jsdoctor.collect.problems import Problem
from jsdoctor.parse.metrics.series import Answer, api_answer
from jsdoctor.parse.replies import ReplyError

MAX_BYTES = 512 << 20
"""A larger reply is not read."""


class PrometheusProblem(Problem):
    """Prometheus could not be queried, or did not respond as Prometheus does. Exit code 3."""


class PrometheusClient:
    """Queries one Prometheus. `on_query` gets the text of each query before it is sent."""

    def __init__(self, access: ApiAccess, on_query: Callable[[str], None]) -> None:
        self._access, self._on_query = access, on_query
        self._http = access.client()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._http.close()

    def at(self, query: str, moment: float) -> Answer:
        """The value of a query at one time (seconds since 1970). Raises PrometheusProblem."""
        self._on_query(f"{_shown(moment)} {query}")
        return self._ask("/api/v1/query", {"query": query, "time": f"{moment:.3f}"})

    def over(self, query: str, start: float, end: float, step: float) -> Answer:
        """The values of a query from `start` to `end`, `step` seconds apart. Raises PrometheusProblem."""
        self._on_query(f"{_shown(start)}..{_shown(end)} step {step:.0f}s {query}")
        times = {"start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:.3f}"}
        return self._ask("/api/v1/query_range", {"query": query, **times})

    def _ask(self, path: str, form: Mapping[str, str]) -> Answer:
        base = self._access.url.base
        try:
            with self._http.stream(
                "POST", base + path, data={**form, "timeout": f"{self._access.timeout_s:.0f}s"}
            ) as response:
                body = _body(response, base)
        except (httpx2.HTTPError, OSError) as error:
            reason, _ = transport_refusal(error, base, self._access.timeout_s)
            raise PrometheusProblem(
                f"Prometheus at {base}: {reason}", "check the address given with --prometheus"
            ) from None
        try:
            return api_answer(body)
        except ReplyError as error:
            raise _refused(response, base, str(error)) from None


def _body(response: httpx2.Response, base: str) -> bytes:
    try:
        return body_of(response, MAX_BYTES)
    except TooLargeError:
        raise PrometheusProblem(
            f"Prometheus at {base}: a reply is larger than {MAX_BYTES >> 20} MiB",
            "choose one deployment with --prometheus-match, or a shorter --prometheus-since",
        ) from None


def _refused(response: httpx2.Response, base: str, reason: str) -> PrometheusProblem:
    status = response.status_code
    if status in (httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN):
        return PrometheusProblem(
            f"Prometheus at {base} refuses this login (HTTP {status})",
            "give --prometheus-token, USER:PASSWORD in the URL, or the tenant with --prometheus-header"
            " 'X-Scope-OrgID: TENANT'",
        )
    if response.is_redirect:
        where = printable(response.headers.get("location", "nowhere"))
        return PrometheusProblem(f"Prometheus at {base} redirects to {where}", "give the address that it redirects to")
    if status == httpx2.codes.NOT_FOUND:
        return PrometheusProblem(
            f"{base} is not the address of a Prometheus API: it has no /api/v1/query (HTTP 404)", _ADDRESS
        )
    shown = printable(reason)[:300]
    how = _MATCHERS if "parse error" in reason else _ADDRESS
    return PrometheusProblem(f"Prometheus at {base} (HTTP {status}): {shown}", how)


_ADDRESS = "give the address below which /api/v1/query is: http://HOST:9090, without /graph; of Mimir, with /prometheus"
_MATCHERS = (
    "check --prometheus-match: label matchers as in a query, with quotes: --prometheus-match 'job=\"nats-prod\"'"
)


def _shown(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
