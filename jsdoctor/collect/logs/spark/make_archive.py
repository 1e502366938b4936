"""Makes the archive of Spark's classes: a small job in a JVM that writes down, at its end, which classes it used."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

from jsdoctor.collect.logs.spark.archive import ClassArchive, archive_for
from jsdoctor.collect.logs.spark.embedded import spark_home, start_context
from jsdoctor.collect.logs.spark.java import Java, find_java
from jsdoctor.collect.logs.spark.jvm import Jvm
from jsdoctor.collect.logs.spark.rdd_job import run_rdd_job
from jsdoctor.collect.logs.spark.tasks import BinScan
from jsdoctor.collect.problems import Problem
from jsdoctor.model.log_scan import ScanSettings

_EXIT_TIMEOUT_S = 300.0
_BASE_TIMEOUT_S = 120.0
_POLITE = 19


def make_archive() -> bool:
    """Make it for the Java and the Spark that a run would use now. Whether it is there at the end."""
    java, home = find_java(os.environ), spark_home()
    archive = archive_for(java, home)
    archive.path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = archive.path.with_suffix(f".{os.getpid()}")
    jvm = Jvm(java, home)
    try:
        if archive.base is not None and not archive.base.is_file():
            _make_base(java, archive)
        context = start_context(jvm, "local[2]", {}, archive.making_options(unfinished))
        _exercise(context)
        context.stop()
        if jvm.finish(_EXIT_TIMEOUT_S) and unfinished.is_file():
            unfinished.replace(archive.path)
    finally:
        jvm.end()
        unfinished.unlink(missing_ok=True)
        archive.path.with_suffix(".making").unlink(missing_ok=True)
    return archive.path.is_file()


def _make_base(java: Java, archive: ClassArchive) -> None:
    """The archive of Java's own classes, half a second. It stays where it is made: the other one names it."""
    if archive.base is None:
        return
    unfinished = archive.base.with_suffix(f".{os.getpid()}")
    command = [str(java.executable), "-Xshare:dump", f"-XX:SharedArchiveFile={unfinished}", "-XX:+UseSerialGC"]
    subprocess.run(command, capture_output=True, check=True, timeout=_BASE_TIMEOUT_S)
    unfinished.replace(archive.base)


def _exercise(context: Any) -> None:
    """A job of the same shape as the scan, so that the same classes are used."""
    run_rdd_job(context, BinScan(ScanSettings(), [[]] * 4), 4, 2)


if __name__ == "__main__":
    if sys.platform != "win32":
        os.nice(_POLITE)
    try:
        sys.exit(0 if make_archive() else 1)
    except (Problem, OSError, subprocess.SubprocessError):
        sys.exit(1)  # a start without the archive is slower, and that is all
