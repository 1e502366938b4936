"""Excerpts of healthy starts: lines that every start has are possible causes without it, and none is confirmed."""

from pathlib import Path

import pytest

from tests.diagnosis.run import confirmed, diagnosed, with_verdict
from tests.servers import VERSIONS
from tests.support.log_cases import healthy_logs

_STARTED = "Starting nats-server"
_LINES = 20


@pytest.mark.parametrize(
    "logs",
    [
        pytest.param(
            logs, id=(version := logs.parent.name), marks=() if version == VERSIONS[-1] else pytest.mark.nightly
        )
        for logs in healthy_logs()
        if logs.name == "rolling-restart"
    ],
)
def test_no_part_of_a_healthy_start_confirms_a_cause(logs: Path, tmp_path: Path) -> None:
    excerpt, possible = tmp_path / "n1.log", set[str]()
    for log in sorted(logs.glob("*.log")):
        lines = log.read_text().splitlines(keepends=True)
        start = next(number for number, line in enumerate(lines) if _STARTED in line)
        meta = next(
            number
            for number, line in enumerate(lines)
            if "JetStream cluster new metadata leader" in line
            or "Self is new JetStream cluster metadata leader" in line
        )
        for first in range(max(start + 1, meta - _LINES), meta, 2):
            excerpt.write_text("".join(lines[first : meta + 3]))
            code, diagnosis = diagnosed(tmp_path, str(excerpt))
            undecided = with_verdict(diagnosis, "undecided")
            assert (code, confirmed(diagnosis)) == (3, {})
            possible |= {cause for cause, message in undecided.items() if message.startswith("possible")}
    assert "JSD701" in possible
