"""What becomes of outage intervals of logs: what lasts, what is over, how grave that is, and in which words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from jsdoctor.checks.logs.log_incidents import LogIncident, log_incidents
from jsdoctor.model.finding import Severity, Subject
from jsdoctor.model.log import DATED_US, ORDER_US, LogEvidence, LogFile, LogTime, OutageInterval, ProcessRun

S = 1_000_000
NOON = DATED_US + 43_200 * S
PLACE = ORDER_US + 50_000
LOST, WITNESS = "quorum-lost", "healthcheck-failed"
DAY = f"{LogTime(NOON).at:%Y-%m-%d}"
SAME = Subject(kind="stream", name="ORDERS")


def at(us: int) -> LogTime:
    return LogTime(NOON + us, zoned=True)


def place(us: int) -> LogTime:
    """A line without a time."""
    return LogTime(PLACE + us, zoned=True)


def interval(began: LogTime, last: LogTime, **more: Any) -> OutageInterval:
    values: dict[str, Any] = {"signature": LOST, "logged_by": "n1", "fields": (), "count": 1}
    return OutageInterval(**values | {"began": began, "last": last} | more)


def of(
    *intervals: OutageInterval, runs: Sequence[ProcessRun] = (), levels: Sequence[str] = ("INF", "WRN"), **how: Any
) -> LogIncident:
    """The one incident of these intervals."""
    files = (LogFile(path="n1.log", size=1, server_lines=9, servers=("n1", "n2"), levels=tuple(levels)),)
    (incident,) = log_incidents(LogEvidence(files=files, runs=tuple(runs), intervals=intervals), LOST, **how)
    return incident


def lasts(*intervals: OutageInterval, **how: Any) -> bool:
    return bool(of(*intervals, **how).unresolved)


@pytest.mark.parametrize(
    ("count", "last_s", "pause_s"),
    [
        (4, 60, 120),  # a line each 20 seconds
        (2, 40, 240),
        (1, 0, 30),  # of one line no pause is known
        (30, 29, 30),
        (3, 400, 300),
    ],
)
def test_what_is_logged_repeatedly_is_over_after_six_of_its_usual_pauses(count: int, last_s: int, pause_s: int) -> None:
    for more, still in ((0, True), (1, False)):
        single = interval(at(0), at(last_s * S), count=count, log_end=at((last_s + pause_s) * S + more))
        assert lasts(single, repeats=True) is still
        assert lasts(single)


def test_two_lines_just_before_the_log_ends_may_be_an_election_and_three_are_none() -> None:
    for began_s, count, still in ((20, 1, True), (19, 2, False), (19, 3, True)):
        assert lasts(interval(at(0), at(S), count=count, log_end=at(began_s * S))) is still
    few, several = (of(interval(at(0), at(S), count=count, log_end=at(19 * S))) for count in (2, 3))
    assert not few.unresolved
    assert several.short
    old = of(interval(at(0), at(S), count=1, log_end=at(20 * S)))
    assert not old.short


def test_lines_without_times_at_the_end_of_the_text_last() -> None:
    """Whether for long is not known, of one or two lines."""
    few, several = (of(interval(place(0), place(90), count=count, log_end=place(200))) for count in (2, 3))
    assert few.unresolved
    assert few.short
    assert several.unresolved
    assert not several.short
    assert several.story == (
        "logged 3 times by n1; no later line shows that it ended, and without times it is not known how long it lasted"
    )


@pytest.mark.parametrize(
    ("witness", "confirmed"),
    [
        ({}, True),
        ({"last": at(-1)}, False),
        ({"logged_by": "n2"}, False),
        ({"resolved": at(2)}, False),
        ({"signature": LOST, "fields": (("stream", "B"),)}, False),
    ],
)
def test_a_failed_health_check_of_that_server_confirms_one_line(witness: dict[str, Any], confirmed: bool) -> None:
    single = interval(at(0), at(0), log_end=at(5 * S))
    values: dict[str, Any] = {"began": at(-9 * S), "last": at(0), "signature": WITNESS}
    checked = interval(**values | witness)
    logs = LogEvidence(files=(), intervals=(checked, single))
    incident = log_incidents(logs, LOST)[-1]
    assert bool(incident.unresolved) is confirmed


def test_the_health_check_does_not_confirm_itself() -> None:
    single = interval(at(0), at(0), signature=WITNESS, log_end=at(5 * S))
    (incident,) = log_incidents(LogEvidence(files=(), intervals=(single,)), WITNESS)
    assert not incident.unresolved


def test_while_a_server_starts_a_fault_of_less_than_a_minute_is_left_out() -> None:
    runs = (ProcessRun(server="n1", started=at(0), ready=at(0)),)
    for resolved, left_out in ((at(65 * S - 1), True), (at(40 * S), True), (at(65 * S), False)):
        single = interval(at(5 * S), at(6 * S), resolved=resolved)
        logs = LogEvidence(files=(), runs=runs, intervals=(single,))
        assert (log_incidents(logs, LOST) == []) is left_out
        assert log_incidents(logs, LOST, calm=False)


def test_where_no_line_could_end_it_only_the_last_ten_minutes_count() -> None:
    for last_s, still in ((0, True), (-1, False)):
        single = interval(at(-3_600 * S), at(last_s * S), count=9, log_end=at(600 * S))
        incident = of(single, levels=["WRN"])
        assert bool(incident.unresolved) is still
    single = interval(at(-3_600 * S), at(0), count=9, log_end=at(600 * S))
    assert of(single, levels=["WRN"]).story == (
        f"logged 9 times by n1 from {DAY} 11:00:00 to 12:00:00Z; the log (to {DAY} 12:10:00Z) has no lines of level"
        " INF, so nothing in it could tell when it ended"
    )


def test_what_is_not_certain_is_a_warning_at_most() -> None:
    single = interval(at(0), at(S), count=3, log_end=at(19 * S))
    given = [None, *Severity]
    info, warning = Severity.INFO, Severity.WARNING
    assert [of(single).severity(severity) for severity in given] == [warning, info, warning, warning, warning]
    lasting = interval(at(0), at(S), count=3, log_end=at(40 * S))
    assert [of(lasting).severity(severity) for severity in given] == given


def test_what_is_over_is_a_warning_if_it_took_a_minute() -> None:
    runs = (ProcessRun(server="n2", started=at(0)),)
    for length_us, severity in ((60 * S - 1, Severity.INFO), (60 * S, Severity.WARNING)):
        incident = of(interval(at(0), at(S), resolved=at(length_us)), runs=runs)
        assert incident.severity() is severity
        assert incident.notable is (severity is Severity.WARNING)


def test_what_recurs_four_times_within_an_hour_is_a_warning() -> None:
    def begun(*seconds: int, **more: Any) -> list[OutageInterval]:
        return [interval(at(s * S), at(s * S), resolved=at(s * S + 1), **more) for s in seconds]

    assert of(*begun(0, 100, 200, 3_599)).severity() is Severity.WARNING
    assert of(*begun(0, 100, 200, 3_600)).severity() is Severity.INFO
    assert of(*begun(0, 100), *begun(200, 300, logged_by="n2"), subjects=lambda *_: SAME).severity() is Severity.INFO
    restarts = [ProcessRun(server="n2", started=at(s * S)) for s in (0, 100, 200, 300)]
    assert of(*begun(0, 100, 200, 300), runs=restarts).severity() is Severity.INFO


def test_how_long_it_took_is_told_from_a_millisecond_on() -> None:
    texts = {999: "", 1_000: " after 1ms", 3_999: " after 3ms"}
    for length_us, text in texts.items():
        incident = of(interval(at(0), at(0), resolved=at(length_us)))
        assert incident.story == f"logged once by n1 at {DAY} 12:00:00Z; it ended{text}"


def test_what_is_told_of_one_that_no_line_ends() -> None:
    def story(log_end: LogTime) -> str:
        return of(interval(at(0), at(S), count=2, log_end=log_end), repeats=True).story.partition("; ")[2]

    assert story(at(31 * S)) == "no line ends it before the log does (" + f"{DAY} 12:00:31Z)"
    assert story(at(31 * S + 1)) == "it is not logged any more"
    stopped = [ProcessRun(server="n1", last=at(2 * S), end="clean")]
    for log_end, over in ((at(31 * S), "the log ends 30s later"), (at(31 * S + 1), "it is not logged any more")):
        assert of(interval(at(0), at(S), log_end=log_end), runs=stopped, calm=False).story.endswith(f"; {over}")
    undated = [ProcessRun(server="n1", last=place(99), end="clean")]
    assert of(interval(place(0), place(90), log_end=place(99)), runs=undated, calm=False).story == (
        "logged once by n1; no line shows whether it ended"
    )


def test_of_several_the_newest_decides_how_it_ended() -> None:
    stopped = [ProcessRun(server="n1", last=at(100 * S + 2), end="clean")]
    first = interval(at(0), at(S), resolved=at(9 * S), log_end=at(900 * S))
    second = interval(at(100 * S), at(100 * S + 1), log_end=at(105 * S + 1))
    assert of(first, second, runs=stopped, calm=False).story == (
        f"2 intervals on n1 from {DAY} 12:00:00 to 12:01:40Z, the longest 9s; no line shows how the last one ended:"
        " the log ends 5s later"
    )
    over = interval(at(100 * S), at(100 * S), resolved=at(105 * S + 3_999))
    assert of(first, over).story == f"2 intervals on n1 from {DAY} 12:00:00 to 12:01:45Z, the longest 9s; all are over"


def test_the_last_log_tells_until_when_it_lasted() -> None:
    here = interval(at(0), at(S), count=3, log_end=at(100 * S))
    there = interval(at(50 * S), at(60 * S), count=4, log_end=at(400 * S), logged_by="n2")
    ended = interval(at(-60 * S), at(-60 * S), resolved=at(-50 * S))
    assert of(ended, here, there, subjects=lambda *_: SAME).story == (
        f"since {DAY} 12:00:00Z on n1, n2, logged 7 times, after 1 earlier interval; no line ends it before the"
        f" log does ({DAY} 12:06:40Z)"
    )


def test_intervals_of_several_signatures_are_in_the_order_of_time() -> None:
    later, sooner = interval(at(9), at(9), signature="a"), interval(at(0), at(0), signature="b")
    (incident,) = log_incidents(LogEvidence(files=(), intervals=(later, sooner)), "a", "b")
    assert incident.intervals == (sooner, later)
