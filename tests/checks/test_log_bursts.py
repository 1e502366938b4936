"""Lines without an end of their own: how many count, in which order, whether they are recent, what proves nothing."""

from typing import Any

import msgspec

from jsdoctor.checks.logs.undecided import undecided
from jsdoctor.checks.logs.words import subject_of
from jsdoctor.engine.select import find_rule
from jsdoctor.model.finding import Subject
from jsdoctor.model.histogram import Histogram
from jsdoctor.model.log import DATED_US, LogEvidence, Occurrence
from tests.support.ruleset import rules

S = 1_000_000
NOON = DATED_US + 43_200 * S


def occurrence(logged_by: str, *spans: tuple[int, int, int], **more: Any) -> Occurrence:
    """Lines at these times, in seconds after noon."""
    count = sum(count for _, _, count in spans)
    histogram = Histogram.of([(NOON + first * S, NOON + last * S, count) for first, last, count in spans])
    values: dict[str, Any] = {"signature": "slow", "count": count, "dated": count, "zoned": True}
    return Occurrence(**values | {"logged_by": logged_by, "histogram": histogram} | more)


def test_a_line_is_about_the_server_that_it_names() -> None:
    assert subject_of({"server": "n2"}, "n1") == Subject(kind="server", name="n2")
    assert subject_of({}, "n1") == Subject(kind="server", name="n1")


def test_lines_that_prove_nothing_are_counted_where_none_was_kept() -> None:
    rule = find_rule(rules(), "JSD806")
    line = msgspec.structs.replace(occurrence("n1", (0, 0, 2)), signature=rule.signatures[0].name)
    (finding,) = undecided(rule, [], LogEvidence(files=(), found=(line,)))
    assert finding.message == ("logged twice, and an excerpt as short as this does not decide whether it matters: ")
