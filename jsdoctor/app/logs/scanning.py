"""Scans the logs: selects the engine, and describes it for the report."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from jsdoctor.app.logs.engine import choose_engine
from jsdoctor.app.logs.options import LogRequest
from jsdoctor.app.logs.progress import LogProgress
from jsdoctor.collect.logs.discover import ReadPlan
from jsdoctor.collect.logs.local import run_local
from jsdoctor.collect.logs.series import scan_rows
from jsdoctor.collect.logs.split import longest_packed, split
from jsdoctor.collect.problems import UsageProblem
from jsdoctor.model.log import LogEvidence
from jsdoctor.model.log_scan import Part, ScanSettings
from jsdoctor.parse.logs.scan.native_core import have_native
from jsdoctor.render.units import quantity

if TYPE_CHECKING:
    from jsdoctor.collect.logs.event_files import EventStore

_LONG_BYTES = 256 * 1024 * 1024
"""Amount of text in bytes from which reading takes so long that a faster way is mentioned."""

_WORTH_A_PROCESS_BYTES = 32 * 1024 * 1024


def scan_logs(
    request: LogRequest,
    settings: ScanSettings,
    plan: ReadPlan,
    show: Callable[[str], None],
    notice: Callable[[str, str], None],
) -> tuple[LogEvidence, str]:
    """The evidence, and how it was read and why. Raises problems with Spark, and usage problems."""
    parts = split(plan.files)
    text = sum(part.weight for part in parts)
    choice = choose_engine(request.engine, request.spark, text)
    with _event_store(request.events) if request.events else contextlib.nullcontext() as events:
        if text >= _LONG_BYTES and not (choice.spark or events or have_native()):
            notice(
                "logs are scanned in Python, which takes several times as long as the compiled scan",
                "pip install 'jsdoctor[native]' adds it; the findings are the same",
            )
        progress = LogProgress(show, sum(part.size for part in plan.files))
        run = _ScanInput(request, settings, parts, text, show, notice, progress, events)
        evidence, how = _with_spark(run) if choice.spark else _in_processes(run)
        return evidence, f"{how}: {choice.why}"


class _ScanInput(msgspec.Struct, frozen=True):
    """The common input of both engines."""

    request: LogRequest
    settings: ScanSettings
    parts: Sequence[Part]
    text: int
    show: Callable[[str], None]
    notice: Callable[[str, str], None]
    progress: LogProgress
    events: EventStore | None


def _tell_longest(run: _ScanInput, workers: int) -> None:
    """Say before the wait which file it is for."""
    packed = longest_packed(run.parts, workers)
    if packed is not None and packed.weight >= _LONG_BYTES:
        text = quantity(packed.weight, "bytes")
        run.notice(
            f"{packed.name} is packed, so it is one task and comes first: some {text} for one of {workers} cores",
            "unpacked, or packed in several files, it is read by several cores",
        )


def _in_processes(run: _ScanInput) -> tuple[LogEvidence, str]:
    processes = _processes(run.text, len(run.parts))
    _tell_longest(run, processes)
    scan = run.events.staging.scan if run.events else scan_rows
    evidence = run_local(run.settings, run.parts, processes, run.progress, scan=scan)
    if run.events is not None:
        from jsdoctor.collect.logs.event_files import server_names

        run.events.commit(server_names(run.parts, evidence))
    return evidence, f"read in-process ({processes} process{'es' if processes > 1 else ''})"


def _with_spark(run: _ScanInput) -> tuple[LogEvidence, str]:
    from jsdoctor.collect.logs.spark.driver import run_spark
    from jsdoctor.collect.logs.spark.session import open_spark

    spark_choice = run.request.spark
    run.show("starting Spark" if spark_choice.is_local else f"reaching {spark_choice.place}")
    with open_spark(spark_choice) as spark:
        _tell_longest(run, spark.cores or 1)
        evidence = run_spark(spark, run.settings, run.parts, run.progress, run.events)
        return evidence, f"read with Spark ({spark.place})"


def _event_store(place: str) -> EventStore:
    try:
        from jsdoctor.collect.logs.event_files import EventStore
    except ImportError as error:
        raise UsageProblem(
            f"--events writes Parquet with {error.name}, which is not installed", "pip install 'jsdoctor[logs]'"
        ) from error
    return EventStore(place)


def _processes(text: int, parts: int) -> int:
    """One for what is read sooner than another process starts, else one for each core."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 1 if text < _WORTH_A_PROCESS_BYTES else max(1, min(cores, parts))
