"""Reads a corpus in a process of its own: `python -m tests.spark.reading JSON`, evidence as canonical JSON in files."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from jsdoctor.model.log import LogEvidence, canonical
from jsdoctor.model.log_scan import ScanSettings
from jsdoctor.sources.archives.discover import discover
from jsdoctor.sources.archives.event_files import EventStore, server_names
from jsdoctor.sources.archives.local import run_local
from jsdoctor.sources.archives.spark.choice import SparkChoice
from jsdoctor.sources.archives.spark.driver import run_spark
from jsdoctor.sources.archives.spark.session import Spark, open_spark
from jsdoctor.sources.archives.split import split
from tests.servers.binaries import ROOT
from tests.spark.corpus import SIGNATURES


class Reading(msgspec.Struct, frozen=True):
    """One reading. `vanished` files are there when parts are planned and gone when they are read."""

    result: str
    part_bytes: int = 64 * 1024 * 1024
    events: str | None = None
    vanished: tuple[str, ...] = ()


class Task(msgspec.Struct, frozen=True):
    """Readings of one corpus, one after the other in one session; without a choice in this process, with processes."""

    corpus: str
    readings: tuple[Reading, ...]
    spark: bool = True
    processes: int = 2
    master: str | None = None
    remote: str | None = None
    conf: dict[str, str] = {}


def read_with(task: Task, variables: Mapping[str, str] | None = None, timeout: float = 600) -> list[bytes]:
    """The evidence of every reading, as canonical JSON."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.reading", msgspec.json.encode(task).decode()],
        cwd=ROOT,
        env={**clean, **(variables or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stdout + done.stderr, "Spark is to be silent"
    return [Path(reading.result).read_bytes() for reading in task.readings]


def evidence_of(content: bytes) -> LogEvidence:
    """Evidence from its canonical JSON."""
    return msgspec.json.decode(content, type=LogEvidence)


def _read(task: Task, reading: Reading, spark: Spark | None) -> LogEvidence:
    settings = ScanSettings(signatures=SIGNATURES)
    parts = split(discover([task.corpus]).files, reading.part_bytes)
    for path in reading.vanished:
        Path(path).unlink()
    with contextlib.ExitStack() as open_:
        events = open_.enter_context(EventStore(reading.events)) if reading.events else None
        if spark is not None:
            return run_spark(spark, settings, parts, lambda _: None, events)
        if events is None:
            return run_local(settings, parts, task.processes, None)
        evidence = run_local(settings, parts, task.processes, None, scan=events.staging.scan)
        events.commit(server_names(parts, evidence))
        return evidence


def _main(arguments: Sequence[str]) -> None:
    task = msgspec.json.decode(arguments[0], type=Task)
    with contextlib.ExitStack() as open_:
        choice = SparkChoice(task.master, task.remote, task.conf)
        spark = open_.enter_context(open_spark(choice)) if task.spark else None
        for reading in task.readings:
            Path(reading.result).write_bytes(canonical(_read(task, reading, spark)))


if __name__ == "__main__":
    _main(sys.argv[1:])
