"""Shifts the wall clock that one server process sees, for the tests of rules about clocks. See `skewrun.c`."""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("skewrun.c")

ShiftClock = Callable[[int, float], None]
"""`shift(pid, seconds)`: from now on that process sees a clock so far ahead of the true one; 0 takes it back."""


def _missing() -> str:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "shifting a process's clock works on x86-64 Linux only"
    if os.geteuid() != 0:
        return "shifting a process's clock needs root, to trace the process"
    return "" if shutil.which("cc") else "shifting a process's clock needs a C compiler, cc"


def clock_shifter(directory: Path) -> ShiftClock:
    """Compile the tool into `directory`. Skips the test where that cannot work, or fails it where CI is set."""
    if reason := _missing():
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    binary = directory / "skewrun"
    subprocess.run(["cc", "-O1", "-Wall", "-Werror", "-o", str(binary), str(SOURCE), "-lm"], check=True)

    def shift(pid: int, seconds: float) -> None:
        done = subprocess.run([str(binary), str(pid), str(seconds)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    return shift
