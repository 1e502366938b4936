"""Running a command to its end: how long it took, what it cost, what it said."""

import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

LINUX_MAXRSS_UNIT = 1024
_STDERR_SHOWN = 2000


class CannotMeasureError(Exception):
    """Something kept a figure from being taken; the message says what."""


@dataclass(frozen=True, slots=True)
class Run:
    """One finished process. Times are seconds; `cpu_s` is user and system time of the process alone.

    `peak_rss_bytes` is never below what this interpreter itself has ever used: the kernel counts from the fork on.
    """

    seconds: float
    cpu_s: float
    peak_rss_bytes: int
    stdout: bytes = field(repr=False)


def run(command: Sequence[str | Path], accept: Collection[int] = (0,)) -> Run:
    """Run *command*. Raises CannotMeasureError for an exit code that is not among *accept*."""
    words = [str(word) for word in command]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.perf_counter()
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=_environment())
        try:
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(
            status
        )  # it has been waited for: subprocess must not do so again
        if process.returncode not in accept:
            err.seek(0)
            stderr_text = err.read()[-_STDERR_SHOWN:].decode(errors="replace").strip()
            raise CannotMeasureError(f"{shlex.join(words)}\nended with exit code {process.returncode}: {stderr_text}")
        out.seek(0)
        return Run(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * LINUX_MAXRSS_UNIT, out.read())


def _environment() -> dict[str, str]:
    """Without what would choose a server or slow Python down: installed packages have their bytecode cached."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("NATS_", "PYTHON"))}
