"""The measure of the start measures, says so, and notices when it cannot. No figure is judged."""

import sys

import pytest

from bench import __main__ as program
from bench import startup
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


@pytest.mark.nightly
def test_startup(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["--only", "startup", *TINY]) == 0
    rows = measured(capsys.readouterr().out)
    for name in startup.SUBJECTS:
        assert " ms (" in rows[name]
