"""What becomes of outage intervals of logs: what lasts, what is over, how grave that is, and in which words."""

from collections.abc import Sequence
from typing import Any

import pytest

from jsdoctor.checks.logs.log_incidents import LogIncident, log_incidents
from jsdoctor.model.finding import Severity
from jsdoctor.model.log import DATED_US, ORDER_US, LogEvidence, LogFile, LogTime, OutageInterval, ProcessRun

S = 1_000_000
NOON = DATED_US + 43_200 * S
PLACE = ORDER_US + 50_000
LOST, WITNESS = "quorum-lost", "healthcheck-failed"


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


def test_what_is_not_certain_is_a_warning_at_most() -> None:
    single = interval(at(0), at(S), count=3, log_end=at(19 * S))
    given = [None, *Severity]
    info, warning = Severity.INFO, Severity.WARNING
    assert [of(single).severity(severity) for severity in given] == [warning, info, warning, warning, warning]
    lasting = interval(at(0), at(S), count=3, log_end=at(40 * S))
    assert [of(lasting).severity(severity) for severity in given] == given
