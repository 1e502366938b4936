"""Ctrl-C while Spark works: everything ends, and nothing half done is left."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.log_archive import ArchivePlan, write_archive
from tests.servers.waiting import wait_until

START_TIMEOUT_S = 120.0


def below(temporary: Path) -> list[int]:
    """Processes that work in this directory or have it on their command line: the JVM and its Python workers."""
    pids = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            place, command = str((entry / "cwd").readlink()), (entry / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if place.startswith(str(temporary)) or str(temporary) in command:
            pids.append(int(entry.name))
    return pids


@pytest.mark.nightly
def test_an_interrupt_ends_the_jvm_and_its_workers(tmp_path: Path) -> None:
    logs, temporary, events, report = (tmp_path / name for name in ("logs", "tmp", "events", "report.txt"))
    temporary.mkdir()
    write_archive(logs, ArchivePlan(megabytes=60))
    command = [sys.executable, "-m", "jsdoctor", "audit", "--isolated", "--engine", "spark", str(logs)]
    command += ["--events", str(events)]
    process = subprocess.Popen(
        [*command, "-o", str(report)],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        works: Callable[[], bool] = lambda: process.poll() is not None or any(events.rglob("*.parquet"))  # noqa: E731
        wait_until(works, "workers to read", timeout=START_TIMEOUT_S)
        assert process.poll() is None, process.communicate()
        assert below(temporary)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (130, "", "jsdoctor: interrupted\n")
    wait_until(lambda: not below(temporary), "Spark to end", timeout=20)
    assert not list(temporary.iterdir())
    assert not events.exists()
    assert not report.exists()
