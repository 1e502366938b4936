"""Files that were not read whole and other evidence that is missing: what shares a finding, and what it states."""

from __future__ import annotations

import pytest

from jsdoctor.checks.collection.collection_gap import collection_gap
from jsdoctor.checks.collection.input_skipped import input_skipped_logged
from jsdoctor.model.evidence import Gaps
from jsdoctor.model.finding import CLUSTER, Finding, Outcome
from jsdoctor.model.gap import Gap
from jsdoctor.model.log import LogEvidence, LogFile


def unread(number: int, problem: str = "it is damaged", read: int = 0) -> LogFile:
    return LogFile(path=f"{number:02}.log.gz", size=10, problem=problem, skipped=10, read=read)


def findings(*files: LogFile) -> list[Finding]:
    return list(input_skipped_logged(LogEvidence(files=files)))


def test_twenty_files_have_a_finding_each() -> None:
    assert [finding.subject.name for finding in findings(*map(unread, range(20)))] == [
        f"{number:02}.log.gz" for number in range(20)
    ]


def test_more_than_twenty_share_one() -> None:
    [finding] = findings(*map(unread, range(21)))
    assert finding.subject == CLUSTER
    assert finding.message == ("21 files: it is damaged (00.log.gz, 01.log.gz, 02.log.gz, 03.log.gz and 17 more)")
    assert (finding.measured, len(finding.evidence)) == (210, 20)


def test_several_problems_of_many_files_share_one_too() -> None:
    files = [*map(unread, range(21)), *(unread(number, "it is a directory") for number in range(21, 43))]
    [finding] = findings(*files)
    assert finding.message.startswith("21 files: it is damaged; 22 files: it is a directory (")


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (0, "nothing of it was read"),
        (1, "1 bytes of text before that were read"),
        (4_096, "4,096 bytes of text before"),
    ],
)
def test_what_came_before_the_damage_was_read(read: int, text: str) -> None:
    [finding] = findings(unread(1, read=read))
    assert finding.message.startswith(f"it is damaged; {text}")


def test_a_mixture_with_long_lines_states_both() -> None:
    [finding, read] = findings(LogFile(path="all.log", size=10, read=10, interleaved=True, long_lines=1))
    assert finding.message == (
        "lines of several servers mix in it and cannot be separated: its clock and its processes were not judged;"
        " 1 line longer than 16 KiB, of which only the beginning was searched"
    )
    assert read.outcome is Outcome.PASS


def test_gaps_of_one_subject_are_one_finding() -> None:
    gaps = [
        Gap(kind="stream", subject=CLUSTER, reason=reason, how_to_get=how, requested=True)
        for reason, how in (("n1 is silent", "see n1"), ("n2 is silent", "see n2"), ("n1 is silent", "see n1"))
    ]
    [finding] = collection_gap(Gaps(tuple(gaps)))
    assert finding.message == "n1 is silent; n2 is silent"
    assert finding.how_to_get == "see n1; see n2"
