"""Every line is read once, whatever the times, the limit and the streams; what is not read is told."""

import threading
import time
from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jsdoctor.logs.loki import parse_log_query
from jsdoctor.sources.http_api import ApiAccess
from jsdoctor.sources.loki.paging import LokiClient, LokiProblem, Pager, PagingLimits
from jsdoctor.sources.servers.monitor_url import MonitorUrl
from tests.loki.documented import DocumentedLoki, Refused, serving

QUERY = parse_log_query('{app="nats"}')
START, END = 1_700_000_000_000_000_000, 1_700_086_400_000_000_000
S = 1_000_000_000
Read = list[tuple[str, int, str]]


def read(
    loki: DocumentedLoki, limit: int = 5, budget: PagingLimits | None = None, since: int = START, until: int = END
) -> tuple[Read, list[str]]:
    """All lines as (pod, time, text), the newest first; and what is missing."""
    with serving(loki) as url, LokiClient(ApiAccess(url=MonitorUrl(url), timeout_s=5), lambda _: None) as client:
        budget = budget or PagingLimits(lines_per_page=limit)
        pager = Pager(client, QUERY, budget, lambda _: None, sleep=lambda _: None)
        lines = [
            (dict(page.streams[entry.stream])["pod"], entry.at_ns, entry.line)
            for page in pager.pages(since, until)
            for entry in page.entries
        ]
    return lines, [reason for reason, _ in pager.missing.reasons]


def stored(loki: DocumentedLoki) -> Counter[tuple[str, int, str]]:
    return Counter((dict(labels)["pod"], at, line) for labels, lines in loki.streams.items() for at, line in lines)


TIMES = st.one_of(
    st.integers(START, START + 12),  # many lines of one time
    st.sampled_from([START, START + S, END - 1]),
    st.integers(START, END - 1),
)


@settings(max_examples=60, deadline=None)
@given(pods=st.lists(st.lists(TIMES, max_size=25), min_size=1, max_size=3), limit=st.integers(10, 17))
def test_no_line_is_lost_or_read_twice(pods: list[list[int]], limit: int) -> None:
    loki = DocumentedLoki()
    for number, times in enumerate(pods):
        own = [(at, f"line {index}") for index, at in enumerate(times)]
        loki.push({"app": "nats", "pod": f"nats-{number}"}, own)
    lines, missing = read(loki, limit)
    crowded = any(n >= limit for own in loki.streams.values() for n in Counter(at for at, _ in own).values())
    assert Counter(lines) <= stored(loki)
    assert bool(missing) == crowded
    if not missing:
        assert Counter(lines) == stored(loki)


def test_start_is_inclusive_and_end_is_exclusive() -> None:
    loki = DocumentedLoki()
    loki.push({"app": "nats", "pod": "a"}, [(START - 1, "before"), (START, "first"), (END - 1, "last"), (END, "after")])
    lines, missing = read(loki)
    assert [line for _, _, line in lines] == ["last", "first"]
    assert not missing


def test_a_time_with_more_lines_than_a_page_is_read_stream_by_stream() -> None:
    loki = DocumentedLoki()
    for pod in "abc":
        loki.push({"app": "nats", "pod": pod}, [(START + S, f"{pod}{number}") for number in range(7)])
    loki.push({"app": "nats", "pod": "d", "level": "info"}, [(START, "old"), (END - 1, "new")])
    lines, missing = read(loki, limit=8)
    assert Counter(lines) == stored(loki)
    assert not missing


def test_a_stream_with_more_lines_of_one_time_than_loki_gives_is_reported() -> None:
    loki = DocumentedLoki()
    loki.push({"app": "nats", "pod": "a"}, [(START + S, f"{number}") for number in range(30)])
    loki.push({"app": "nats", "pod": "a"}, [(START, "old"), (END - 1, "new")])
    lines, missing = read(loki, limit=8)
    assert len(lines) == 2 + 8
    assert len(missing) == 1
    assert "8 lines or more" in missing[0]


