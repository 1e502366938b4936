"""Running a command to its end: how long it took, what it cost, what it said."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

LINUX_MAXRSS_UNIT = 1024
_STDERR_SHOWN = 2000
_LAUNCHER = Path(__file__).with_name("launcher.py")


class CannotMeasureError(Exception):
    """Something kept a figure from being taken; the message says what."""


@dataclass(frozen=True, slots=True)
class Run:
    """One finished process. Times are seconds; `cpu_s` is user and system time of the process alone."""

    seconds: float
    cpu_s: float
    peak_rss_bytes: int
    stdout: bytes = field(repr=False)


def run(
    command: Sequence[str | Path], accept: Collection[int] = (0,), environment: Mapping[str, str] | None = None
) -> Run:
    """Run *command*. Raises CannotMeasureError for an exit code that is not among *accept*."""
    words = [str(word) for word in command]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as figures:
        launcher = [sys.executable, "-I", "-S", str(_LAUNCHER), str(figures.fileno()), *words]
        subprocess.run(
            launcher,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env={**_environment(), **(environment or {})},
            pass_fds=[figures.fileno()],
            check=False,
        )
        figures.seek(0)
        err.seek(0)
        stderr_text = err.read()[-_STDERR_SHOWN:].decode(errors="replace").strip()
        try:
            exit_code, seconds, cpu_s, peak = json.loads(figures.read())
        except ValueError:
            raise CannotMeasureError(f"{shlex.join(words)}\ncould not be started: {stderr_text}") from None
        if exit_code not in accept:
            raise CannotMeasureError(f"{shlex.join(words)}\nended with exit code {exit_code}: {stderr_text}")
        out.seek(0)
        return Run(seconds, cpu_s, peak * LINUX_MAXRSS_UNIT, out.read())


def _environment() -> dict[str, str]:
    """Without what would choose a server or slow Python down: installed packages have their bytecode cached."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("NATS_", "PYTHON"))}
