"""Changes of every field to every kind of value are judged as real servers of each version judged them."""

import pytest

from tests.servers import VERSIONS
from tools.recorded_fields import PATH, findings, golden, judged, known, starts


@pytest.mark.parametrize(
    ("version", "start"),
    [
        pytest.param(version, start, marks=() if version == VERSIONS[-1] else pytest.mark.nightly)
        for version in VERSIONS
        for start in starts(version)
    ],
)
def test_servers_decide_as_foreseen(version: str, start: str) -> None:
    """No refusal is claimed falsely or missed, no wrong code is given, and deletions are counted as they happened. What
    findings say, and of which field, is in the golden file.
    """
    changes = judged(version, start)
    assert [f"{change.change.about}: {change.mistake}" for change in changes if change.mistake] == []
    assert [f"{change.change.about}: {change.codes} {change.answer}" for change in changes if change.wrong_code] == []
    changed_settings, due = findings(changes), golden().get(f"{version}, {start}", {})
    assert [line for line in changed_settings if line not in known()] == [], f"{PATH} differs; `make golden` accepts it"
    assert {line: setting for line, setting in changed_settings.items() if line in due} == due
