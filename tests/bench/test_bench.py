"""The measure of the start measures, says so, and notices when it cannot. No figure is judged."""

import sys
from pathlib import Path

import pytest

from bench import __main__ as program
from bench import commands, startup
from bench.process import CannotMeasureError, run

TINY = ("--streams", "10", "--consumers", "2", "--rounds", "1", "--start-rounds", "1")


def measured(output: str) -> dict[str, str]:
    """The rows of all printed tables by their first column."""
    return dict(line.split("  ", 1) for line in output.splitlines() if "  " in line.strip() and line[0] != " ")


def test_run_takes_what_the_process_used() -> None:
    done = run([sys.executable, "-c", "print(len(bytes(range(256)) * 400_000)); sum(range(2_000_000))"])
    assert done.stdout == b"102400000\n"
    assert done.peak_rss_bytes > 102_400_000
    assert done.cpu_s > 0
    assert done.seconds > 0


def test_run_does_not_take_a_failure_for_a_fast_run() -> None:
    failing = [sys.executable, "-c", "import sys; print('no such thing', file=sys.stderr); sys.exit(3)"]
    with pytest.raises(CannotMeasureError, match=r"exit code 3: no such thing"):
        run(failing)
    run(failing, accept=(3,))


def test_startup(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["--only", "startup", *TINY]) == 0
    rows = measured(capsys.readouterr().out)
    for name in startup.SUBJECTS:
        assert " ms (" in rows[name]


def test_a_missed_limit_fails_only_when_strict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    of_no_time = {"jsdoctor --version": startup.Subject([commands.JSDOCTOR, "--version"], limit_s=0.0)}
    monkeypatch.setattr(startup, "SUBJECTS", of_no_time)
    assert program.main(["--only", "startup", *TINY]) == 0
    assert program.main(["--only", "startup", "--strict", *TINY]) == 1
    missed = [line for line in capsys.readouterr().out.splitlines() if "MISS" in line]
    assert sum("jsdoctor --version" in line for line in missed) == 2, missed


def test_what_cannot_be_measured_is_reported_and_changes_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        startup, "SUBJECTS", {"jsdoctor --version": startup.Subject([tmp_path / "jsdoctor", "--version"])}
    )
    assert program.main(["--only", "startup", *TINY]) == 3
    assert "startup could not be measured" in capsys.readouterr().out