def test_a_range_that_is_too_long_is_read_in_shorter_ones() -> None:
    """Limits of time and bytes per query, in Loki's words."""
    loki = DocumentedLoki()
    loki.push({"app": "nats", "pod": "a"}, [(START + number * 3600 * S, str(number)) for number in range(24)])

    def refuse(_: int, path: str, form: Mapping[str, str]) -> None:
        if int(form["end"]) - int(form["start"]) > 3600 * S:
            raise Refused(400, "the query time range exceeds the limit (query length: 2h, limit: 1h)")

    loki.before = refuse
    lines, missing = read(loki, limit=50)
    assert Counter(lines) == stored(loki)
    assert not missing


@pytest.mark.parametrize("status", [500, 429, 503])
def test_an_error_that_passes_loses_nothing(status: int) -> None:
    loki = DocumentedLoki()
    loki.push({"app": "nats", "pod": "a"}, [(START + number, str(number)) for number in range(100)])

    def fail(number: int, *_: object) -> None:
        if number % 3 == 0:
            raise Refused(status, "Ingester is shutting down")

    loki.before = fail
    lines, missing = read(loki, limit=10)
    assert Counter(lines) == stored(loki)
    assert not missing


def test_an_error_half_way_keeps_the_newest_lines_and_is_reported() -> None:
    loki = DocumentedLoki()
    loki.push({"app": "nats", "pod": "a"}, [(END - 100 + number, str(number)) for number in range(100)])

    def fail(number: int, *_: object) -> None:
        if number > 5:
            raise Refused(500, "rpc error: code = Unknown desc = empty ring")

    loki.before = fail
    lines, missing = read(loki, limit=10)
    assert [line for _, _, line in lines] == [str(number) for number in range(99, 99 - 45, -1)]
    assert len(missing) == 1
    assert "were not read" in missing[0]
    assert "empty ring" in missing[0]


def test_an_error_of_the_first_query_ends_the_reading() -> None:
    loki = DocumentedLoki()

    def fail(*_: object) -> None:
        raise Refused(500, "too many unhealthy instances in the ring")

    loki.before = fail
    with pytest.raises(LokiProblem, match="too many unhealthy instances"):
        read(loki)
    assert len(loki.requests) == 1


@pytest.mark.parametrize(
    ("budget", "why"),
    [
        (PagingLimits(lines_per_page=10, max_requests=4), "4 requests"),
        (PagingLimits(lines_per_page=10, max_bytes=1_000), "0 MiB of one run"),
        (PagingLimits(lines_per_page=10, max_seconds=0.0), "0 s of one run"),
    ],
)
def test_a_limit_of_a_run_is_reported(budget: PagingLimits, why: str) -> None:
    loki = DocumentedLoki()
    loki.push({"app": "nats", "pod": "a"}, [(END - 100 + number, str(number)) for number in range(100)])
    lines, missing = read(loki, budget=budget)
    assert len(lines) < 100
    assert [line for _, _, line in lines] == [str(number) for number in range(99, 99 - len(lines), -1)]
    assert len(missing) == 1
    assert why in missing[0]


def test_a_warning_of_missing_lines_is_reported() -> None:
    loki = DocumentedLoki(warnings=("Query was executed using the next-generation Loki query engine.",))
    loki.push({"app": "nats", "pod": "a"}, [(START, "x")])
    assert not read(loki)[1]
    loki.warnings = ("1 of 3 ingesters did not respond",)
    assert "1 of 3 ingesters" in read(loki)[1][0]


def test_a_slow_reply_ends_in_time() -> None:
    read_to_end = threading.Event()

    def wait(*_: object) -> None:
        read_to_end.wait(30)

    with (
        serving(DocumentedLoki(before=wait)) as url,
        LokiClient(ApiAccess(url=MonitorUrl(url), timeout_s=0.2), lambda _: None) as client,
    ):
        pager = Pager(client, QUERY, PagingLimits(), lambda _: None, sleep=lambda _: None)
        began = time.monotonic()
        with pytest.raises(LokiProblem, match=r"no response within 0\.2 s"):
            list(pager.pages(START, END))
        assert time.monotonic() - began < 5
        read_to_end.set()
