"""Files that were not read whole and other evidence that is missing: what shares a finding, and what it states."""

from jsdoctor.checks.collection.input_skipped import input_skipped_logged
from jsdoctor.model.finding import Finding
from jsdoctor.model.log import LogEvidence, LogFile


def findings(*files: LogFile) -> list[Finding]:
    return list(input_skipped_logged(LogEvidence(files=files)))


def test_a_mixture_with_long_lines_states_both() -> None:
    [finding] = findings(LogFile(path="all.log", size=10, read=10, interleaved=True, long_lines=1))
    assert finding.message == (
        "lines of several servers mix in it and cannot be separated: its clock and its processes were not judged;"
        " 1 line longer than 16 KiB, of which only the beginning was searched"
    )
