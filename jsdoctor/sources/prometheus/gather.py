"""NATS metrics in Prometheus: found by their names, then read at the last two scrapes and over days.

Four kinds of queries are sent: how many series there are, when each exporter was last scraped, the values at two
moments, and the values of streams, consumers and links at regular times of the past. Numbers of series and points
bound their cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

import httpx2

from jsdoctor.metrics.names import KNOWN, OVER_TIME, known_name, names_of_links
from jsdoctor.metrics.samples import Moment, moment_of, moments_of
from jsdoctor.metrics.series import Answer, MetricSeries, api_answer
from jsdoctor.model.finding import CLUSTER
from jsdoctor.model.gap import Gap
from jsdoctor.model.problems import Problem
from jsdoctor.model.trend import MAX_SAMPLES
from jsdoctor.replies.decoding import ReplyError
from jsdoctor.sources.connect.refusal import printable
from jsdoctor.sources.http_api import ApiAccess, TooLargeError, body_of
from jsdoctor.sources.servers.monitor_body import transport_refusal

MAX_BYTES = 512 << 20
"""Maximum size of a reply."""

_MAX_TEXT = 300


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
        self._on_query(f"{_shown_time(moment)} {query}")
        return self._query("/api/v1/query", {"query": query, "time": f"{moment:.3f}"})

    def over(self, query: str, start: float, end: float, step: float) -> Answer:
        """The values of a query from `start` to `end`, `step` seconds apart. Raises PrometheusProblem."""
        self._on_query(f"{_shown_time(start)}..{_shown_time(end)} step {step:.0f}s {query}")
        times = {"start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:.3f}"}
        return self._query("/api/v1/query_range", {"query": query, **times})

    def _query(self, path: str, form: Mapping[str, str]) -> Answer:
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
            raise _refusal_problem(response, base, str(error)) from None


def _body(response: httpx2.Response, base: str) -> bytes:
    try:
        return body_of(response, MAX_BYTES)
    except TooLargeError:
        raise PrometheusProblem(
            f"Prometheus at {base}: a reply is larger than {MAX_BYTES >> 20} MiB",
            "choose one deployment with --prometheus-match, or a shorter --prometheus-since",
        ) from None


def _refusal_problem(response: httpx2.Response, base: str, reason: str) -> PrometheusProblem:
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
    shown = printable(reason)[:_MAX_TEXT]
    how = _MATCHERS if "parse error" in reason else _ADDRESS
    return PrometheusProblem(f"Prometheus at {base} (HTTP {status}): {shown}", how)


_ADDRESS = "give the address below which /api/v1/query is: http://HOST:9090, without /graph; of Mimir, with /prometheus"
_MATCHERS = (
    "check --prometheus-match: label matchers as in a query, with quotes: --prometheus-match 'job=\"nats-prod\"'"
)


def _shown_time(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


MAX_SERIES = 400_000
"""Maximum number of series in a query: Prometheus fails at 50 million samples by default, and our memory is limited."""
MAX_POINTS = 5_000_000
_MIN_SAMPLES = 3
_BEFORE_S = 1.0  # the earlier moment lies this long before the last scrape
_SCRAPES_PER_STEP = 1.25
"""Scrapes are not quite even. Two steps that show one scrape would be two equal readings of what grows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """The last two scrapes, oldest first, earlier moments, and the gaps."""

    now: tuple[Moment, ...]
    earlier: tuple[Moment, ...]
    gaps: tuple[Gap, ...]


def gather_metrics(
    client: PrometheusClient, match: str, now: float, since_s: float, progress: Callable[[str], None]
) -> Metrics:
    """Read the metrics of one deployment. `match` are more label matchers. Raises PrometheusProblem."""
    reader = _MetricsReader(client, match)
    progress("querying Prometheus for its metrics of NATS")
    counts = reader.names(now)
    total = sum(counts.values())
    if total > MAX_SERIES:
        raise PrometheusProblem(
            f"Prometheus has {total:,} series of NATS, more than {MAX_SERIES:,}",
            "choose one deployment: --prometheus-match 'job=\"nats-prod\"'",
        )
    progress(f"reading {total:,} series")
    scraped = reader.scrape_times(counts, now)
    latest = reader.values(counts, now)
    before_at = min(scraped.values(), default=now) - _BEFORE_S
    before = reader.values(counts, before_at)
    scraped_before = reader.scrape_times(counts, before_at)
    samples = [moment_of(before, before_at, scraped_before), moment_of(latest, now, scraped)]
    progress("reading the past")
    over_time = {name: n for name, n in counts.items() if known_name(name) in OVER_TIME}
    between = max((at - scraped_before[name] for name, at in scraped.items() if name in scraped_before), default=0.0)
    names = {**dict.fromkeys(names_of_links(counts), 0), **over_time}
    earlier = reader.past(names, before_at, since_s, between * _SCRAPES_PER_STEP)
    return Metrics(now=tuple(item for item in samples if item.series), earlier=tuple(earlier), gaps=tuple(reader.gaps))


