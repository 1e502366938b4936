"""A server whose disk is slow: every fsync and fdatasync of its process takes longer. See `slowdisk.c`."""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("slowdisk.c")


def slow_disk(directory: Path, delay_ms: int) -> Callable[[Path], Path]:
    """For `Cluster.start(through=...)`: compile the tool into *directory* and start a server through it.

    Skips the test where that cannot work, or fails it where CI is set.
    """
    reason = "delaying system calls works on Linux only" if sys.platform != "linux" else ""
    reason = reason or ("" if shutil.which("cc") else "a slow disk needs a C compiler, cc")
    if reason:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    tool = directory / "slowdisk"
    subprocess.run(["cc", "-O1", "-Wall", "-Werror", "-o", str(tool), str(SOURCE)], check=True)

    def through(binary: Path) -> Path:
        script = directory / "slow-server"
        script.write_text(f'#!/bin/sh\nexec {tool} {delay_ms} {binary} "$@"\n')
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        return script

    return through
