"""The benchmark of scans in its smallest form: that it measures, and says so. No figure is judged."""

import pytest

from bench import __main__ as program


@pytest.mark.real
def test_scan(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["--only", "scan", "--rounds", "1", "--stored-messages", "3000"]) == 0
    output = capsys.readouterr().out
    assert "Scan: 3,000 stored messages" in output
    for row in ("bare nats-py consumer", "jsdoctor's scan", "  times the bare consumer", "  peak memory of either"):
        assert f"\n{row}  " in output
