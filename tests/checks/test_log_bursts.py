"""Lines without an end of their own: how many count, in which order, whether they are recent, what proves nothing."""

from __future__ import annotations

from typing import Any

import msgspec

from jsdoctor.checks.logs.bursts import Burst, bursts
from jsdoctor.checks.logs.log_findings import is_recent
from jsdoctor.checks.logs.refused_consumers import refusals_in
from jsdoctor.checks.logs.undecided import not_cleared, undecided
from jsdoctor.checks.logs.words import subject_of
from jsdoctor.engine.select import find_rule
from jsdoctor.model.finding import Subject
from jsdoctor.model.log import (
    DATED_US,
    Histogram,
    LogEvidence,
    LogFile,
    LogServer,
    LogTime,
    Occurrence,
    ProcessRun,
)
from tests.support.ruleset import rules

S = 1_000_000
NOON = DATED_US + 43_200 * S


def occurrence(logged_by: str, *spans: tuple[int, int, int], **more: Any) -> Occurrence:
    """Lines at these times, in seconds after noon."""
    count = sum(count for _, _, count in spans)
    histogram = Histogram.of([(NOON + first * S, NOON + last * S, count) for first, last, count in spans])
    values: dict[str, Any] = {"signature": "slow", "count": count, "dated": count, "zoned": True}
    return Occurrence(**values | {"logged_by": logged_by, "histogram": histogram} | more)


def found(*occurrences: Occurrence, **more: Any) -> list[Burst]:
    return bursts(LogEvidence(files=(), found=occurrences, **more), "slow")


def test_lines_of_a_start_are_left_out() -> None:
    started = LogTime(NOON, zoned=True)
    runs = (ProcessRun(server="n1", started=started, ready=started),)
    (burst,) = found(occurrence("n1", (1, 9, 5), (60, 61, 3)), runs=runs)
    assert burst.count == 3
    assert found(occurrence("n1", (1, 9, 5)), runs=runs) == []


def test_the_subject_with_the_most_lines_is_first() -> None:
    several = found(occurrence("n1", (0, 9, 2)), occurrence("n2", (0, 9, 7)), occurrence("n3", (0, 9, 4)))
    assert [burst.count for burst in several] == [7, 4, 2]


def test_the_most_lines_within_ten_minutes() -> None:
    (burst,) = found(occurrence("n1", (0, 59, 2), (599, 599, 3), (600, 600, 20)))
    assert burst.most == 23
    (burst,) = found(occurrence("n1", (0, 0, 2), (600, 600, 3)))
    assert burst.most == 3


def test_what_was_logged_ten_minutes_before_the_log_ends_is_recent() -> None:
    for end_s, recent in ((600, True), (601, False)):
        end = LogTime(NOON + end_s * S, zoned=True)
        logs = LogEvidence(
            files=(),
            servers=(LogServer(name="n1", known_from="given", last=end),),
            found=(occurrence("n1", (0, 0, 1)),),
        )
        assert is_recent(logs, bursts(logs, "slow")[0]) is recent


def test_reasons_for_which_a_server_refuses_a_consumer() -> None:
    reasons = [
        "filtered consumer not unique on workqueue stream",
        "maximum consumers limit reached",
        "deliver policy can not be updated",
        "no suitable peers for placement",
    ]
    (burst,) = found(*(occurrence("n1", (0, 0, 1), fields=(("reason", reason),)) for reason in reasons))
    assert refusals_in(burst) == reasons[:3]


def test_a_line_is_about_the_server_that_it_names() -> None:
    assert subject_of({"server": "n2"}, "n1") == Subject(kind="server", name="n2")
    assert subject_of({}, "n1") == Subject(kind="server", name="n1")


def test_what_is_said_where_lines_may_be_missing() -> None:
    rule = find_rule(rules(), "JSD806")
    names = [signature.name for signature in rule.signatures]
    finding = not_cleared(rule, LogEvidence(files=(), unsearched=tuple(names)))
    assert finding.message == (
        "nothing about it is in the log lines that were read, which may not be every line of " + names[0]
    )
    assert finding.how_to_get == (
        "give the logs themselves: --logs PATH; or capture a bundle again with this version and a shorter --since,"
        " or read Loki with a query that filters no lines"
    )
    few = not_cleared(rule, LogEvidence(files=(LogFile(path="n1.log", size=9, server_lines=1),)))
    assert few.message == "nothing about it is in the log, which is an excerpt of 1 line"
    assert few.how_to_get == "give more of the log: 20 lines, or the start of the server until it is ready"


def test_lines_that_prove_nothing_are_counted_where_none_was_kept() -> None:
    rule = find_rule(rules(), "JSD806")
    line = msgspec.structs.replace(occurrence("n1", (0, 0, 2)), signature=rule.signatures[0].name)
    (finding,) = undecided(rule, [], LogEvidence(files=(), found=(line,)))
    assert finding.message == ("logged twice, and an excerpt as short as this does not decide whether it matters: ")
