"""How long before and after a line starts and stops of servers explain what is logged, to the microsecond."""

from __future__ import annotations

import pytest

from jsdoctor.checks.logs.index import index_of
from jsdoctor.checks.logs.timeline import ProcessTimeline, timeline_of
from jsdoctor.model.log import DATED_US, ORDER_US, LogEvidence, LogFile, LogTime, ProcessRun

S = 1_000_000
NOON = DATED_US + 1_000 * S
PLACE = ORDER_US + 50_000
"""A line without a time: its place in the text counts instead."""


def at(us: int) -> LogTime:
    return LogTime(us, zoned=True)


def timeline(*runs: ProcessRun) -> ProcessTimeline:
    return ProcessTimeline(LogEvidence(files=(), runs=runs))


def test_a_start_explains_lines_until_15_seconds_after_the_server_is_ready() -> None:
    known = timeline(
        ProcessRun(server="n1", started=at(NOON), ready=at(NOON + 4 * S)), ProcessRun(server="n2", started=at(NOON))
    )
    assert [known.starting("n1", NOON + us) for us in (-1, 0, 19 * S, 19 * S + 1)] == [False, True, True, False]
    assert [known.starting("n2", NOON + us) for us in (0, 15 * S, 15 * S + 1)] == [True, True, False]
    assert not known.starting("n3", NOON)


def test_without_times_6000_bytes_are_the_15_seconds() -> None:
    """Of a server that is never ready, too."""
    known = timeline(
        ProcessRun(server="n1", started=at(PLACE), ready=at(PLACE + 500)), ProcessRun(server="n2", started=at(PLACE))
    )
    assert [known.starting("n1", PLACE + us) for us in (6_500, 6_501)] == [True, False]
    assert [known.starting("n2", PLACE + us) for us in (6_000, 6_001)] == [True, False]


@pytest.mark.parametrize(("end", "before"), [("clean", 15 * S), ("lame duck", 180 * S)])
def test_a_stop_in_order_explains_lines_before_it(end: str, before: int) -> None:
    known = timeline(ProcessRun(server="n1", last=at(NOON), end=end))
    outside, first = NOON - before - 1, NOON - before
    assert [known.stopping("n1", us) for us in (outside, first, NOON, NOON + 1)] == [False, True, True, False]
    # What was logged 15 seconds before all that was cut short by the stop as well.
    assert [known.stopped_after("n1", us) for us in (first - 15 * S - 1, first - 15 * S)] == [False, True]
    assert [known.stopped_after("n1", us) for us in (NOON, NOON + 1)] == [True, False]


def test_a_stop_begins_when_jetstream_is_stopped() -> None:
    known = timeline(ProcessRun(server="n1", last=at(NOON), end="clean", jetstream_stopped=at(NOON - 40 * S)))
    assert [known.stopping("n1", NOON - us) for us in (55 * S, 55 * S + 1)] == [True, False]


@pytest.mark.parametrize("end", ["unclean", "failed", "open"])
def test_any_other_end_explains_nothing_before_it(end: str) -> None:
    known = timeline(ProcessRun(server="n1", last=at(NOON), end=end))
    assert not known.stopping("n1", NOON)
    assert not known.stopped_after("n1", NOON)


def test_half_a_minute_around_a_start_or_an_end_other_servers_elect_leaders() -> None:
    """In whatever order the logs were read. That a log ends shows no end of its server."""
    known = timeline(
        ProcessRun(server="n1", started=at(NOON + 1_000 * S), last=at(NOON + 5_000 * S), end="open"),
        ProcessRun(server="n2", started=at(NOON), last=at(NOON + 500 * S), end="unclean"),
    )
    for moment in (NOON, NOON + 500 * S, NOON + 1_000 * S):
        around = (-30 * S - 1, -30 * S, 30 * S, 30 * S + 1)
        assert [known.restarting(moment + us) for us in around] == [False, True, True, False]
    assert not known.restarting(NOON + 5_000 * S)


def test_only_what_falls_into_one_start_or_stop_as_a_whole_is_noise() -> None:
    known = timeline(
        ProcessRun(server="n1", started=at(NOON), ready=at(NOON)),
        ProcessRun(server="n1", last=at(NOON - 3 * S), end="clean"),
    )
    assert known.noise("n1", NOON, NOON + 15 * S)
    assert known.noise("n1", NOON - 18 * S, NOON - 3 * S)
    assert not known.noise("n1", NOON - 3 * S, NOON)
    assert not known.noise("n1", NOON - 19 * S, NOON - 4 * S)
    assert not known.noise("n1", NOON - 4 * S, NOON - 2 * S)


def test_all_rules_share_one_timeline_and_one_index_of_some_logs() -> None:
    logs, other = (LogEvidence(files=(), runs=(ProcessRun(server=name),)) for name in ("n1", "n2"))
    assert timeline_of(logs) is timeline_of(logs)
    assert timeline_of(logs) is not timeline_of(other)
    assert index_of(logs) is index_of(logs)
    assert [run.server for run in index_of(other).runs_of("n2")] == ["n2"]


def test_levels_of_a_file_whose_server_is_unknown_count_for_every_server() -> None:
    named = LogFile(path="a.log", size=1, server_lines=2, servers=("n1",), levels=("WRN",))
    unnamed = LogFile(path="b.log", size=1, server_lines=2, levels=("INF",))
    assert index_of(LogEvidence(files=(named,))).lacks_level("n1", "INF")
    assert not index_of(LogEvidence(files=(named, unnamed))).lacks_level("n1", "INF")
