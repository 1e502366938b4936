"""Steps of clocks in files in which the order of lines shows nothing."""

from jsdoctor.checks.clock_skew.clock_stepped import clock_stepped_logged
from jsdoctor.model.finding import Finding, Outcome, Subject
from jsdoctor.model.log import LogEvidence, LogFile
from jsdoctor.model.params import Params


def test_a_file_in_which_lines_of_several_servers_are_mixed() -> None:
    merged = LogFile(path="merged.log", size=1, server_lines=1, interleaved=True)
    assert list(clock_stepped_logged(LogEvidence(files=(merged,)), Params({}))) == [
        Finding(
            subject=Subject(kind="file", name="merged.log"),
            outcome=Outcome.NOT_EVALUATED,
            message="lines of several servers are mixed in this file, so the order of their times shows nothing",
            how_to_get="name the log of each server by itself",
        )
    ]
