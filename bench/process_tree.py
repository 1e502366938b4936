"""What a command and everything below it use: a JVM and its Python workers as well as one process (Linux)."""

from __future__ import annotations

import math
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.process import CannotMeasureError

_EVERY_S = 0.05
_STDERR_SHOWN = 2000


@dataclass(frozen=True, slots=True)
class TreeRun:
    """One finished tree of processes. `peak_bytes` is proportional memory: shared pages count once.

    `peak_bytes` is sampled twenty times a second: what lives shorter is not in it.
    """

    seconds: float
    cpu_s: float
    peak_bytes: int


def run_tree(
    command: Sequence[str | Path],
    accept: Collection[int] = (0,),
    cores: int | None = None,
    limit_s: float = math.inf,
    **variables: str,
) -> TreeRun:
    """Run *command*, on `cores` cores if that is given.

    Raises CannotMeasureError for an exit code not in *accept*, and when it took more than `limit_s` of processor time.
    """
    words = [str(word) for word in command]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NATS_", "PYTHON"))}
    with tempfile.TemporaryFile() as stderr:
        before = os.sched_getaffinity(0)
        if cores is not None:
            os.sched_setaffinity(0, sorted(before)[:cores])
        try:
            started = time.perf_counter()
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                env={**environment, **variables},
            )
        finally:
            os.sched_setaffinity(0, before)
        used: dict[int, float] = {}
        peak, ended_before = 0, _ended_children_s()
        while process.poll() is None:
            peak = max(peak, _sample(process.pid, used))
            if sum(used.values()) > limit_s:
                process.kill()
                process.wait()
                raise CannotMeasureError(f"it took more than {limit_s:.0f} s of processor time")
            time.sleep(_EVERY_S)
        seconds = time.perf_counter() - started
        if process.returncode not in accept:
            stderr.seek(0)
            raise CannotMeasureError(
                f"{words} ended with {process.returncode}: {stderr.read()[-_STDERR_SHOWN:].decode()}"
            )
        return TreeRun(seconds, max(sum(used.values()), _ended_children_s() - ended_before), peak)


def _ended_children_s() -> float:
    """Processor time of all processes below this one that ended and were waited for: exact, where none is orphaned."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _sample(root: int, used: dict[int, float]) -> int:
    """Note the processor time of every process below, and return the memory of all."""
    memory = 0
    for pid in _below(root, _parents()):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8")
        except OSError:
            continue
        used[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        memory += sum(int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Pss:"))
    return memory


def _parents() -> Mapping[int, list[int]]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(stat[1]), []).append(int(entry.name))
    return children


def _below(root: int, children: Mapping[int, list[int]]) -> Iterator[int]:
    yield root
    for child in children.get(root, []):
        yield from _below(child, children)
