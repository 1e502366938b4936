"""A command in a fork of a process that has imported jsdoctor ends as one in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.warm import jsdoctor_again


@pytest.mark.parametrize(
    "arguments", [("explain", "JSD101"), ("check", "--no-such-option"), ("rules", "list")], ids=" ".join
)
def test_output_and_exit_code_are_those_of_a_process_of_its_own(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, "-m", "jsdoctor", *arguments]
    alone = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    for _ in range(2):
        again = jsdoctor_again(arguments, 60)
        assert (again.returncode, again.stdout, again.stderr) == (alone.returncode, alone.stdout, alone.stderr)


def test_a_command_that_hangs_is_ended_and_the_next_one_runs() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        jsdoctor_again(["check", "--isolated", "--server", "nats://127.0.0.1:9", "--wait", "30s"], 0.01)
    assert jsdoctor_again(["--version"], 60).returncode == 0
