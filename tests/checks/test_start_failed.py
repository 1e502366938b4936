"""JSD817: processes that ended with a fatal line, and what came after them."""

from typing import Any

import pytest

from jsdoctor.checks.server_health.start_failed import start_failed_logged
from jsdoctor.model.finding import Finding, Outcome, Severity, Subject
from jsdoctor.model.log import Exemplar, LogEvidence, LogFile, Occurrence, ProcessRun
from tests.checks.values import NOON, after, lines, log_time

N1 = Subject(kind="server", name="n1")


def run(last_s: float, end: str, **more: Any) -> ProcessRun:
    return ProcessRun(server="n1", last=log_time(last_s), end=end, **more)


def failed(last_s: float) -> ProcessRun:
    return run(last_s, "failed", fatal="no port")


def judged(*runs: ProcessRun, occurrences: tuple[Occurrence, ...] = (), end_s: float = 0) -> list[Finding]:
    files = (LogFile(path="n1.log", size=1, server_lines=1, client_lines=1, last=log_time(end_s)),)
    return list(start_failed_logged(LogEvidence(files=files, runs=runs, found=occurrences)))


@pytest.mark.parametrize(
    ("runs", "severity", "then"),
    [
        ([failed(0), failed(9)], None, "it has not come up since"),
        ([failed(0), failed(9), run(20, "open", ready=log_time(12))], Severity.WARNING, "it has come up since"),
        ([failed(0), failed(9), run(20, "clean")], Severity.WARNING, "it has come up since"),
        ([failed(0), failed(9), run(20, "lame duck")], Severity.WARNING, "it has come up since"),
        ([failed(0), failed(9), run(20, "open")], None, "it has not come up since"),
        ([failed(0), run(5, "clean"), failed(9)], None, "it has not come up since"),
    ],
)
def test_whether_it_came_up_since(runs: list[ProcessRun], severity: Severity | None, then: str) -> None:
    (finding,) = judged(*runs)
    assert finding.severity is severity
    assert finding.message == (f"it failed twice with a fatal error, last at 2026-11-21 12:00:09Z: no port; {then}")
    assert (finding.first_seen, finding.last_seen) == (NOON, after(seconds=9))


def test_a_fatal_line_that_no_server_may_have_written() -> None:
    (finding,) = judged(run(0, "open", fatal="oops"))
    assert finding.outcome is Outcome.NOT_EVALUATED
    assert judged(run(0, "open")) == []


def refused(server: str, *reasons: str) -> Occurrence:
    shown = tuple(Exemplar("n1.log", n, n, "a line", log_time(0), (("reason", why),)) for n, why in enumerate(reasons))
    return lines("start-refused", logged_by=server, exemplars=shown)


def test_a_start_that_was_refused_is_told_once() -> None:
    (finding,) = judged(occurrences=(refused("n1", "a", "b", "c", "d"),))
    assert finding.subject == N1
    assert finding.message == "a start was refused: b; c; d"
    assert [finding.message[:9] for finding in judged(failed(0), occurrences=(refused("n1", "a"),))] == ["it failed"]


@pytest.mark.parametrize(
    "reason",
    ["vN.N.N", "configuration file a.conf is valid (shaN)", "multiple nats-server processes running:", "stopped"],
)
def test_what_begins_in_the_same_way_and_is_no_start(reason: str) -> None:
    occurrence = lines("start-refused", fields=(("reason", reason),))
    assert judged(occurrences=(occurrence,)) == []