class _MetricsReader:
    """The queries, and the gaps of their results."""

    def __init__(self, client: PrometheusClient, match: str) -> None:
        self._client, self._match = client, f",{match}" if match else ""
        self.gaps: list[Gap] = []

    def names(self, now: float) -> dict[str, int]:
        """The existing metrics of NATS, with their numbers of series. Raises PrometheusProblem without any."""
        ends = "|".join(sorted(KNOWN))
        answer = self._checked(
            self._client.at(f'count by (__name__) ({{__name__=~"(.+_)?({ends})"{self._match}}})', now)
        )
        series_counts = {item.name: int(item.points[-1][1]) for item in answer if item.name and item.points}
        if not series_counts:
            raise PrometheusProblem(
                "Prometheus has no metrics of prometheus-nats-exporter or nats-surveyor now",
                "scrape an exporter (prometheus-nats-exporter -varz -healthz -jsz=all, or nats-surveyor --jsz all)"
                + (", or change --prometheus-match" if self._match else ""),
            )
        return series_counts

    def scrape_times(self, names: Mapping[str, int], at: float) -> dict[str, float]:
        """When each exporter was scraped last before a time, by the label `instance`."""
        smallest = min(names.items(), key=lambda item: (not _is_of_every_server(item[0]), item[1]))[0]
        wanted = [name for name in names if _is_of_every_server(name)] or [smallest]
        # One metric at a time: timestamp() drops the name, and Prometheus refuses series that are then identical.
        each = (f"max by (instance) (timestamp({self._selector([name])}))" for name in sorted(wanted))
        answer = self._client.at(" or ".join(each), at)
        return {item.label("instance"): item.points[-1][1] for item in self._checked(answer) if item.points}

    def values(self, names: Mapping[str, int], at: float) -> tuple[MetricSeries, ...]:
        """All series at one moment."""
        return self._checked(self._client.at(self._selector(names), at))

    def past(self, names: Mapping[str, int], end: float, since_s: float, shortest_s: float) -> Sequence[Moment]:
        """The values at regular times before `end`, at least `shortest_s` apart.

        There are fewer times if there are very many series, and a gap instead if there are too many.
        """
        count = sum(names.values())
        samples = min(MAX_SAMPLES, MAX_POINTS // max(count, 1))
        if not count or since_s <= 0:
            return ()
        if samples < _MIN_SAMPLES:
            reason = f"the history of {count:,} series was not read: it is more than {MAX_POINTS:,} points"
            how = "choose streams with --prometheus-match 'stream_name=~\"ORDERS|BILLING\"'"
            self.gaps.append(Gap("history", CLUSTER, reason, how))
            return ()
        step = max(since_s / samples, shortest_s, 1.0)
        samples = max(1, round(since_s / step))
        answer = self._client.over(self._selector(names), end - step * samples, end - step, step)
        return moments_of(self._checked(answer))

    def _selector(self, names: Sequence[str] | Mapping[str, int]) -> str:
        return f'{{__name__=~"{"|".join(sorted(names))}"{self._match}}}'

    def _checked(self, answer: Answer) -> tuple[MetricSeries, ...]:
        """The series of a reply. Its warnings become gaps: the data of a store that did not respond is missing."""
        for warning in answer.warnings:
            reason = f"Prometheus did not give everything: {''.join(c for c in warning if c.isprintable())[:_MAX_TEXT]}"
            self.gaps.append(Gap("prometheus", CLUSTER, reason, "see the stores behind this Prometheus, and run again"))
        return answer.series


def _is_of_every_server(name: str) -> bool:
    return known_name(name) in ("server_total_streams", "varz_mem", "core_mem_bytes")
