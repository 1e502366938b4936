"""`jsdoctor watch` in a terminal for an hour while faults come and go on a cluster of three servers.

JSDOCTOR_WATCH_MINUTES shortens the run. Measured: the time until each fault is on the screen and until it has gone,
and the resident memory of the process after each fault.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import join

import pytest

from tests.real.fixing import with_client
from tests.real.test_watch import fix, plant
from tests.servers import ClusterFactory, wait_until

pytestmark = [
    pytest.mark.real,
    pytest.mark.nightly,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux on this machine"),
]
MINUTES = float(os.environ.get("JSDOCTOR_WATCH_MINUTES", "60"))
EVERY_S = 5.0
CHECK_S = 10.0
"""What one check may take: requests to a stopped server end after --timeout, and the machine may be busy."""


class Terminal:
    """A tmux session of its own server, with one command in it."""

    def __init__(self, socket: Path, command: list[str]) -> None:
        self._socket = socket
        self._tmux(
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "140",
            "-y",
            "50",
            join(["env", "-u", "COLUMNS", "-u", "LINES", *command]),
        )

    def screen(self) -> str:
        """The text on it now."""
        return self._tmux("capture-pane", "-p")

    def open_incidents(self) -> str:
        """The screen above the list of changes, which names resolved findings too."""
        return re.split(r"(?m)^\W*Changes", self.screen())[0]

    def resident_kb(self) -> int:
        """Memory of the command, from /proc."""
        pid = self._tmux("display-message", "-p", "#{pane_pid}").strip()
        [line] = [
            status_line
            for status_line in Path(f"/proc/{pid}/status").read_text().splitlines()
            if status_line.startswith("VmRSS")
        ]
        return int(line.split()[1])

    def close(self) -> None:
        """End the session and its server."""
        self._tmux("kill-server")

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-S", str(self._socket), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@contextmanager
def terminal(socket: Path, command: list[str]) -> Iterator[Terminal]:
    opened = Terminal(socket, command)
    try:
        yield opened
    finally:
        opened.close()


def test_faults_come_and_go_and_memory_stays_flat(cluster_factory: ClusterFactory, tmp_path: Path) -> None:
    cluster = cluster_factory(nodes=3)
    options = ("--no-context", "--timeout", "2s", "--every", f"{EVERY_S:g}s", "-s", cluster.url("sys"))
    command = [sys.executable, "-m", "jsdoctor", "watch", *options]
    faults: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "JSD603": (lambda: with_client(cluster, plant), lambda: with_client(cluster, fix)),
        "JSD7": (lambda: cluster.stop("n3"), lambda: cluster.start("n3")),
    }
    memory: list[int] = []
    seen: dict[str, list[float]] = {}
    with terminal(tmp_path / "tmux", command) as shown:
        wait_until(lambda: "check 3" in shown.screen(), "three checks", timeout=120)
        end = time.monotonic() + MINUTES * 60
        while time.monotonic() < end:
            for code, (make, mend) in faults.items():
                make()
                seen.setdefault(f"{code} appeared", []).append(_waited(shown, code, there=True))
                mend()
                seen.setdefault(f"{code} resolved", []).append(_waited(shown, code, there=False))
                memory.append(shown.resident_kb())
    report = ", ".join(f"{what}: {len(took)} times, {max(took):.1f} s at most" for what, took in seen.items())
    sys.stdout.write(f"{report}; memory {memory[0]} to {memory[-1]} kB, {max(memory)} kB at most\n")
    settled = memory[len(memory) // 3 :]
    assert max(settled) - settled[0] < 10_000, memory


def _waited(shown: Terminal, code: str, *, there: bool) -> float:
    """Seconds until the screen lists the finding or does not any more: at most two intervals and a check."""
    start = time.monotonic()
    limit = 2 * EVERY_S + CHECK_S
    what = f"{code} {'on' if there else 'gone from'} the screen"
    wait_until(lambda: (code in shown.open_incidents()) == there, what, timeout=limit)
    return time.monotonic() - start
