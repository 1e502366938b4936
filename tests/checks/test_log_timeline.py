"""How long before and after a line starts and stops of servers explain what is logged, to the microsecond."""

import pytest

from jsdoctor.checks.logs.log_incidents import ProcessTimeline, index_of
from jsdoctor.model.log import DATED_US, LogEvidence, LogFile, LogTime, ProcessRun

S = 1_000_000
NOON = DATED_US + 1_000 * S


def at(us: int) -> LogTime:
    return LogTime(us, zoned=True)


def timeline(*runs: ProcessRun) -> ProcessTimeline:
    return ProcessTimeline(LogEvidence(files=(), runs=runs))


@pytest.mark.parametrize(("end", "before"), [("clean", 15 * S), ("lame duck", 180 * S)])
def test_a_stop_in_order_explains_lines_before_it(end: str, before: int) -> None:
    known = timeline(ProcessRun(server="n1", last=at(NOON), end=end))
    outside, first = NOON - before - 1, NOON - before
    assert [known.stopping("n1", us) for us in (outside, first, NOON, NOON + 1)] == [False, True, True, False]
    # What was logged 15 seconds before all that was cut short by the stop as well.
    assert [known.stopped_after("n1", us) for us in (first - 15 * S - 1, first - 15 * S)] == [False, True]
    assert [known.stopped_after("n1", us) for us in (NOON, NOON + 1)] == [True, False]


def test_levels_of_a_file_whose_server_is_unknown_count_for_every_server() -> None:
    named = LogFile(path="a.log", size=1, server_lines=2, servers=("n1",), levels=("WRN",))
    unnamed = LogFile(path="b.log", size=1, server_lines=2, levels=("INF",))
    assert index_of(LogEvidence(files=(named,))).lacks_level("n1", "INF")
    assert not index_of(LogEvidence(files=(named, unnamed))).lacks_level("n1", "INF")
